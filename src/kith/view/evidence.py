"""The evidence for a change in words: one line for a question, a few for a receipt."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kith.core.check_names import name_check
from kith.core.codec import decode
from kith.core.evidence import (
    GRADES,
    UNCHECKED,
    CheckEvidence,
    Evidence,
    Names,
    Reason,
    Standing,
)
from kith.core.values import Question

_NAMED: Final = 3  # tests in one line
_WHY: Final[Mapping[Reason, str]] = {
    "fixed": "a test that failed before passes now",
    "reached": "tests that use the changed code pass, none was lost",
    "not_reached": "no test uses the changed code",
    "failing": "the tests that use the changed code fail, also before the change",
    "no_tests": "this project has no tests that kith found",
    "blocked": "the tests cannot run on this machine",
    "same_failure": "the check fails exactly as before the change",
    "out_of_time": "the check timed out",
    "not_allowed": "the check was not allowed to run",
    "disputed": "the model insists on a change that a check rejects",
    "uninstalled": "the change needs a package that is not installed here",
    "settings": "the change alters how the tests are run",
    "broken": "the change breaks, weakens or removes a test",
    "unmet": "the check that must pass still fails",
    "unchecked": "nothing was checked",
}

_CANNOT_RUN: Final = "cannot run on this machine, with or without this change"
_NOT_INSTALLED: Final = "cannot run without what is not installed here"


def read_evidence(report: Mapping[str, Any]) -> Evidence | None:
    """The evidence of a run's report (`memory/receipt.py`); None where nothing was changed."""
    told = report["receipt"].get("evidence")
    return decode(told, Evidence) if told else None


def word_evidence(evidence: Evidence) -> str:
    """`Proven: a test that failed before passes now (test_add).`"""
    return f"{evidence.grade.capitalize()}: {_why(evidence)}."


def word_held_back(question: Question) -> str:
    """Say why --yes does not apply a change, and which option does."""
    evidence, required = question.evidence or UNCHECKED, question.required
    if GRADES.index(evidence.grade) >= GRADES.index(required):
        return f"Held back: {_why(evidence)}; --unproven applies it."
    options = f"--require {evidence.grade}{' --unproven' if evidence.held_back else ''}"
    return f"Held back: {evidence.grade}, not {required} ({_WHY[evidence.reason]}); {options} applies it."


def _why(evidence: Evidence) -> str:
    """The reason, with the tests that show it."""
    if evidence.reason == "out_of_time":
        return _late(evidence)
    if evidence.reason == "broken" and not any(each.broken for each in evidence.checks):
        return "what succeeded before fails with the change"
    tests = next((each.fixed for each in evidence.checks if each.fixed), None)
    if evidence.reason != "fixed" or not tests:
        return _WHY[evidence.reason]
    why = "tests that failed before pass now" if tests.count > 1 else _WHY["fixed"]
    return f"{why} ({word_names(tests)})"


def _late(evidence: Evidence) -> str:
    """Say the time that the check was allowed to take, and the setting that allows more."""
    ends = (each.after for each in evidence.checks if each.reason == "out_of_time" and each.after)
    took = next((stands.seconds for stands in ends if stands.timed_out), None)
    return _WHY["out_of_time"] + (f" after {took:.0f} s; set check_timeout higher" if took else "")


def evidence_lines(evidence: Evidence) -> Iterator[str]:
    """The grade, then each check with the tests that a person should know of."""
    yield word_evidence(evidence)
    for check in evidence.checks:
        yield from check_lines(check)


def check_lines(check: CheckEvidence) -> Iterator[str]:
    """One check: its result now and before, and the tests by name."""
    if check.after:
        before = f" (before: {word_standing(check.before)})" if check.before else ""
        yield f"{name_check(check.check)}: {word_standing(check.after)}{before}"
    rows = (
        ("fixed", check.fixed),
        ("broken, weakened or removed", check.broken),
        ("still failing, not caused by this change", _without(check.failing, check.blocked)),
        ("flaky", check.flaky),
        ("changed with the code", check.adapted),
        (_NOT_INSTALLED if check.reason == "uninstalled" else _CANNOT_RUN, check.blocked),
        ("not run", check.not_run),
    )
    yield from (f"{title}: {word_names(names)}" for title, names in rows if names)
    for claim in check.claimed[:_NAMED]:
        yield f"the model says that it had to change {claim}"
    for each in check.missing:
        install = f"; to install it: {each.install}" if each.install else ""
        yield f"{each.words}{install}"


def _without(names: Names, told: Names) -> Names:
    """The tests that are not told of elsewhere."""
    left = tuple(each for each in names.first if each not in told.first)
    return Names(max(names.count - told.count, 0), left)


def word_standing(stands: Standing) -> str:
    """`1,436 pass, 3 fail, 8.2 s`, or how the command ended where tests are not counted."""
    if stands.timed_out:
        return f"timed out after {stands.seconds:.0f} s"
    if not stands.counted:
        return f"exit code {stands.code}, {stands.seconds:.1f} s"
    failed = f", {stands.failed:,} fail" if stands.failed else ""
    skipped = f", {stands.skipped:,} skipped" if stands.skipped else ""
    return f"{stands.passed:,} pass{failed}{skipped}, {stands.seconds:.1f} s"


def word_names(names: Names) -> str:
    """The first tests by name, and how many more."""
    more = names.count - len(names.first[:_NAMED])
    return ", ".join(names.first[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
