"""Running linters in a trial: what they find, by file and line, or why they say nothing."""

import posixpath
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from kith.core.errors import TreeError
from kith.core.events import Notice
from kith.core.run import Run
from kith.core.values import Finding, Ran
from kith.core.workspace import Command, ExecLimits, Trial
from kith.gates.linters.find import find_linters, lint_clues
from kith.gates.linters.linter import Linter, as_arguments

_OUTPUT: Final = 8_000_000  # bytes: a cut in the middle would hide findings
_LONGEST_COMMAND: Final = 60_000  # characters of paths; Linux takes 128 KiB in one argument of `sh -c`


@dataclass(frozen=True, slots=True)
class Linted:
    """What one linter said of some files. `problem`: why it said nothing, or not all."""

    linter: Linter
    findings: tuple[Finding, ...] = ()
    problem: str = ""


async def project_linters(run: Run) -> tuple[Linter, ...]:
    """The linters of the run's tree."""
    files = await run.workspace.files()
    contents: dict[str, bytes] = {}
    for path in lint_clues(files):
        with suppress(TreeError):  # a link to nowhere, a folder: it says nothing of linters
            contents[path] = await run.workspace.read(path)
    return find_linters(files, contents.get)


def allowed_linters(run: Run, linters: Sequence[Linter]) -> tuple[tuple[Linter, ...], tuple[str, ...]]:
    """Those that may be run unasked, and why each of the others may not."""
    obeying = [each for each in linters if each.obeys and not run.workspace.confined]
    why = "was not run: without a sandbox that may run the project's own code."
    return tuple(each for each in linters if each not in obeying), tuple(
        f"{each.name} {why}" for each in obeying
    )


async def run_linters(
    run: Run, linters: Sequence[Linter], paths: Sequence[str], limits: ExecLimits
) -> tuple[Finding, ...]:
    """Every finding in `paths` (files that exist), by path and line; what could not run is said as a notice.

    Runs in a trial only. Without a sandbox the caller has asked first: a type checker may load plugins of the
    project's own.
    """
    wanted, found = frozenset(paths), set[Finding]()
    for linter in linters:
        linted = await run_linter(run, linter, paths, limits)
        if linted.problem:
            run.emit(Notice(linted.problem))
        found.update(each for each in linted.findings if each.path in wanted)
    return tuple(sorted(found, key=lambda each: (each.path, each.line, each.by, each.rule, each.text)))


async def run_linter(run: Run, linter: Linter, paths: Sequence[str], limits: ExecLimits) -> Linted:
    """What one linter finds, in these files and in others that it looked at because of them."""
    understood = [path for path in paths if linter.understands(path)]
    if not understood:
        return Linted(linter)
    if linter.needs and not await _is_there(run, linter.needs):
        return Linted(linter, problem=f"{linter.name} was not run: it needs {linter.needs}.")
    room = replace(limits, output=max(limits.output, _OUTPUT))
    found: list[Finding] = []
    commands = dict.fromkeys(linter.command(as_arguments(batch)) for batch in _batches(understood))
    for line in commands:
        ran = await _check(run, line, room)
        parsed = linter.parse(ran.output)
        problem = _problem(linter, ran, parsed)
        if problem:
            return Linted(linter, tuple(found), problem)
        found += _inside(parsed, understood, run)
    return Linted(linter, tuple(found))


async def _check(run: Run, line: str, limits: ExecLimits) -> Ran:
    if not isinstance(run.workspace, Trial):
        raise TypeError("linters run in a trial only")
    return await run.workspace.check(Command(line), limits)


async def _is_there(run: Run, path: str) -> bool:
    try:
        await run.workspace.read(path)
    except TreeError:
        return False
    return True


def _problem(linter: Linter, ran: Ran, parsed: Sequence[Finding]) -> str:
    """Why a run says nothing; "" when it does. A linter that found something ends with a code of its own."""
    if ran.code == 127:
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
