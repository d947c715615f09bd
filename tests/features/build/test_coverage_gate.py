"""Enough of all lines and of the changed ones has to be run by tests, and the rest is named."""

import asyncio
from pathlib import Path

import pytest

from gating import LIMITS, judge, make_repository
from kith.core.run import Run
from kith.core.values import Change, Changes, Ran, Verdict
from kith.features.build.judging import Measure, coverage_gate
from kith.gates.reports import Coverage, SuiteReport
from kith.gates.results.run import run_suite
from kith.gates.toolchain import PYTHON, Toolchain
from runners import RUNNERS

RAN = Ran("pytest", 0, "", 1.0)


def says(ran: dict[str, set[int]], missed: dict[str, set[int]]) -> Measure:
    held = [{path: frozenset(lines) for path, lines in each.items()} for each in (ran, missed)]

    async def measure(run: Run) -> SuiteReport:
        return SuiteReport(RAN, coverage=Coverage(held[0], held[1]))

    return measure


def verdict(measure: Measure, changes: Changes, threshold: float, before: float | None = None) -> Verdict:
    run = Run(lambda *_: None, None, None)  # type: ignore[arg-type]
    return asyncio.run(coverage_gate(measure, threshold, before)(run, changes))  # type: ignore[arg-type]


# Lines 2, 3 and 5 are new.
CHANGE = Change("a.py", b"1\n4\n", b"1\n2\n3\n4\n5\n")


def test_enough_is_enough() -> None:
    told = verdict(says({"a.py": {1, 2, 3, 4}}, {"a.py": {5}}), (CHANGE,), 66)
    assert told.ok and not told.feedback
    assert told.ran == (), "the gate of the tests has told of that run"
    assert told.figures == {"coverage": 0.8, "changed": pytest.approx(2 / 3)}


def test_the_changed_lines_count_by_themselves() -> None:
    told = verdict(says({"a.py": {1, 4, 5}, "b.py": set(range(1, 98))}, {"a.py": {2, 3}}), (CHANGE,), 80, 0.9)
    assert not told.ok and told.figures["before"] == 0.9
    assert "a.py: 2-3" in told.feedback and "33.3 % of the lines that you wrote" in told.feedback
    assert "80 % are wanted" in told.feedback


def test_what_was_too_low_before_is_not_this_changes_fault() -> None:
    measure = says({"a.py": {1, 2, 3, 4, 5}}, {"b.py": {1, 2, 3, 4, 5}})
    assert verdict(measure, (CHANGE,), 80, 0.4).ok
    assert verdict(measure, (CHANGE,), 80, 0.5).ok
    fallen = verdict(measure, (CHANGE,), 80, 0.6)
    assert not fallen.ok and "50 % of all lines, 60 % before your change" in fallen.feedback
    assert not verdict(measure, (CHANGE,), 80, 0.85).ok
    assert not verdict(measure, (CHANGE,), 80).ok


def test_tests_are_not_their_own_subject() -> None:
    change = Change("tests/test_a.py", None, b"1\n2\n")
    assert verdict(says({"a.py": {1}}, {"tests/test_a.py": {1, 2}}), (change,), 30).figures["changed"] == 1


def test_just_under_is_under() -> None:
    lines = set(range(1, 10_000))
    told = verdict(says({"a.py": lines - {7, 8}}, {"a.py": {7, 8}}), (), 99.99)
    assert not told.ok and "99.9 % of all lines" in told.feedback


def test_what_cannot_be_measured_is_said() -> None:
    async def measure(run: Run) -> SuiteReport:
        return SuiteReport(RAN, unmeasured="coverage.py is not installed for this Python")

    told = verdict(measure, (CHANGE,), 80)
    assert (
        told.ok
        and told.feedback == "Coverage was not measured: coverage.py is not installed for this Python."
    )


@pytest.mark.slow
def test_with_the_real_tools(tmp_path: Path) -> None:
    files = {
        "lib.py": "def half(n):\n    return n / 2\n",
        "test_lib.py": "from lib import half\n\n\ndef test_half():\n    assert half(4) == 2\n",
        "pyproject.toml": "[tool.pytest.ini_options]\n",
    }
    root = make_repository(tmp_path / "project", files)
    toolchain = Toolchain(
        "pytest", "Python", "", f"{PYTHON} -m pytest -q", RUNNERS["pytest"], coverage="--source=."
    )

    async def measure(run: Run) -> SuiteReport:
        return await run_suite(run, toolchain, LIMITS, coverage=True)

    more: dict[str, str | None] = {
        "lib.py": files["lib.py"] + "\n\ndef third(n):\n    a = n / 3\n    return a\n"
    }
    told = judge(root, more, lambda home: coverage_gate(measure, 90))
    assert not told.ok and "lib.py: 6-7" in told.feedback and told.figures["changed"] == pytest.approx(1 / 3)
