"""The judge's words: what a model has to repair, what it need not, and one line for the person."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from kith.core.evidence import Blocked
from kith.gates.evidence.compare import Comparison
from kith.gates.reports import SuiteReport
from kith.gates.results.explain_failures import explain_report, first_fault

FEEDBACK_CHARS: Final = 6_000
_TOLD: Final = 8  # names in one sentence
ALONE: Final = "The check runs your change alone: files that git ignores are not part of it."
STAND_BY: Final = (
    "If the task itself asks for a test to change or go, change it and name it when you finish; otherwise "
    "correct your change."
)


def write_regressions(
    after: SuiteReport, comparison: Comparison, broken: Collection[str], weakened: Iterable[str]
) -> str:
    """What speaks against a change, with the output of what fails; old failures are only counted."""
    failing = tuple(case for case in after.failed if case.id in broken)
    parts = []
    if failing:
        parts.append(explain_report(replace(after, cases=_counted(after, failing)), FEEDBACK_CHARS))
    elif broken and not after.cases:
        parts.append(explain_report(after, FEEDBACK_CHARS))
    gone = sorted(set(broken) & comparison.lost - {case.id for case in failing})
    if gone and after.cases:
        parts.append(
            f"These tests passed before your change and do not run or are skipped now: {names(gone)}."
        )
    if dropped := sorted(weakened):
        parts.append(f"Your change deletes, skips, weakens or alters these tests: {names(dropped)}.")
    parts.append(
        f"`{after.ran.command}` ran these before your change. {STAND_BY}" if gone or dropped else _ask(after)
    )
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
    return f"`{after.ran.command}` ({how}) passed this before your change. Correct your change. {ALONE}"


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


def tell_blocked(check: str, missing: Iterable[Blocked], problem: str) -> str:
    """Why a check says nothing, and what would change that."""
    first = next(iter(missing), None)
    if first is None:
        return problem or f"`{check}` cannot run here"
    install = f"; to install it: {first.install}" if first.install else ""
    return f"`{check}` cannot run here, {first.kind} missing: {first.what}{install}"


def names(tests: Collection[str]) -> str:
    """The first names, and how many more."""
    known = list(tests)
    more = f" and {len(known) - _TOLD} more" if len(known) > _TOLD else ""
    return ", ".join(known[:_TOLD]) + more
