"""A project in a real trial, for tests of gates: what a gate says of files that somebody wrote there."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar

import pytest

from kith.core.events import Event
from kith.core.run import Gate, Run
from kith.core.values import Answer, Question, Verdict
from kith.core.workspace import ExecLimits, Trial
from kith.trees.local import open_tree
from moulds import copied

T = TypeVar("T")
LIMITS = ExecLimits(seconds=60.0)


def make_repository(folder: Path, files: Mapping[str, str]) -> Path:
    """A git repository with one commit."""
    if folder.is_dir() and any(folder.iterdir()):  # what is there already belongs to it
        _make(folder, files)
        return folder
    return copied(tuple(files.items()), lambda place: _make(place, files), folder)


def _make(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *command], cwd=folder, check=True)


async def _nobody(question: Question) -> Answer:
    raise AssertionError(f"nobody answers {question.text!r}")


def in_trial(root: Path, work: Callable[[Run, Run], Awaitable[T]], told: list[Event] | None = None) -> T:
    """What `work` makes of a run on the tree and a run in a trial of it, with this Python's own tools."""
    heard: list[Event] = [] if told is None else told

    async def go() -> T:
        tree = open_tree(root, root.parent / "state", root.parent / "cache")
        home = Run(lambda event, path: heard.append(event), _nobody, tree)
        async with tree.trial() as trial:
            return await work(home, home.inside(trial))

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIRTUAL_ENV", sys.prefix)
        return asyncio.run(go())


async def write_all(trial: Trial, files: Mapping[str, str | None]) -> None:
    for path, text in files.items():
        await trial.write(path, None if text is None else text.encode())


def judge(root: Path, files: Mapping[str, str | None], make: Callable[[Run], Gate]) -> Verdict:
    """A gate's verdict on these files, written over the project; `make` gets the run on the tree itself."""

    async def work(home: Run, run: Run) -> Verdict:
        assert isinstance(run.workspace, Trial)
        await write_all(run.workspace, files)
        return await make(home)(run, await run.workspace.changes())

    return in_trial(root, work)
