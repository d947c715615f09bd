"""The size of a change, and a project's own commands as gates."""

from pathlib import Path

import pytest

from gating import LIMITS, judge
from kith.core.workspace import SizeLimits
from kith.gates.command import commands_gate
from kith.gates.limits import limits_gate, size_gate


def test_a_change_that_nobody_can_read_is_sent_back(repository: Path) -> None:
    files: dict[str, str | None] = {"a.py": "x\n" * 30, "b.py": "y\n" * 5, "README.md": None}
    told = judge(repository, files, lambda home: size_gate(2, 30))
    assert not told.ok and told.figures == {"files": 3.0, "lines": 38.0}
    assert "touches 3 files, and at most 2" in told.feedback and "38 lines, and at most 30" in told.feedback
    assert "a.py (30 lines), b.py (5 lines), README.md (3 lines)" in told.feedback
    assert judge(repository, files, lambda home: size_gate(3, 38)).ok


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


@pytest.mark.parametrize("before", ["x" * 1_000_001, "\0binary"])
def test_what_a_file_held_counts_as_well(repository: Path, before: str) -> None:
    """The tree keeps the former content for `kith undo`, and refuses it by the same limits."""
    (repository / "held.txt").write_text(before)
    for after in ("small\n", None):
        told = judge(repository, {"held.txt": after}, lambda home: limits_gate(SizeLimits()))
        assert not told.ok and "Leave it." in told.feedback
