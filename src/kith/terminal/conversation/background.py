"""The background of the terminal: asked for once, and its answer kept apart from what is typed."""

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Literal

ASK: Final = "\x1b]11;?\x1b\\"  # OSC 11 (https://invisible-island.net/xterm/ctlseqs/ctlseqs.html)
_ANSWER: Final = re.compile(
    r"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})[^\x07\x1b]{0,8}(?:\x07|\x1b\\)"
)
_BEGUN: Final = re.compile(r"\x1b(?:\](?:1(?:1(?:;[^\x07\x1b]{0,32}\x1b?)?)?)?)?\Z")
_CERTAIN: Final = "\x1b]11;"  # no key sends this
_LEAVING_S: Final = 0.2  # an answer that comes later is left to the shell
Background = Literal["dark", "light"]


class AnswerFilter:
    """Take the terminal's answers out of what is typed, whenever and in whatever parts they come."""

    def __init__(self, hear: Callable[[Background], None]) -> None:
        self._hear, self._held = hear, ""

    def take(self, data: str) -> str:
        """Return what was typed; hold what may be the beginning of an answer."""
        data, self._held = self._held + data, ""
        for found in _ANSWER.finditer(data):
            self._hear(_brightness(found.groups()))
        data = _ANSWER.sub("", data)
        if begun := _BEGUN.search(data):
            data, self._held = data[: begun.start()], begun[0]
        return data

    def flush(self) -> str:
        """Return what was held once nothing followed, unless it can only be an answer."""
        if self._held.startswith(_CERTAIN):
            return ""
        held, self._held = self._held, ""
        return held


def _brightness(parts: tuple[str, ...]) -> Background:
    """By the luma of ITU-R BT.601."""
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in parts)
    return "light" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "dark"


class BackgroundQuestion:
    """The question to one terminal; `hear` is told the answer, however late it comes."""

    def __init__(self, hear: Callable[[Background], None]) -> None:
        self._hear = hear
        self._answered = asyncio.Event()
        self._asked = False
        self.answers = AnswerFilter(self._take)

    def ask(self) -> str:
        """The sequence that asks; nothing waits for the answer."""
        self._asked = True
        return ASK

    async def end(self) -> None:
        """Wait a moment for an answer that is on its way: the shell would take it for keys."""
        if self._asked:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._answered.wait(), _LEAVING_S)

    def _take(self, background: Background) -> None:
        self._answered.set()
        self._hear(background)
