"""Failures in words for a model: what it has to repair, where, and what it need not."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from kith.context.budget import fit_middle
from kith.core.check_names import name_check
from kith.core.evidence import Blocked
from kith.gates.evidence.affected_tests import holders_of
from kith.gates.evidence.compare import Comparison
from kith.gates.failure_output import TROUBLE, distil
from kith.gates.reports import CaseResult, SuiteReport

# A report of tests as a letter: what failed, where in the project, in as few words as are enough.

_BUILD_ERROR: Final = re.compile(
    r"^(?P<where>(?!/usr/)[^\s:][^:\n]*:\d+(?::\d+)?): (?:fatal )?error: (?P<text>[^\n]*)"
    r"|^.*(?P<link>undefined reference to [^\n]*|multiple definition of [^\n]*)"
    r"|^CMake Error at (?P<script>\S+:\d+)[^\n]*\n+ *(?P<said>[^\n]*)",
    re.M,
)
_LINE: Final = 200  # characters
_SHARE: Final = 2  # a failing test may take this part of the room that is left


def explain_report(report: SuiteReport, chars: int, *, first_only: bool = False) -> str:
    """Explain a failed run to a model, in at most `chars` characters; "" when it is ok.

    The first line names the failure. Each test follows with its message and the project's own frames; with
    `first_only` only the first test. A run without a report is distilled from its output.
    """
    if report.ok:
        return ""
    headline = first_fault(report)
    room = chars - len(headline) - 2
    if report.failed and any(case.message for case in report.failed):
        failed = report.failed[:1] if first_only else report.failed
        told = "\n\n".join(_fitting(failed, room))
    else:
        told = distil(report.ran.output, report.ran.command, max(room, 0)).strip() or "It printed nothing."
    return fit_middle(f"{headline}\n\n{told}", chars)


def first_fault(report: SuiteReport) -> str:
    """A failed run in one line: how many tests fail and the first one, or the first error of the build."""
    if report.ran.timed_out:
        return f"The tests were stopped after {report.ran.seconds:.0f} s."
    failed = report.failed
    if failed:
        first = failed[0]
        many = f"{len(failed)} of {len(report.cases)} tests fail" if len(report.cases) > len(failed) else ""
        many = many or (f"{len(failed)} tests fail" if len(failed) > 1 else "A test fails")
        said = _in_a_line(first.message)
        return _clip(f"{many}: {first.id}{f': {said}' if said else ''}")
    error = next(build_errors(report.ran.output), "")
    if error and not report.built:
        return _clip(f"The build fails: {error}")
    return _clip(_telling_line(report.ran.output))


def build_errors(output: str) -> Iterator[str]:
    """The errors of compiler, linker and CMake, with their places, each once."""
    told = set[str]()
    for match in _BUILD_ERROR.finditer(output):
        where, text = match["where"] or match["script"], match["text"] or match["link"] or match["said"] or ""
        line = f"{where}: {text}" if where else text
        if line not in told:
            told.add(line)
            yield line


def _fitting(failed: tuple[CaseResult, ...], room: int) -> Iterator[str]:
    """The first failures whole as far as they fit, the others by name, and how many are not even that."""
    for at, case in enumerate(failed):
        left = f"{len(failed) - at} more {'test fails' if len(failed) - at == 1 else 'tests fail'}."
        text = _told(case)
        if len(text) > room - len(left):
            text = fit_middle(text, max(room // _SHARE, 0)) if not at else case.id
        if len(text) + len(left) + 4 > room:
            yield left
            return
        room -= len(text) + 2
        yield text


def describe_case(case: CaseResult) -> str:
    """A test that fails and why, in a line for a model."""
    said = _in_a_line(case.message)
    return _clip(f"{case.id} fails{f': {said}' if said else ''}")


def _told(case: CaseResult) -> str:
    where = f"  ({case.path}:{case.line})" if case.path else ""
    frames = [f"    at {frame}" for frame in case.frames] if len(case.frames) > 1 else []
    message = [f"    {line}" for line in case.message.splitlines()]
    return "\n".join([f"{case.id}{where}", *message, *frames])


def _telling_line(output: str) -> str:
    """The first line that sounds like trouble, else the last one."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return next(
        (line for line in lines if TROUBLE.search(line)), lines[-1] if lines else "It printed nothing."
    )


def _in_a_line(message: str) -> str:
    """Its first paragraph: the expected value is often a line below."""
    return " ".join(message.strip().split("\n\n", 1)[0].split())


def _clip(line: str) -> str:
    return line if len(line) <= _LINE else f"{line[: _LINE - 3]}..."


FEEDBACK_CHARS: Final = 6_000
_TOLD: Final = 8  # names in one sentence
ALONE: Final = "The check runs your change alone: files that git ignores are not part of it."
MAKE_PASS: Final = "Find out if the code or the test is wrong, and correct that."
STAND_BY: Final = (
    "If the task itself asks for a test to change or go, change it and name it, with the reason, in "
    "`changed_tests` of `done`; otherwise correct your change."
)


