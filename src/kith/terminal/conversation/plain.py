"""A conversation without anything that moves: for screen readers, and for terminals that only print."""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kith.core.event_loop import call_in, do_in
from kith.settings import Settings
from kith.terminal.conversation.completion import LineContext
from kith.terminal.conversation.live_screen import Region
from kith.terminal.editor import open_editor
from kith.terminal.rendering.look import Look
from kith.terminal.rendering.spans import Line
from kith.view.lines import wrapped
from kith.view.printing import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

T = TypeVar("T")
_WIDTH: Final = 80  # where nobody knows it
_TELL_S: Final = 10.0  # what goes on is said this often


class PlainTerminal:
    """A `LiveScreen` of lines in their order. What is typed is read line by line, also while it works.

    A line answers the question that is open: its first letter is the key, other words are the "s" of a
    question that has one.
    """

    def __init__(self, submit: Callable[[str], None], leave: Callable[[], None], look: Look) -> None:
        self._submit, self._leave, self.look = submit, leave, look
        self._answer: asyncio.Future[str] | None = None
        self._said = ""  # words that came where a key was asked for
        self._over: asyncio.Future[int] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._activity: Region | None = None
        self._since = 0.0  # when it began, or was said last
        self._queue = ""

    # --- life --------------------------------------------------------------------------------

    async def run(self, begin: Callable[[], None], end: Callable[[], Awaitable[None]]) -> int:
        """Until somebody calls `leave`; returns what that gave. `end` is called before the last words."""
        self._loop = asyncio.get_running_loop()
        self._over = self._loop.create_future()
        if sys.platform == "win32":
            Thread(target=self._read_for_ever, daemon=True).start()
        else:
            self._loop.add_reader(sys.stdin.fileno(), self._read)
        begin()
        self._tell_activity()
        try:
            return await self._over
        finally:
            if sys.platform != "win32":
                self._loop.remove_reader(sys.stdin.fileno())
            await end()
            with suppress(OSError):  # of the shell's next prompt, where there still is one
                print(flush=True)

    def leave(self, code: int = 0) -> None:
        """End `run`; from any thread."""
        self._in_loop(lambda: _settle(self._over, code))

    @property
    def is_suspended(self) -> bool:
        """An editor has the terminal only while nothing else is done."""
        return False

    # --- showing -----------------------------------------------------------------------------

    @property
    def width(self) -> int:
        try:
            return os.get_terminal_size().columns or _WIDTH
        except OSError:
            return _WIDTH

    def show(self, *what: "RenderableType", style: str = "") -> None:
        """Words; styles are for those who see them."""
        for each in what:
            if isinstance(each, str):
                print(wrapped(self.look.glyphs.spelled(each), sys.stdout), flush=True)
            else:
                from rich.console import Console

                Console(width=self.width, no_color=True, highlight=False, markup=False).print(each)

    def show_lines(self, lines: Iterable[Line]) -> None:
        """Lines of roles."""
        print(self.look.paint(lines), end="", flush=True)

    def gap(self) -> None:
        """A blank line."""
        print(flush=True)

    def live(self, name: str, region: Region | None) -> None:
        """Print activity that lasts, and new waits; other regions are not printed."""
        if name == "activity":
            self._since = time.monotonic() if region and not self._activity else self._since
            self._activity = region
        elif name == "queue" and isinstance(region, str) and region != self._queue:
            print(region, end="", flush=True)
        self._queue = region if name == "queue" and isinstance(region, str) else self._queue

    def _tell_activity(self) -> None:
        """Once in a while for as long as it lasts, without the sign that moves elsewhere."""
        now, activity = time.monotonic(), self._activity
        if activity and now - self._since > _TELL_S:
            self._since = now
            text = activity(self.width) if callable(activity) else activity
            print(text.partition("\n")[0].partition(" ")[2].rstrip(), flush=True)
        if self._loop and self._over and not self._over.done():
            self._loop.call_later(1.0, self._tell_activity)

    def prefill(self, words: str) -> None:
        """Print words that cannot be put into the line."""
        if words:
            print(f"  {printable(words)}", flush=True)

    def signal(self, sequence: str) -> None:
        """Send nothing: plain output has no control sequences."""

    def notify(self, words: str) -> None:
        """A screen reader reads the lines, and a pipe has no window."""

    def redraw(self) -> None:
        """Nothing is drawn twice."""

    def settle_in(self, chosen: Settings) -> None:
        """Lines are lines."""

    def know(self, make: Callable[[Callable[[], None]], LineContext]) -> None:
        """A plain line is the terminal's own."""

    def echo(self, words: str) -> None:
        """The terminal itself has shown it."""

    def ready(self) -> None:
        """The person is to say something."""
        print("> ", end="", flush=True)

    # --- asking ------------------------------------------------------------------------------

    async def press(self, words: str, keys: Sequence[str], *, follows: bool = False) -> str:
        """A line that begins with one of `keys`."""
        return await self._asked(self._press(words, keys))

    async def type_line(self, words: str, draft: str = "") -> str:
        """A line of words; an empty one leaves it."""
        if self._said:
            said, self._said = self._said, ""
            return said
        return await self._asked(self._line(f"{words} {f'[{draft}] ' if draft else ''}")) or draft

    async def pick(self, words: str, rows: Sequence[str], chosen: int = 0) -> int | None:
        """A row by its number."""
        for number, row in enumerate(rows, 1):
            print(f"{number:3} {printable(row)}")
        said = await self._asked(self._line(f"{words} (a number, or nothing) "))
        return int(said) - 1 if said.isdigit() and 0 < int(said) <= len(rows) else None

    async def edit(self, content: bytes, name: str) -> bytes:
        """A visit to the editor."""
        after, fault = await open_editor(content, name)
        if fault:
            self.show(fault)
        return after

    async def view(self, title: str, lines: Iterable[Line]) -> None:
        """All of it, at once."""
        self.show(title)
        self.show_lines(lines)

    async def _press(self, words: str, keys: Sequence[str]) -> str:
        while True:
            said = (await self._line(f"{words}: ")).strip()
            key = said[:1].lower()
            if key in keys and (len(said) == 1 or said.lower() in words.replace("[", "").replace("]", "")):
                return key
            if len(said) > 1 and "s" in keys:
                self._said = said
                return "s"

    async def _line(self, words: str) -> str:
        self._answer = asyncio.get_running_loop().create_future()
        print(printable(words), end="", flush=True)
        try:
            return await self._answer
        except asyncio.CancelledError:
            print(flush=True)  # what comes next is no answer
            raise
        finally:
            self._answer = None

    # --- reading -----------------------------------------------------------------------------

    def _read(self) -> None:
        self._take(sys.stdin.readline())

    def _take(self, line: str) -> None:
        if not line:
            self._leave()
        elif self._answer:
            _settle(self._answer, line.rstrip("\n"))
        elif line.strip():
            self._submit(line.rstrip("\n"))
        else:
            self.ready()

    def _read_for_ever(self) -> None:
        while True:  # a console of Windows has nothing to wait on but a line itself
            line = sys.stdin.readline()
            self._in_loop(partial(self._take, line))
            if not line:
                return

    def _in_loop(self, do: Callable[[], object]) -> None:
        call_in(self._loop, do)

    async def _asked(self, work: Coroutine[Any, Any, T]) -> T:
        assert self._loop is not None
        return await do_in(self._loop, work)


def _settle(future: "asyncio.Future[T] | None", value: T) -> None:
    if future and not future.done():
        future.set_result(value)
