"""The background of the terminal: asked for once, and its answer kept apart from what is typed."""

import asyncio
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Literal, TextIO

from prompt_toolkit.input import Input, create_input

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

    def open_input(self) -> Input:
        """The keys of the terminal on stdin, without its answers."""
        if sys.platform == "win32" or not sys.stdin.isatty():
            return create_input()
        return _open_input(sys.stdin, AnswerFilter(self._take))

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


def _open_input(stdin: TextIO, answers: AnswerFilter) -> Input:
    from prompt_toolkit.input.posix_utils import PosixStdinReader
    from prompt_toolkit.input.vt100 import Vt100Input
    from prompt_toolkit.key_binding import KeyPress

    class Reader(PosixStdinReader):
        def read(self, count: int = 1024) -> str:
            return answers.take(super().read(count))

    class Keys(Vt100Input):
        def flush_keys(self) -> list[KeyPress]:
            self.vt100_parser.feed(answers.flush())
            return super().flush_keys()

    keys = Keys(stdin)
    keys.stdin_reader = Reader(keys.fileno(), encoding=keys.stdin.encoding)
    return keys
