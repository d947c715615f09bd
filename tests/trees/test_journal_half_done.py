"""A change that could neither be ended nor taken back: what is said, and what ends it."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from kith.agent.project import Project
from kith.core.errors import EXIT_DONE, EXIT_HALF_DONE, RevertedError
from kith.core.values import Change
from kith.trees.journal import apply_changes, list_applied, recover

NAMES = tuple("abcdefg")
# As a full disk: nothing can be written.
RECOVER = """
import resource, sys
from pathlib import Path
from kith.core.errors import HalfDoneError
from kith.trees.journal import recover
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
try:
    recover(Path(sys.argv[1]), Path(sys.argv[2]))
except HalfDoneError as error:
    print(error)
    sys.exit(error.code)
"""


def half_done(root: Path, state: Path) -> str:
    """A change whose rollback broke off: all files but one are new. Returns its id."""
    for name in NAMES:
        (root / name).write_text(f"old {name}\n" * 3)
    new = (Change(name, f"old {name}\n".encode() * 3, f"new {name}\n".encode() * 3) for name in NAMES)
    change_id = apply_changes(root, state, (*new, Change("added/new", None, b"new\n")))
    journal = state / "journal"
    (journal / f"{change_id}.applied").rename(journal / f"{change_id}.failing")
    (root / "g").write_text("old g\n" * 3)
    return change_id


def is_old(root: Path) -> bool:
    return not (root / "added").exists() and all((root / n).read_text() == f"old {n}\n" * 3 for n in NAMES)


def test_a_recovery_that_fails_says_what_stands_where(tmp_path: Path) -> None:
    root, state = tmp_path / "root", tmp_path / "state"
    root.mkdir()
    change_id = half_done(root, state)
    command = [sys.executable, "-c", RECOVER, str(root), str(state)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == EXIT_HALF_DONE, ran.stderr
    assert "(new: a, b, c, d, e, 2 more; old: g)" in ran.stdout and "too large" in ran.stdout
    assert f"kith undo {change_id}" in ran.stdout and len(ran.stdout.splitlines()) == 1
    assert [(each.outcome, each.begun) for each in recover(root, state)] == [("taken back", True)]
    assert is_old(root) and recover(root, state) == () == list_applied(root, state)


@pytest.mark.parametrize("named", [True, False])
def test_undo_takes_back_what_was_half_done_and_nothing_else(
    repository: Path, home: Path, named: bool
) -> None:
    project = Project.open(repository, {})
    state = project.settings.state
    before = apply_changes(repository, state, (Change("kept.txt", None, b"kept\n"),))
    asyncio.run(project.recover(None))
    change_id = half_done(repository, state)
    with pytest.raises(RevertedError) as caught:
        asyncio.run(project.undo(change_id if named else ""))
    assert caught.value.change_id == change_id and caught.value.code == EXIT_DONE
    assert is_old(repository) and (repository / "kept.txt").exists()
    assert asyncio.run(project.undo()).undoes == before
    assert not (repository / "kept.txt").exists()
