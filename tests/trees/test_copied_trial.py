"""A trial that was copied to another place knows its own work from what checks left behind."""

import asyncio
import subprocess
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from kith.core.workspace import ShellCommand, Trial
from kith.trees.copied_trial import mark_of, settle
from kith.trees.copy import open_copy
from kith.trees.environment import Surroundings
from kith.trees.overlay import open_overlay
from projects import git, make_project, needs

NAME = "task"
OPENERS: dict[str, Callable[[Path, Path], AbstractAsyncContextManager[Trial]]] = {
    "overlay": lambda root, state: open_overlay(root, state, Surroundings(), NAME),
    "copy": lambda root, state: open_copy(root, state, Surroundings(), NAME, boxed=False, confined=False),
}
CHECK = ShellCommand(
    "mkdir -p out .cache/deep; echo o > out/a.o; echo v > version.txt; ln -s a.o out/link; rm docs/*;"
    " echo c > .cache/deep/x; echo changed > src/deep/b.py; echo a=3 > src/a.py"
)


class _StopError(Exception):
    pass


@pytest.fixture(params=OPENERS)
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    needs(request.param if request.param == "overlay" else "plain")
    return str(request.param)


def move(tmp_path: Path) -> tuple[Path, Path]:
    """Copy a project's commit and the trial as a checkpoint does; the new tree and its state."""
    root, state = tmp_path / "elsewhere", tmp_path / "other-state"
    git(tmp_path, "clone", "-q", str(tmp_path / "project"), str(root))
    state.mkdir()
    tar = ["tar", "--xattrs", "--xattrs-include=*"]
    packed = subprocess.run([*tar, "-cC", str(tmp_path / "state"), "."], check=True, capture_output=True)
    subprocess.run([*tar, "-xpC", str(state)], check=True, input=packed.stdout)
    settle(state / "trials" / NAME, root)
    return root, state


def test_only_the_work_itself_is_a_change_after_a_move(opener: str, tmp_path: Path) -> None:
    begin, root = OPENERS[opener], make_project(tmp_path / "project")

    async def main() -> None:
        with pytest.raises(_StopError):
            async with begin(root, tmp_path / "state") as trial:
                await trial.write("src/a.py", b"a = 2\n")
                await trial.write("new.py", b"new\n")
                await trial.check(CHECK)
                await trial.write("version.txt", b"mine\n")
                raise _StopError
        async with begin(*move(tmp_path)) as trial:
            changes = {change.path: change.after for change in await trial.changes()}
            assert changes == {"src/a.py": b"a=3\n", "new.py": b"new\n", "version.txt": b"mine\n"}
            await trial.write("out/a.o", b"mine, too\n")
            await trial.exec(ShellCommand("git log -1 && echo again > .cache/deep/x"))
            assert {each.path for each in await trial.changes()} - changes.keys() == {
                "out/a.o",
                ".cache/deep/x",
            }
            assert not await trial.commits()

    asyncio.run(main())


def test_a_check_that_was_cut_off_leaves_by_products_too(opener: str, tmp_path: Path) -> None:
    begin, root, state = OPENERS[opener], make_project(tmp_path / "project"), tmp_path / "state"

    async def main() -> None:
        with pytest.raises(_StopError):
            async with begin(root, state) as trial:
                await trial.write("src/a.py", b"a = 2\n")
                before = mark_of(state / "trials")
                check = asyncio.create_task(
                    trial.check(ShellCommand("echo r > report; echo > began; sleep 60"))
                )
                while not began_in(state):
                    await asyncio.sleep(0.01)
                assert mark_of(state / "trials") != before
                root_2, state_2 = move(tmp_path)
                during = mark_of(state / "trials")
                check.cancel()
                await asyncio.wait([check])
                assert mark_of(state / "trials") not in (before, during)
                raise _StopError
        async with begin(root_2, state_2) as trial:
            assert [change.path for change in await trial.changes()] == ["src/a.py"]

    asyncio.run(main())


def began_in(state: Path) -> bool:
    return bool(list((state / "trials" / NAME).glob("*/began")))


def test_what_is_edited_after_a_move_is_newer_than_all_that_was_built(opener: str, tmp_path: Path) -> None:
    """The other machine's clock was ten minutes ahead, and a build compares times, as make does."""
    begin, root = OPENERS[opener], make_project(tmp_path / "project")
    build = (
        "[ out/a.o -nt src/a.py ] || { mkdir -p out; cp src/a.py out/a.o; touch -d '+10 minutes' out/a.o; }"
    )

    async def main() -> None:
        with pytest.raises(_StopError):
            async with begin(root, tmp_path / "state") as trial:
                await trial.write("src/a.py", b"a = 2\n")
                await trial.check(ShellCommand(build))
                raise _StopError
        async with begin(*move(tmp_path)) as trial:
            assert [change.path for change in await trial.changes()] == ["src/a.py"]
            await trial.write("src/a.py", b"a = 3\n")
            await trial.check(ShellCommand(build))
            assert (await trial.read("out/a.o")) == b"a = 3\n"
            assert [change.path for change in await trial.changes()] == ["src/a.py"]

    asyncio.run(main())
