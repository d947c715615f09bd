"""A tree that is worked on directly: writes are there at once, and nothing is left to adopt."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from kith.core.errors import AbsentError, TreeError
from kith.core.values import EXECUTABLE, FILE, Change
from kith.core.workspace import ExecLimits, ShellCommand, Trial
from kith.features.in_place.tree import InPlaceTree, open_in_place

T = TypeVar("T")


@pytest.fixture
def tree(tmp_path: Path) -> InPlaceTree:
    root = tmp_path / "app"
    root.mkdir()
    (root / "run.sh").write_text("echo 1\n")
    (root / "run.sh").chmod(0o755)
    return open_in_place(root, tmp_path / "state", private=("HIDDEN_KEY",))


def in_trial(tree: InPlaceTree, do: Callable[[Trial], Awaitable[T]]) -> T:
    async def work() -> T:
        async with tree.trial("a name") as trial:
            return await do(trial)

    return asyncio.run(work())


def test_a_write_is_there_at_once_and_told_with_what_was_before(tree: InPlaceTree) -> None:
    async def do(trial: Trial) -> None:
        assert isinstance(trial, Trial)
        await trial.write("run.sh", b"echo 2\n")
        await trial.write("run.sh", b"echo 3\n")
        await trial.write("deep/new.txt", b"new\n")
        await trial.exec(ShellCommand("echo other > other.txt"))
        assert (tree.root / "run.sh").read_text() == "echo 3\n"
        assert (tree.root / "run.sh").stat().st_mode & 0o100
        assert await trial.changes() == (
            Change("run.sh", b"echo 1\n", b"echo 3\n", EXECUTABLE, EXECUTABLE),
            Change("deep/new.txt", None, b"new\n", FILE, FILE),
        )
        await trial.exec(ShellCommand("echo echo 1 > run.sh; rm -r deep"))
        assert await trial.changes() == ()

    in_trial(tree, do)


def test_nothing_waits_and_nothing_is_adopted(tree: InPlaceTree) -> None:
    change = Change("new.txt", None, b"new\n")

    async def do(trial: Trial) -> None:
        await trial.apply((change,))
        assert await trial.remember(await trial.changes()) == ()

    in_trial(tree, do)
    assert (tree.root / "new.txt").read_text() == "new\n" and tree.waiting() == ()
    assert asyncio.run(tree.apply((change,)))  # it is in the files already
    assert asyncio.run(tree.applied()) == ()


def test_a_change_of_a_file_that_is_different_now_is_refused(tree: InPlaceTree) -> None:
    with pytest.raises(TreeError, match="has changed"):
        in_trial(tree, lambda trial: trial.apply((Change("run.sh", b"echo 9\n", b""),)))
    with pytest.raises(AbsentError):
        in_trial(tree, lambda trial: trial.write("none.txt", None))


@pytest.mark.parametrize("path", ["../out.txt", "/etc/out.txt", "link/out.txt"])
def test_writes_stay_in_the_folder(tree: InPlaceTree, tmp_path: Path, path: str) -> None:
    (tree.root / "link").symlink_to(tmp_path)
    with pytest.raises(TreeError):
        in_trial(tree, lambda trial: trial.write(path, b"out\n"))
    assert not (tmp_path / "out.txt").exists()


def test_a_command_has_kiths_variables_without_the_private_ones(
    tree: InPlaceTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIDDEN_KEY", "hidden")
    monkeypatch.setenv("SHOWN", "shown")
    ran = in_trial(
        tree, lambda trial: trial.exec(ShellCommand("echo $SHOWN:$HIDDEN_KEY:$DEBIAN_FRONTEND; pwd"))
    )
    assert ran.output == f"shown::noninteractive\n{tree.root}\n"


def test_a_file_may_be_larger_than_in_a_trial(tree: InPlaceTree) -> None:
    limits = ExecLimits(file_size=1_000)
    ran = in_trial(tree, lambda trial: trial.exec(ShellCommand("truncate -s 1000000 big.img"), limits))
    assert ran.code == 0


def test_the_folder_may_not_hold_kiths_own_state(tree: InPlaceTree) -> None:
    with pytest.raises(TreeError, match="kith's own files"):
        open_in_place(tree.root, tree.root / "state")
