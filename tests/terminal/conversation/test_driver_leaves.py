"""Leaving a conversation: whoever leaves waits for no work, however soon after a task they do."""

import asyncio
import json
from collections.abc import Sequence
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

    def leave(self, code: int = 0) -> None:
        self.left.set()


@pytest.mark.parametrize("words", ["/quit", "exit"])
def test_words_that_leave_wait_for_no_task_that_has_not_begun(
    repository: Path, tmp_path: Path, words: str
) -> None:
    script = tmp_path / "conversation.json"
    script.write_text(json.dumps([LONG]))

    async def live() -> None:
        screen = LeftScreen(())
        talk = open_talk(repository, {"model": f"replay/{script}", "check": ("none",)}, screen, None)
        driver = Driver(talk)
        working = asyncio.ensure_future(driver.live(lambda driver: None))
        await asyncio.wait_for(screen.rests.wait(), HANG_S)
        driver.submit("do it")
        driver.submit(words)  # before the first has begun
        try:
            await asyncio.wait_for(screen.left.wait(), HANG_S)
        finally:
            driver.close()
        await asyncio.wait_for(working, HANG_S)

    asyncio.run(live())
