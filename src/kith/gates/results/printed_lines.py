"""Tests in the output of any command: lines of automake, TAP, prove, Minitest and unittest."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from msgspec.structs import replace

from kith.core.patterns import lazy_pattern
from kith.gates.reports import CaseResult, Outcome, ProjectPaths, tell_apart, worst_of
from kith.gates.runners.python import read_lines

# Each form is read only where another line shows that its program was at work: such words are said often.
_AUTOMAKE_SUM: Final = lazy_pattern(
    r"^# TOTAL: +\d+|^=+\nTestsuite summary|^All \d+ tests? (?:passed|behaved)|^\d+ of \d+ tests? failed",
    re.M,
)
_AUTOMAKE: Final = lazy_pattern(r"^(PASS|FAIL|XFAIL|XPASS|SKIP|ERROR): (\S[^\n]*)$", re.M)
_TAP_PLAN: Final = lazy_pattern(r"^1\.\.\d+(?: *#.*)?$", re.M)
_TAP: Final = lazy_pattern(
    r"^(not )?ok (\d+)(?: ++(?:- ++)?([^#\s](?:[^#\n]*[^#\s])?+)?+)?+ *+(?:# *(skip|todo)\b[^\n]*)?$",
    re.M | re.I,
)
_TAP_RUN: Final = lazy_pattern(r"^(?=TAP version \d)", re.M)
# tape's form: the title of a test, then its assertions, which often share their names.
_TITLES: Final = lazy_pattern(r"TAP version \d+\n+# ")
_TITLES_SUM: Final = lazy_pattern(r"^1\.\.\d+\n+# tests +\d+\n+# pass +\d+", re.M)
# A comment looks the same; what differs from run to run (a time, a port) is one.
_TITLE: Final = lazy_pattern(
    r"^# (?![^\n]*(?:\d{5}|\d:\d\d\b|\d ?(?:[nuµm]?s|sec\w*|[kMG]i?B)\b))(\S[^\n]*)$", re.M
)
_PROVE_SUM: Final = lazy_pattern(r"^Result: (?:PASS|FAIL|NOTESTS)$", re.M)
_PROVE: Final = lazy_pattern(
    r"^(\S[^\n]*?\.t) \.{2,}[ \t]*(?:\n(?=Dubious|Failed))?(ok|skipped|Failed|Dubious|No subtests run)?", re.M
)
_MINITEST_SUM: Final = lazy_pattern(r"^\d+ (?:runs|tests), \d+ assertions, \d+ failures, \d+ errors", re.M)
_MINITEST: Final = lazy_pattern(r"^(\w[\w:]*#\S[^\n]*?) = (\d+\.\d+) s = ([.FES])$", re.M)

_OUTCOMES: Final[dict[str, Outcome]] = {
    **dict.fromkeys(("PASS", "XFAIL", "ok", "."), "passed"),
    **dict.fromkeys(("FAIL", "XPASS", "Failed", "Dubious", "No subtests run", "F"), "failed"),
    **dict.fromkeys(("ERROR", "E"), "error"),
    **dict.fromkeys(("SKIP", "skipped", "S"), "skipped"),
}


def read_printed(output: str, place: ProjectPaths) -> tuple[CaseResult, ...]:
    """Every test that the output names, by the first form that it has; () where it has none."""
    return next((found for read in _READERS if (found := worst_of(read(output, place)))), ())


def _automake(output: str, place: ProjectPaths) -> Iterator[CaseResult]:
    """Source: GNU Automake's manual, 15.2.1, Scripts-based Testsuites."""
    if _AUTOMAKE_SUM.search(output):
        for how, name in _AUTOMAKE.findall(output):
            yield CaseResult(name.strip(), _OUTCOMES[how])


def _prove(output: str, place: ProjectPaths) -> Iterator[CaseResult]:
    """A file of tests each, as the TAP::Harness of Perl sums them up."""
    found = _PROVE.findall(output) if _PROVE_SUM.search(output) else []
    if all(how for _, how in found):  # in its verbose form the subtests stand in between
        for name, how in found:
            yield CaseResult(name, _OUTCOMES[how])


def _tap(output: str, place: ProjectPaths) -> Iterator[CaseResult]:
    """Source: https://testanything.org/tap-version-13-specification.html; what is still to do may fail."""
    if _TAP_PLAN.search(output):
        runs = _TAP_RUN.split(output)
        yield from tell_apart(case for text in runs for case in _tap_run(text, place))


def _tap_run(text: str, place: ProjectPaths) -> Iterator[CaseResult]:
    titles = _TITLES.match(text) and _TITLES_SUM.search(text)
    return _titled(text[: titles.start()], place) if titles else _points(text, place)


def _points(text: str, place: ProjectPaths) -> Iterator[CaseResult]:
    """Each point; a failed one has the lines up to the next point as its message."""
    found = list(_TAP.finditer(text))
    ends = [*(match.start() for match in found), len(text)][1:]
    for match, end in zip(found, ends, strict=True):
        failed, number, name, note = match.groups()
        skipped: Outcome | None = "skipped" if note and note.lower() == "skip" else None
        said = text[match.end() : end] if failed else ""
        yield place.case(
            name or number, skipped or ("failed" if failed and not note else "passed"), said, said
        )


def _titled(text: str, place: ProjectPaths) -> Iterator[CaseResult]:
    """A test is the worst of its assertions; one that is left out says so in its title.

    A title without any is a comment, or of a test that holds others.
    """
    first, *parts = _TITLE.split(text)
    yield from _points(first, place)
    for title, said in zip(parts[::2], parts[1::2], strict=True):
        points = list(_points(said, place))
        name = title.removeprefix("SKIP ")
        failed = next((point for point in points if point.outcome == "failed"), None)
        outcome: Outcome = "skipped" if name != title else "passed"
        if not points and outcome == "passed":
            continue
        yield (
            replace(failed, id=name, message=f"{failed.id}\n{failed.message}")
            if failed
            else CaseResult(name, outcome)
        )


def _minitest(output: str, place: ProjectPaths) -> Iterator[CaseResult]:
    if _MINITEST_SUM.search(output):
        for name, seconds, how in _MINITEST.findall(output):
            yield CaseResult(name, _OUTCOMES[how], seconds=float(seconds))


def _unittest(output: str, place: ProjectPaths) -> Iterator[CaseResult]:
    yield from read_lines(output, place)


_READERS: Final[tuple[Callable[[str, ProjectPaths], Iterator[CaseResult]], ...]] = (
    _unittest,
    lambda output, place: tell_apart(_automake(output, place)),
    _prove,
    _minitest,
    _tap,
)
