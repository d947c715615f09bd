"""A build that is cut short goes on: it ends the same, and no finished step runs again."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections import Counter
from itertools import cycle
from pathlib import Path

import pytest
from msgspec.structs import replace

from building import PLAIN, Stage, snapshot
from kith.core.events import Advanced, Judged, Proposed, Said
from kith.features.build.state import ENDS
from plays import two_tasks

REFINING = replace(PLAIN, refine=True, commit=True)


def told(stage: Stage) -> list[str]:
    """What came of every step, what was said, and what the gates said: the build without its times."""
    lines = list[str]()
    for event in stage.events:
        match event:
            case Advanced():
                lines.append(f"{event.task} {event.step} {event.outcome} {event.attempt}")
            case Said(thread, message):
                lines.append(f"{thread}: {message.role}")
            case Judged():
                lines.append(f"{event.gate} {event.ok}")
            case Proposed(files):
                lines.append(str([file.diff for file in files]))
    return lines


def uninterrupted(folder: Path) -> Stage:
    stage = Stage(folder, two_tasks(), REFINING)
    assert stage.play().status == "done"
    return stage


def again(folder: Path, twin: Path) -> Path:
    """The same project, somewhere else."""
    return Path(shutil.copytree(folder, twin, symlinks=True))


@pytest.mark.slow
def test_stopped_after_every_step_it_ends_the_same(pyflakes: Path, tmp_path: Path) -> None:
    twin = again(pyflakes, tmp_path / "twin" / "pyflakes")
    whole = uninterrupted(pyflakes)
    asked = list[tuple[str, int]]()
    for number in range(1, len(whole.steps)):
        stage = Stage(twin, two_tasks(), REFINING, asked=asked, stop_after=number)
        with pytest.raises(asyncio.CancelledError):
            stage.play()
        assert len(stage.steps) == number, "no step ran after it was stopped, and none ran again"
    last = Stage(twin, two_tasks(), REFINING, asked=asked)
    assert last.play().status == "done"
    assert told(last) == told(whole)
    assert Counter(asked) == Counter(whole.asked)
    assert snapshot(twin) == snapshot(pyflakes)


DIE = """
import os, sys
from pathlib import Path
from building import Stage
from test_build_resumed import REFINING
from plays import two_tasks
from kith.core.events import is_transient
stage, last = Stage(Path(sys.argv[1]), two_tasks(), REFINING), int(sys.argv[2])
def hear(event, path):
    global last
    counts = type(event).__name__ == "Advanced" if sys.argv[3] == "step" else not is_transient(event)
    last -= counts
    if last == 0:
        os.kill(os.getpid(), 9)
stage.listeners.append(hear)
raise SystemExit(stage.play().status != "done")
"""


def killed(folder: Path, number: int, what: str) -> int:
    """Go on with the build in a process that is killed after so many events; 0 when it came to its end."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "VIRTUAL_ENV": sys.prefix}
    command = [sys.executable, "-c", DIE, str(folder), str(number), what]
    died = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert died.returncode in (0, -9), died.stderr
    return died.returncode


@pytest.mark.slow
def test_killed_after_every_step_it_ends_the_same(pyflakes: Path, tmp_path: Path) -> None:
    """Each process finishes one step, says so, and is killed."""
    twin = again(pyflakes, tmp_path / "twin" / "pyflakes")
    whole = uninterrupted(pyflakes)
    stage = Stage(twin, two_tasks(), REFINING)
    for number in range(1, len(whole.steps)):
        assert killed(twin, 1, "step") == -9
        assert len(stage.steps) == number
    assert stage.play().status == "done"
    assert told(stage) == told(whole)
    assert snapshot(twin) == snapshot(pyflakes)


@pytest.mark.slow
def test_killed_between_any_two_events_it_ends_the_same(pyflakes: Path, tmp_path: Path) -> None:
    """Inside a step things may be said or checked again, but no step that is over comes twice."""
    twin = again(pyflakes, tmp_path / "twin" / "pyflakes")
    whole = uninterrupted(pyflakes)
    stage = Stage(twin, two_tasks(), REFINING)
    counts = cycle((7, 25))  # no step tells more than 25 events, so every second process gets on
    while killed(twin, next(counts), "event") != 0:
        assert len(stage.events) < 2_000
    assert stage.steps == whole.steps
    assert snapshot(twin) == snapshot(pyflakes)
    assert stage.state.step in ENDS
