"""Leaving a conversation: whoever leaves waits for no work, however soon after a task they do."""

import asyncio
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from kith.terminal.conversation.driver import Driver
from kith.terminal.conversation.talk import open_talk
from played_screen import HANG_S, PlayedScreen

LONG = {"calls": [{"name": "bash", "args": {"command": "sleep 600"}}]}


class LeftScreen(PlayedScreen):
    """A screen that tells when the person has left."""

    def __init__(self, answers: Sequence[object]) -> None:
        super().__init__(answers)
        self.left = asyncio.Event()
        self.close: Callable[[], None] = self.left.set
        self.begin: Callable[[], None] | None = None  # called once, just before a line is begun

    def leave(self, code: int = 0) -> None:
        self.left.set()
        self.close()

    def live(self, name: str, region: object) -> None:
        super().live(name, region)
        if name == "queue" and self.begin:
            begin, self.begin = self.begin, None
            begin()


def leave_after(root: Path, script: Path, lines: Sequence[str], taken: bool = False) -> LeftScreen:
    """Send these lines at once, and wait until they have left; `taken`: the last as the first begins."""
    script.write_text(json.dumps([LONG]))

    async def live() -> LeftScreen:
        screen = LeftScreen(())
        talk = open_talk(root, {"model": f"replay/{script}", "check": ("none",)}, screen, None)
        driver = Driver(talk)
        screen.close = driver.close
        working = asyncio.ensure_future(driver.live(lambda: None))
        await asyncio.wait_for(screen.rests.wait(), HANG_S)
        for line in lines[:-1]:
            driver.submit(line)
        if taken:
            screen.begin = partial(driver.submit, lines[-1])
        else:
            driver.submit(lines[-1])
        try:
            await asyncio.wait_for(screen.left.wait(), HANG_S)
        finally:
            driver.close()
        await asyncio.wait_for(working, HANG_S)
        return screen

    return asyncio.run(live())


@pytest.mark.parametrize("words", ["/quit", "exit"])
def test_words_that_leave_wait_for_no_task_that_has_not_begun(
    repository: Path, tmp_path: Path, words: str
) -> None:
    leave_after(repository, tmp_path / "conversation.json", ("do it", words))


@pytest.mark.parametrize("taken", [False, True])
def test_commands_that_were_sent_before_are_done_first(repository: Path, tmp_path: Path, taken: bool) -> None:
    lines = ("/rename kept", "/lost", "do it", "!touch never", "/quit")
    screen = leave_after(repository, tmp_path / "conversation.json", lines, taken)
    assert "Nothing was said here yet" in screen.text
    assert "There is no /lost" in screen.text
    assert not (repository / "never").exists()
