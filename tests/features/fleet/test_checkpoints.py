"""A run's state as one file: what checks left behind is still no change where it is unpacked."""

import asyncio
from pathlib import Path

import pytest

from kith.core.events import RunStarted
from kith.core.workspace import ShellCommand
from kith.features.fleet.checkpoints import pack, unpack
from kith.memory.log import LOG_FILE, Log
from kith.trees.environment import Surroundings
from kith.trees.overlay import open_overlay
from projects import git, make_project, needs

PLENTY = 1 << 30


class _KilledError(Exception):
    pass


def test_a_run_moves_with_its_change_and_nothing_that_checks_made(tmp_path: Path) -> None:
    root, other = make_project(tmp_path / "project"), tmp_path / "other" / "project"
    state, moved, file = tmp_path / "state", tmp_path / "other" / "state", tmp_path / "checkpoint"
    needs("overlay")
    state.mkdir()
    Log(state / LOG_FILE).append("session", RunStarted("do", str(root), "", "1"), ())

    async def main() -> None:
        with pytest.raises(_KilledError):
            async with open_overlay(root, state, Surroundings(), "session-1") as trial:
                await trial.write("src/a.py", b"a = 2\n")
                await trial.check(
                    ShellCommand(
                        "mkdir -p out node_modules/.cache && echo 1 > out/a.o && echo 2 > version.txt"
                        " && echo 3 > node_modules/.cache/x && echo 4 > coverage.xml && echo 5 >> readme"
                    )
                )
                assert await pack(state, file, PLENTY) == "packed"
                raise _KilledError
        other.parent.mkdir()
        git(tmp_path, "clone", "-q", str(root), str(other))
        await unpack(file, moved, other)
        async with open_overlay(other, moved, Surroundings(), "session-1") as trial:
            assert [change.path for change in await trial.changes()] == ["src/a.py"]

    asyncio.run(main())
