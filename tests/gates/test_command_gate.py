"""The gate that runs tests: its verdict, its figures, its letter, and what is skipped with a reason."""

from pathlib import Path

import pytest
from gating import LIMITS, in_trial, judge, make_repository

from kith.core.events import Judged
from kith.core.run import Run
from kith.gates.command import check_before, command_gate, name_command, not_allowed
from kith.gates.toolchains import PYTHON, Toolchain

pytestmark = pytest.mark.usefixtures("sandbox")

TESTS = (
    "import unittest\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, {})\n"
)
UNITTEST = Toolchain("unittest", "Python", "", f"{PYTHON} -m unittest discover", "unittest")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project", {"test_a.py": TESTS.format(2)})


def test_a_failing_test_is_counted_and_told_in_the_first_line(project: Path) -> None:
    verdict = judge(project, {}, lambda run: command_gate(UNITTEST, LIMITS, found=True))
    assert (verdict.ok, verdict.by, verdict.figures) == (False, "unittest", {"tests": 1, "failed": 1})
    first, *_, last = verdict.feedback.splitlines()
    assert first == "A test fails: test_a.T.test_a: AssertionError: 1 != 2"
    assert f"`{UNITTEST.test}` failed with exit code 1" in last
    assert [ran.command for ran in verdict.ran] == [UNITTEST.test]


def test_a_change_that_mends_it_passes(project: Path) -> None:
    verdict = judge(project, {"test_a.py": TESTS.format(1)}, lambda run: command_gate(UNITTEST, LIMITS))
    assert (verdict.ok, verdict.feedback, verdict.figures) == (True, "", {"tests": 1, "failed": 0})


def test_a_command_that_a_person_names(project: Path) -> None:
    named = name_command(f"{PYTHON} -m unittest -q")
    assert judge(project, {}, lambda run: command_gate(named, LIMITS)).figures == {"tests": 1, "failed": 1}
    other = name_command("echo 'tests: no such thing' && exit 4")
    verdict = judge(project, {}, lambda run: command_gate(other, LIMITS))
    assert not verdict.ok and verdict.feedback.startswith("tests: no such thing\n")
    assert verdict.figures == {} and verdict.ran[0].code == 4


@pytest.mark.parametrize(
    ("toolchain", "reason"),
    [
        (Toolchain("x", "", "", "no-such-tool"), "`no-such-tool` is not installed here, so it was not run"),
        (
            Toolchain("u", "Python", "", f"{PYTHON} -m unittest discover -p 'x*.py'", "unittest"),
            f"`{PYTHON} -m unittest discover -p 'x*.py'` found no tests",
        ),
    ],
)
def test_what_cannot_run_is_skipped_when_it_was_found_and_fails_when_it_was_named(
    project: Path, toolchain: Toolchain, reason: str
) -> None:
    verdict = judge(project, {}, lambda run: command_gate(toolchain, LIMITS, found=True))
    assert (verdict.ok, verdict.feedback, verdict.ran) == (True, reason, ())
    if toolchain.runner == "command":
        assert not judge(project, {}, lambda run: command_gate(toolchain, LIMITS)).ok


def test_the_untouched_tree(project: Path) -> None:
    async def look(home: Run, run: Run) -> Judged:
        return await check_before(home, UNITTEST, LIMITS, found=True)

    judged = in_trial(project, look)
    assert (judged.ok, judged.when, judged.figures) == (False, "before", {"tests": 1, "failed": 1})


def test_what_was_not_allowed_is_said(project: Path) -> None:
    verdict = judge(project, {}, lambda run: not_allowed(UNITTEST))
    assert verdict.ok and UNITTEST.test in verdict.feedback and not verdict.ran
