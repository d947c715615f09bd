"""The gate of a command that must end with 0: its verdict, its figures, its letter."""

from pathlib import Path

import pytest

from gating import LIMITS, judge, make_repository
from kith.features.build.gates import command_gate, commands_gate
from kith.gates.command import name_command
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
    verdict = judge(project, {}, lambda run: command_gate(UNITTEST, LIMITS))
    assert (verdict.ok, verdict.by, verdict.figures) == (False, "unittest", {"tests": 1, "failed": 1})
    first, *_, last = verdict.feedback.splitlines()
    assert first == "A test fails: test_a.T.test_a: AssertionError: 1 != 2"
    assert f"`{UNITTEST.test}` (exit code 1)" in last
    assert [ran.command for ran in verdict.ran] == [UNITTEST.test]


def test_a_change_that_repairs_it_passes(project: Path) -> None:
    verdict = judge(project, {"test_a.py": TESTS.format(1)}, lambda run: command_gate(UNITTEST, LIMITS))
    assert (verdict.ok, verdict.feedback, verdict.figures) == (True, "", {"tests": 1, "failed": 0})


def test_a_command_that_a_person_names(project: Path) -> None:
    named = name_command(f"{PYTHON} -m unittest -q")
    assert judge(project, {}, lambda run: command_gate(named, LIMITS)).figures == {"tests": 1, "failed": 1}
    other = name_command("echo 'tests: no such thing' && exit 4")
    verdict = judge(project, {}, lambda run: command_gate(other, LIMITS))
    assert not verdict.ok and verdict.feedback.startswith("tests: no such thing\n")
    assert verdict.figures == {} and verdict.ran[0].code == 4


def test_a_command_of_the_project_decides(repository: Path) -> None:
    command = "grep -q done notes.txt || { echo 'error: notes are not done'; exit 3; }"
    told = judge(repository, {"notes.txt": "open\n"}, lambda home: commands_gate("notes", command, LIMITS))
    assert (told.ok, told.by) == (False, "notes")
    assert "exit code 3" in told.feedback and "error: notes are not done" in told.feedback
    assert told.ran[0].code == 3 and told.figures["seconds"] > 0
    assert judge(repository, {"notes.txt": "done\n"}, lambda home: commands_gate("notes", command, LIMITS)).ok


def test_a_command_that_cannot_run_is_no_yes(repository: Path) -> None:
    told = judge(repository, {"a": "b\n"}, lambda home: commands_gate("gone", "no-such-program-xyz", LIMITS))
    assert not told.ok