def write_regressions(
    after: SuiteReport, comparison: Comparison, broken: Collection[str], weakened: Iterable[str]
) -> str:
    """Explain the regressions of a change, with the output of failing tests; count old failures.

    Tests that fail and came with the change come after those that it breaks.
    """
    # A file that was loaded before is named by itself where it cannot be loaded now.
    new = comparison.bad.difference(*(holders_of(id) for id in comparison.lost))
    failing = sorted((case for case in after.failed if case.id in broken), key=lambda case: case.id in new)
    fresh = [case.id for case in failing if case.id in new]
    parts = []
    if failing:
        parts.append(explain_report(replace(after, cases=_counted(after, tuple(failing))), FEEDBACK_CHARS))
    elif broken and not after.cases:
        parts.append(explain_report(after, FEEDBACK_CHARS))
    gone = sorted(set(broken) & comparison.lost - {case.id for case in failing})
    if gone and (after.cases or after.problem):
        silent = "" if after.cases else f"{after.problem}. "
        parts.append(
            f"{silent}These tests passed before your change and do not run or are skipped now: {names(gone)}."
        )
    if dropped := sorted(weakened):
        parts.append(f"Your change deletes, skips, weakens or alters these tests: {names(dropped)}.")
    if fresh:
        parts.append(f"Your change adds or enables these tests, and they fail: {names(fresh)}. {MAKE_PASS}")
    if gone or dropped:
        parts.append(f"`{name_check(after.ran.command)}` ran these before your change. {STAND_BY}")
    elif len(fresh) < len(failing) or not failing:
        parts.append(_ask(after))
    else:
        parts.append(ALONE)
    if old := len(comparison.failing):
        parts.append(
            f"{old} {'test' if old == 1 else 'tests'} failed before your change too: not yours, leave them."
        )
    return "\n\n".join(parts)


def _counted(after: SuiteReport, failing: tuple[object, ...]) -> tuple:  # type: ignore[type-arg]
    return (*failing, *(case for case in after.cases if case.outcome == "passed"))


def _ask(after: SuiteReport) -> str:
    how = (
        f"timed out after {after.ran.seconds:.0f} s" if after.ran.timed_out else f"exit code {after.ran.code}"
    )
    check = name_check(after.ran.command)
    return f"`{check}` ({how}) passed this before your change. Correct your change. {ALONE}"


def write_goal(after: SuiteReport, named: Iterable[str] = ()) -> str:
    """The goal that is not reached: a command that must succeed, or tests that the task names."""
    told = explain_report(after, FEEDBACK_CHARS) or first_fault(after)
    wanted = names(sorted(named))
    what = (
        f"These tests must pass: {wanted}."
        if wanted
        else f"`{after.ran.command}` must succeed, and fails as before."
    )
    return f"{told}\n\n{what} Find the cause and correct it. {ALONE}"


def write_exit(after: SuiteReport) -> str:
    """A command without results per test that succeeded before and does not now."""
    return f"{explain_report(after, FEEDBACK_CHARS)}\n\n{_ask(after)}"


def write_silent(after: SuiteReport) -> str:
    """A command that succeeds without its tests, which it ran before."""
    return f"{after.problem}, and it ran its tests before your change. Correct your change. {ALONE}"


def write_count(after: SuiteReport, line: str) -> str:
    """A command that succeeds whatever its tests do, and whose output counts more failures than before."""
    told = distil(after.ran.output, after.ran.command, FEEDBACK_CHARS).strip()
    return (
        f"its output counts more failures than before your change: {line}\n\n{told}\n\n"
        f"`{name_check(after.ran.command)}` exits with 0 nevertheless. Correct your change. {ALONE}"
    )


def write_late(after: SuiteReport, was: SuiteReport) -> str:
    """A check that was stopped by its time limit: it says nothing of the change."""
    return (
        f"{explain_report(after, FEEDBACK_CHARS)}\n\n"
        f"`{name_check(after.ran.command)}` ended in {was.ran.seconds:.0f} s before your change, and was "
        f"stopped after {after.ran.seconds:.0f} s with it. So nothing is known about your change. If it can "
        "loop or wait for ever, correct that. If not, edit nothing and end: then a person decides."
    )


def tell_blocked(check: str, missing: Iterable[Blocked], problem: str) -> str:
    """Explain why a check has no result, and how to fix that."""
    first = next(iter(missing), None)
    if first is None:
        return problem or f"`{check}` cannot run here"
    install = f"; to install it: {first.install}" if first.install else ""
    return f"`{check}` cannot run here: {first.words}{install}"


def names(tests: Collection[str]) -> str:
    """The first names, and how many more; the cases of a table are one name with their number."""
    sizes = Counter(map(_table, tests))
    known = {_table(test) if sizes[_table(test)] > 1 else test: sizes[_table(test)] for test in tests}
    told = [f"{name} ({size} cases)" if size > 1 else name for name, size in known.items()]
    left = sum([*known.values()][_TOLD:])
    return ", ".join(told[:_TOLD]) + (f" and {left} more" if left else "")


def _table(test: str) -> str:
    """A parametrised test without its parameters; another one as it is."""
    file, _, name = test.partition("::")
    return f"{file}::{name.partition('[')[0]}" if name.endswith("]") else test
