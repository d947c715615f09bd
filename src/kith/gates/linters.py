"""Linters: what one is, how it runs, and gates that let no new finding pass."""

import posixpath
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kith.core.run import Gate, Run
from kith.core.values import SYMLINK, Changes, Finding, Ran, Verdict
from kith.core.workspace import ExecLimits, ShellCommand, Trial
from kith.edits.rows import changed_lines
from kith.gates.toolchain import Read

# What a linter is to kith: a command for some paths, and how to read what it prints.

Kind = Literal["lint", "types"]

# No tool reports such names in a way that could be read back.
_UNSPEAKABLE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class Linter(Struct, frozen=True):
    """A tool that finds faults without running the code.

    `command` makes a shell command for the given paths (arguments, already quoted). `parse` reads its
    untrusted output, and gives paths as the tool named them. `suffixes`: the files that it reads. `why`:
    the reason for choosing it. `whole`: it checks the files of its configuration, whatever paths it is
    given. `obeys`: it may run code that the project's files name. `program`: its name on PATH, where that is
    another one.
    """

    name: str
    kind: Kind
    why: str
    command: Callable[[str], str]
    parse: Callable[[str], tuple[Finding, ...]]
    suffixes: frozenset[str]
    whole: bool = False
    obeys: bool = False
    program: str = ""

    def understands(self, path: str) -> bool:
        return PurePosixPath(path).suffix in self.suffixes and not _UNSPEAKABLE.search(path)


class LinterFinder(Struct, frozen=True):
    """Finds linters of a tree by its files; `clues` are the files whose contents `find` reads."""

    clues: Callable[[Collection[str]], Sequence[str]]
    find: Callable[[Collection[str], Read], Sequence[Linter]]


def as_arguments(paths: Sequence[str]) -> str:
    """Paths for a command line: quoted, and none begins with a dash or an `@`, which tools would obey."""
    return " ".join(shlex.quote(f"./{path}") for path in paths)


_OUTPUT: Final = 8_000_000  # bytes: a cut in the middle would hide findings
_ABSENT: Final = 127  # the shell's exit code for a program that it does not find
_LONGEST_COMMAND: Final = 60_000  # characters of paths; Linux takes 128 KiB in one argument of `sh -c`


class Linted(Struct, frozen=True):
    """The findings of one linter on some files. `problem`: why they are missing or incomplete.

    `absent`: the linter is not installed.
    """

    linter: Linter
    findings: tuple[Finding, ...] = ()
    problem: str = ""
    timed_out: bool = False
    absent: bool = False


def allowed_linters(run: Run, linters: Sequence[Linter]) -> tuple[tuple[Linter, ...], tuple[str, ...]]:
    """Those that may be run unasked, and why each of the others may not."""
    obeying = [each for each in linters if each.obeys and not run.workspace.confined]
    why = "was not run: without a sandbox that may run the project's own code."
    return tuple(each for each in linters if each not in obeying), tuple(
        f"{each.name} {why}" for each in obeying
    )


async def run_linter(run: Run, linter: Linter, paths: Sequence[str], limits: ExecLimits) -> Linted:
    """Run one linter on these files; its findings may include other files."""
    understood = [path for path in paths if linter.understands(path)]
    if not understood:
        return Linted(linter)
    room = replace(limits, output=max(limits.output, _OUTPUT))
    found: list[Finding] = []
    commands = dict.fromkeys(linter.command(as_arguments(batch)) for batch in _batches(understood))
    for line in commands:
        ran = await _check(run, line, room)
        parsed = linter.parse(ran.output)
        problem = _problem(linter, ran, parsed)
        if problem:
            return Linted(linter, tuple(found), problem, ran.timed_out, ran.code == _ABSENT)
        found += _inside(parsed, understood, run)
    return Linted(linter, tuple(found))


async def _check(run: Run, line: str, limits: ExecLimits) -> Ran:
    if not isinstance(run.workspace, Trial):
        raise TypeError("linters run in a trial only")
    return await run.workspace.check(ShellCommand(line), limits)


def _problem(linter: Linter, ran: Ran, parsed: Sequence[Finding]) -> str:
    """Explain why a run has no result; "" when it has. A linter with findings ends with its own exit code."""
    if ran.code == _ABSENT:
        return f"{linter.name} is not installed here, so it was not run."
    if ran.timed_out:
        return f"{linter.name} was stopped after {ran.seconds:.0f} s, so its findings are missing."
    if ran.code and not parsed:
        last = next((line for line in reversed(ran.output.splitlines()) if line.strip()), "no words")
        return f"{linter.name} ended with exit code {ran.code} and no finding: {last.strip():.200}"
    return ""


