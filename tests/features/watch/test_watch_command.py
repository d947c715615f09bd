"""`kith watch`: comments become tasks, one at a time; what they change is judged, shown and asked about."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from kith.agent.project import Project
from kith.core.event_loop import leave, run_loop
from kith.features.watch.command import Watch
from mending import DONE
from outside import Kith, StandIn
from waiting import soon, until

WATCHING = "Watching 5 files"


def edit(old: str, new: str, path: str = "utils.py") -> dict[str, Any]:
    return {"calls": [{"name": "edit", "args": {"path": path, "old": old, "new": new}}]}


def asked(folder: Path, comment: str, path: str = "utils.py") -> None:
    """Save a comment at the end of a file."""
    file = folder / path
    file.write_text(f"{file.read_text()}{comment}\n")


class Heard:
    """What kith has said so far."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture, self._said = capture, ["", ""]

    def out(self) -> str:
        return self._look()[0]

    def err(self) -> str:
        return self._look()[1]

    def _look(self) -> list[str]:
        now = self._capture.readouterr()
        self._said = [self._said[0] + now.out, self._said[1] + now.err]
        return self._said


@pytest.fixture
def heard(capfd: pytest.CaptureFixture[str]) -> Heard:
    return Heard(capfd)


def watch(folder: Path, heard: Heard, do: Callable[[], Awaitable[None]], beside: bool = False) -> None:
    """Let a person do things while kith watches; then Ctrl-C."""

    async def both() -> None:
        project = Project.open(folder, {"check": ("none",)})
        watching = asyncio.ensure_future(Watch(project, yes=True, beside=beside, pause_s=0.05).follow())
        try:
            await soon(lambda: WATCHING in heard.err())
            await do()
        finally:
            assert not watching.done() or watching.result()
            await leave(watching)

    run_loop(both())


def holds(file: Path, words: str) -> Callable[[], bool]:
    return lambda: words in file.read_text()


def test_a_task_is_done_and_its_comment_removed(kith: Kith, stand_in: StandIn, heard: Heard) -> None:
    file = kith.folder / "utils.py"
    server = stand_in([edit("# name it AI!\n", "LIMIT = 3\n"), DONE])

    async def person() -> None:
        asked(kith.folder, "# name it AI!")
        await soon(holds(file, "LIMIT = 3\n"))
        await soon(lambda: len(server.requests) == 2)

    watch(kith.folder, heard, person)
    assert "AI!" not in file.read_text()
    assert "# name it AI!" in str(server.requests[0]["messages"][-1])


def test_a_comment_that_is_left_goes_back_to_the_model(kith: Kith, stand_in: StandIn, heard: Heard) -> None:
    file = kith.folder / "utils.py"
    add, remove = edit("# name it AI!\n", "# name it AI!\nLIMIT = 3\n"), edit("# name it AI!\n", "")
    server = stand_in([add, DONE, remove, DONE])

    async def person() -> None:
        asked(kith.folder, "# name it AI!")
        await soon(holds(file, "LIMIT = 3\n"))

    watch(kith.folder, heard, person)
    assert "AI!" not in file.read_text()
    assert "still there" in str(server.requests[2]["messages"][-1])


@pytest.mark.slow
def test_notes_of_several_files_wait_for_the_task(kith: Kith, stand_in: StandIn, heard: Heard) -> None:
    """Comments that are saved meanwhile are the next task, and what the model writes is none."""
    file = kith.folder / "utils.py"
    model_writes = edit("# now do it AI!\n", "LIMIT = 3\n# and do more AI!\n")
    removes = edit("\n<!-- as here AI -->", "", "README.md")
    server = stand_in([model_writes, removes, DONE, edit("# next AI!\n", "NEXT = 4\n"), DONE])

    async def person() -> None:
        asked(kith.folder, "\n<!-- as here AI -->", "README.md")
        await soon(lambda: "README.md:5: noted" in heard.err())
        assert not server.requests
        asked(kith.folder, "# now do it AI!")
        await soon(lambda: len(server.requests) == 3)
        await soon(holds(file, "and do more"))
        asked(kith.folder, "# next AI!")
        await soon(holds(file, "NEXT = 4\n"))
        await asyncio.sleep(0.8)

    watch(kith.folder, heard, person)
    first = str(server.requests[0]["messages"][-1])
    assert "as here AI" in first and "now do it AI!" in first
    assert len(server.requests) == 5 and "and do more AI!" in file.read_text()


def test_a_question_is_answered_in_the_terminal(kith: Kith, stand_in: StandIn, heard: Heard) -> None:
    before = (kith.folder / "utils.py").read_text()
    stand_in(["It is the mean."])

    async def person() -> None:
        asked(kith.folder, "# what is it AI?")
        await soon(lambda: "It is the mean." in heard.out())

    watch(kith.folder, heard, person)
    assert (kith.folder / "utils.py").read_text() == f"{before}# what is it AI?\n"


def test_a_question_can_be_answered_beside_the_code(kith: Kith, stand_in: StandIn, heard: Heard) -> None:
    file = kith.folder / "utils.py"
    stand_in([edit("# what is it AI?\n", "# It is the mean.\n"), DONE])

    async def person() -> None:
        asked(kith.folder, "# what is it AI?")
        await soon(holds(file, "# It is the mean.\n"))

    watch(kith.folder, heard, person, beside=True)


# --- from outside ----------------------------------------------------------------------------------


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "kith", "watch", *words]
    process = subprocess.Popen(
        command,
        cwd=folder,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr and process.stderr.readline().startswith(WATCHING)
    return process


@pytest.mark.slow
def test_a_change_waits_where_nobody_can_be_asked_and_ctrl_c_ends(kith: Kith, stand_in: StandIn) -> None:
    stand_in([edit("# name it AI!\n", "LIMIT = 3\n"), DONE])
    process = start(kith.folder, "--check", "none")
    try:
        busy = kith("watch", code=75)
        assert "Another kith watch" in busy.stderr
        asked(kith.folder, "# name it AI!")
        assert process.stderr
        until(lambda: "The change waits" in process.stderr.readline())
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=60)
        assert process.returncode == 130 and "interrupted" in rest
    finally:
        process.kill()
    assert "AI!" in (kith.folder / "utils.py").read_text()
    assert "(waits)" in kith("sessions").stdout


@pytest.mark.slow
def test_ctrl_c_ends_a_task_at_once(kith: Kith, stand_in: StandIn) -> None:
    server = stand_in([{"text": "slow", "delay": 600.0}])
    process = start(kith.folder, "--beside")
    try:
        asked(kith.folder, "# name it AI!")
        until(lambda: server.requests)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 130
    finally:
        process.kill()
    assert "interrupted" in kith("sessions").stdout


def test_read_only_is_refused(kith: Kith) -> None:
    assert "read_only" in kith("watch", "--read-only", code=2).stderr
