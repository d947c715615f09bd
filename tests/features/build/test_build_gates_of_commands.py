"""The gate of a command that must end with 0: its verdict, its figures, its letter."""

from pathlib import Path

import pytest

from gating import LIMITS, judge
from kith.features.build.gates import command_gate

pytestmark = pytest.mark.usefixtures("sandbox")


def test_a_command_of_the_project_decides(repository: Path) -> None:
    command = "grep -q done notes.txt || { echo 'error: notes are not done'; exit 3; }"
    told = judge(repository, {"notes.txt": "open\n"}, lambda home: command_gate("notes", command, LIMITS))
    assert (told.ok, told.by) == (False, "notes")
    assert "exit code 3" in told.feedback and "error: notes are not done" in told.feedback
    assert told.ran[0].code == 3 and told.figures["seconds"] > 0
    assert judge(repository, {"notes.txt": "done\n"}, lambda home: command_gate("notes", command, LIMITS)).ok


def test_a_command_that_cannot_run_is_no_yes(repository: Path) -> None:
    told = judge(repository, {"a": "b\n"}, lambda home: command_gate("gone", "no-such-program-xyz", LIMITS))
    assert not told.ok