def _batches(paths: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    length = 0
    for path in paths:
        size = len(as_arguments([path]).encode()) + 1
        if batch and length + size > _LONGEST_COMMAND:
            yield batch
            batch, length = [], 0
        batch.append(path)
        length += size
    yield batch


def _inside(findings: Sequence[Finding], paths: Collection[str], run: Run) -> Iterator[Finding]:
    """The findings in the tree, their paths relative to its root; those in libraries are nobody's here."""
    known, root = frozenset(paths), run.workspace.root.as_posix()
    for finding in findings:
        path = _relative(finding.path.replace("\\", "/") if "\\" in root else finding.path, known, root)
        if path:
            yield replace(finding, path=path)


def _relative(path: str, known: Collection[str], root: str) -> str:
    if path.startswith(f"{root}/"):
        path = path[len(root) + 1 :]
    path = posixpath.normpath(path)
    if not path.startswith("/"):
        return "" if path.startswith("../") else path
    # A trial may stand in a folder of its own, which is not the root: the path ends like one that was asked.
    parts = path.split("/")
    ends = ("/".join(parts[at:]) for at in range(1, len(parts)))
    return next((end for end in ends if end in known), "")


# The gates for what linters and type checkers say: a change must not bring new findings.


_TOLD: Final = 40  # findings in one letter
_NOT_RUN: Final[dict[Kind, str]] = {
    "lint": "no linter is set up for these files",
    "types": "no type checker is set up for these files",
}


def lint_gate(linters: Sequence[Linter], limits: ExecLimits, untouched: Run | None = None) -> Gate:
    """Refuses a change with findings of linters that were not there before it.

    `untouched`: a run on the tree without the change. When a linter finds anything, it is asked about that
    tree too, and only what there is more of counts, on whatever line. Without it, findings on lines that the
    change added or changed count.
    """
    return findings_gate("lint", linters, limits, untouched)


def findings_gate(kind: Kind, linters: Sequence[Linter], limits: ExecLimits, untouched: Run | None) -> Gate:
    """The gate of this name that asks the linters of this kind. Skipped where none of them can run."""
    asked = [linter for linter in linters if linter.kind == kind]

    async def judge(run: Run, changes: Changes) -> Verdict:
        paths = written(changes)
        fitting = [linter for linter in asked if any(map(linter.understands, paths))]
        if not fitting:
            return Verdict(True, _NOT_RUN[kind], kind)
        every = [await new_findings(run, linter, changes, limits, untouched) for linter in fitting]
        found = [finding for linted in every for finding in linted.findings]
        if found:
            return Verdict(False, _letter(found), kind, figures={"findings": float(len(found))})
        problems = [linted.problem for linted in every if linted.problem]
        if problems and len(problems) == len(every):
            return Verdict(True, " ".join(problems), kind)
        return Verdict(True, "", kind, figures={"findings": 0.0})

    return judge


def written(changes: Changes) -> list[str]:
    """The files that linters can read after the change."""
    return [change.path for change in changes if change.after is not None and change.mode != SYMLINK]


async def new_findings(
    run: Run,
    linter: Linter,
    changes: Changes,
    limits: ExecLimits,
    untouched: Run | None,
    *,
    lines_only: bool = False,
) -> Linted:
    """Return one linter's findings that the change introduced; with `lines_only`, on its lines."""
    linted = await run_linter(run, linter, written(changes), limits)
    if not linted.findings:
        return linted
    lines = {change.path: changed_lines(change) for change in changes}
    touched = [each for each in linted.findings if each.line in lines.get(each.path, ())]
    if untouched is None or (lines_only and not touched):
        return Linted(linter, tuple(touched))
    earlier = [change.path for change in changes if change.before is not None]
    async with untouched.workspace.trial() as trial:
        before = await run_linter(untouched.inside(trial), linter, earlier, limits)
    if before.problem:  # what it would have said is not known
        return Linted(linter, tuple(touched))
    fresh = fresh_findings(linted.findings, before.findings, touched)
    return Linted(linter, tuple(each for each in fresh if each in touched) if lines_only else fresh)


def fresh_findings(
    found: Sequence[Finding], before: Sequence[Finding], touched: Sequence[Finding]
) -> tuple[Finding, ...]:
    """Return the findings that are new. Lines move, so line numbers are not compared."""
    known = Counter(map(_sameness, before))
    fresh = []
    # Where one of two equal findings is old, it is the one on a line that nobody touched.
    for finding in sorted(found, key=lambda each: (each in touched, each.path, each.line)):
        if known[_sameness(finding)]:
            known[_sameness(finding)] -= 1
        else:
            fresh.append(finding)
    return tuple(sorted(fresh, key=lambda each: (each.path, each.line)))


def _sameness(finding: Finding) -> tuple[str, str, str]:
    return finding.path, finding.rule, re.sub(r"\d+", "#", finding.text)


def _letter(found: Sequence[Finding]) -> str:
    """The findings as a message to the model."""
    tools = " and ".join(sorted({each.by for each in found}))
    which = "a finding that was" if len(found) == 1 else f"{len(found)} findings that were"
    return f"Your change brings {which} not there before, by {tools}: {list_findings(found)}\n\nCorrect this."


def list_findings(found: Sequence[Finding]) -> str:
    """One line each; the rest is counted."""
    lines = [f"{each.path}:{each.line}: {each.text} ({each.rule})" for each in found[:_TOLD]]
    more = len(found) - _TOLD
    return "\n".join([*lines, f"and {more} more finding{'s' * (more > 1)}"] if more > 0 else lines)


def types_gate(linters: Sequence[Linter], limits: ExecLimits, untouched: Run | None = None) -> Gate:
    """Like `lint_gate`, for the type checkers among `linters`.

    With `untouched`, a caller elsewhere that no longer fits counts too, where the checker looks at it.
    """
    return findings_gate("types", linters, limits, untouched)
