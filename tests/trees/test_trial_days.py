"""How long a trial stays: a change waits for thirty days, what its commands left in /tmp for one."""

import asyncio
import os
import time
from contextlib import suppress
from pathlib import Path

from gating import make_repository
from kith.agent.kept_trial import save_left
from kith.core.values import Change
from kith.trees.local import open_tree
from kith.trees.trial_folder import claim_folder
from kith.trees.waiting_changes import PROPOSED, Checkpoints, list_waiting

DAY = 24 * 3600.0


def leave(state: Path, root: Path, name: str, days: float) -> Path:
    """A trial that a process left so long ago, with a change and with something in its /tmp."""
    with suppress(KeyError), claim_folder(state, root, name) as folder:
        Checkpoints(folder / "checkpoints").save(PROPOSED, ())
        (folder / "tmp").mkdir(exist_ok=True)
        (folder / "tmp" / "large").write_text("x")
        raise KeyError
    then = time.time() - days * DAY
    os.utime(folder, (then, then))
    return folder


def test_a_trial_is_removed_after_thirty_days(tmp_path: Path) -> None:
    state = tmp_path / "state"
    old, young = leave(state, tmp_path, "a-1", 30.1), leave(state, tmp_path, "b-1", 29.9)
    with claim_folder(state, tmp_path):
        assert (old.exists(), young.exists()) == (False, True)


def test_a_trial_that_is_worked_in_again_has_thirty_days_more(tmp_path: Path) -> None:
    state = tmp_path / "state"
    folder = leave(state, tmp_path, "a-1", 29)
    with suppress(KeyError), claim_folder(state, tmp_path, "a-1"):
        raise KeyError
    assert time.time() - folder.stat().st_mtime < DAY


def test_tmp_of_a_trial_is_emptied_after_a_day(tmp_path: Path) -> None:
    state = tmp_path / "state"
    idle, fresh = leave(state, tmp_path, "a-1", 1.1), leave(state, tmp_path, "b-1", 0.9)
    age = idle.stat().st_mtime
    with claim_folder(state, tmp_path):
        assert not (idle / "tmp").exists() and (fresh / "tmp" / "large").exists()
    assert Checkpoints(idle / "checkpoints").load(PROPOSED) == () and not list_waiting(state)
    assert idle.stat().st_mtime == age, "its thirty days go on"


def test_tmp_of_a_trial_at_work_stays(tmp_path: Path) -> None:
    state = tmp_path / "state"
    leave(state, tmp_path, "a-1", 0)
    with suppress(KeyError), claim_folder(state, tmp_path, "a-1") as folder:
        os.utime(folder, (1, 1))
        with claim_folder(state, tmp_path):
            assert (folder / "tmp" / "large").exists()
        raise KeyError


def test_a_change_that_waited_does_not_hide_the_work_that_goes_on(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "project", {"a.py": "a = 1\n"})
    tree = open_tree(root, tmp_path / "state", tmp_path / "cache")

    async def work(before: bytes, after: bytes, *, resumes: bool) -> None:
        with suppress(KeyError):
            async with tree.trial("a-1") as trial:
                if resumes:
                    await trial.withdraw()
                await trial.apply((Change("a.py", before, after),))
                if not resumes:
                    await trial.remember()
                raise KeyError  # as if it was killed

    asyncio.run(work(b"a = 1\n", b"a = 2\n", resumes=False))
    assert tree.unsaved_trials("a-1") == ()
    asyncio.run(work(b"a = 2\n", b"a = 3\n", resumes=True))
    assert tree.unsaved_trials("a-1") == ("a-1",)
    asyncio.run(save_left(tree, "a-1", resumable=True))
    (change,) = tree.waiting_change("a-1")
    assert change.after == b"a = 3\n"
