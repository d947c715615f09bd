"""What happens in a session, as a conversation shows it: words as they come, a line for each tool."""

import time
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Final

from kith.core.events import Asked, Delta, Event, RunEnded, Said, TodoSet, ToolEnded
from kith.core.values import TodoItem
from kith.faces.lines import STYLES, line_of, printable, status_of, todo_text
from kith.faces.rendering.markdown import READABLE, MarkdownStream
from kith.faces.screen import LiveScreen
from kith.faces.speakers import council_lines

_DETAILS: Final = 50  # tools whose results Ctrl-O still shows


class Voice:
    """Tells a screen of events. Everything is called in the thread that works, but for what draws a region."""

    def __init__(self, screen: LiveScreen, clock: Callable[[], float] = time.monotonic) -> None:
        self.screen, self._clock = screen, clock
        self.said = ""  # by the model, since its last message was whole
        self.shown = ""  # all its words of this task, so that nobody says them twice
        self.todo: tuple[TodoItem, ...] = ()
        self.todo_open = True
        self.details: list[ToolEnded] = []  # what Ctrl-O opens
        self._words: MarkdownStream | None = None
        self._drawing = Lock()  # the words are drawn while more of them come
        self._state, self._since = "", 0.0

    def begin(self) -> None:
        """A new task."""
        self.said = self.shown = ""

    def hear(self, event: Event, path: tuple[str, ...]) -> None:
        """One event of the session."""
        planning = "plan" in path  # a plan arrives as JSON, and is shown in words when it is whole
        if isinstance(event, Delta) and event.kind == "text" and not planning:
            self._take(event.text)
            return
        if isinstance(event, Said):
            self.said = ""
        if isinstance(event, TodoSet):
            self.set_todo(event.items)
        elif not (isinstance(event, RunEnded) and event.status == "interrupted"):
            self._tell(event)
        if isinstance(event, ToolEnded):
            self.details = [*self.details[-_DETAILS:], event]
        if isinstance(event, Asked | RunEnded):
            self.rest()
        elif state := status_of(event):
            self._go_on(state)

    def set_todo(self, items: tuple[TodoItem, ...]) -> None:
        """The model's list, as a panel that is replaced in place."""
        self.todo = items
        unfinished = any(each.state != "done" for each in items)
        self.screen.live("todo", printable(todo_text(items)) if self.todo_open and unfinished else None)

    def toggle_todo(self) -> None:
        """Show the list, or hide it."""
        self.todo_open = not self.todo_open
        self.set_todo(self.todo)

    def rest(self) -> None:
        """Nothing goes on any more."""
        self._end_words()
        self._state = ""
        self.screen.live("activity", None)

    # --- words -------------------------------------------------------------------------------

    def _take(self, piece: str) -> None:
        self.said += piece
        self.shown += piece
        if self._words is None:
            self._state = ""
            self.screen.live("activity", None)
            self._words = MarkdownStream(min(self.screen.width, READABLE), self.screen.look.glyphs)
            self.screen.live("stream", self._tail)
        with self._drawing:
            lines = self._words.take(piece)
        if lines:
            self.screen.show_lines(lines)
        self.screen.redraw()

    def _tail(self, width: int) -> str:
        """The block that is not finished yet; drawn by the screen's thread."""
        with self._drawing:
            if self._words is None:
                return ""
            self._words.width = min(width, READABLE)
            return self.screen.look.paint(self._words.tail)

    def _end_words(self) -> None:
        if self._words is None:
            return
        with self._drawing:
            lines, self._words = self._words.end(), None
        self.screen.live("stream", None)
        self.screen.show_lines([*lines, ()])

    # --- all else ----------------------------------------------------------------------------

    def _tell(self, event: Event) -> None:
        for style, line in _lines(event):
            self._end_words()
            self.screen.show(line, style=style)

    def _go_on(self, state: str) -> None:
        if state != self._state:
            self._end_words()
            self._state, self._since = state, self._clock()
            self.screen.live("activity", self._activity)

    def _activity(self, width: int) -> str:
        if not (state := self._state):
            return ""
        seconds = self._clock() - self._since
        spinner = self.screen.look.glyphs.spinner
        return f"{spinner[int(seconds * 10) % len(spinner)]} {state}  {seconds:.0f} s"[:width]


def _lines(event: Event) -> Iterator[tuple[str, str]]:
    style, line = line_of(event)
    if line:
        yield STYLES[style], printable(line)
    yield from council_lines(event)
