"""What happens in a session, as a conversation shows it: words as they come, a line for each tool."""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from kith.core.events import Asked, Delta, Event, RunEnded, Said, TodoSet, ToolEnded
from kith.core.values import TodoItem
from kith.faces.lines import STYLES, line_of, printable, status_of, todo_text
from kith.faces.speakers import council_lines

if TYPE_CHECKING:
    from kith.faces.conversation.terminal import Terminal

_SPINNER: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Voice:
    """Tells a terminal of events; everything is called in the thread that works."""

    def __init__(self, terminal: "Terminal", clock: Callable[[], float] = time.monotonic) -> None:
        self.terminal, self._clock = terminal, clock
        self.said = ""  # by the model, since its last message was whole
        self.shown = ""  # all its words of this task, so that nobody says them twice
        self.todo: tuple[TodoItem, ...] = ()
        self.todo_open = True
        self.details: list[ToolEnded] = []  # what Ctrl-O opens
        self._tail = ""
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
            self.details.append(event)
        if isinstance(event, Asked | RunEnded):
            self.rest()
        elif state := status_of(event):
            self._go_on(state)

    def set_todo(self, items: tuple[TodoItem, ...]) -> None:
        """The model's list, as a panel that is replaced in place."""
        self.todo = items
        unfinished = any(each.state != "done" for each in items)
        self.terminal.live("todo", printable(todo_text(items)) if self.todo_open and unfinished else None)

    def toggle_todo(self) -> None:
        """Show the list, or hide it."""
        self.todo_open = not self.todo_open
        self.set_todo(self.todo)

    def rest(self) -> None:
        """Nothing goes on any more."""
        self._end_words()
        self._state = ""
        self.terminal.live("activity", None)

    def _take(self, piece: str) -> None:
        self.said += piece
        self.shown += piece
        self.terminal.live("activity", None)
        self._state = ""
        *lines, self._tail = (self._tail + printable(piece)).split("\n")
        if lines:
            self.terminal.show(*lines)
        self.terminal.live("stream", self._tail)

    def _end_words(self) -> None:
        if self._tail:
            self.terminal.show(self._tail)
            self._tail = ""
        self.terminal.live("stream", None)

    def _tell(self, event: Event) -> None:
        for style, line in _lines(event):
            self._end_words()
            self.terminal.show(line, style=style)

    def _go_on(self, state: str) -> None:
        if state != self._state:
            self._end_words()
            self._state, self._since = state, self._clock()
            self.terminal.live("activity", self._activity)

    def _activity(self, width: int) -> str:
        if not self._state:
            return ""
        seconds = self._clock() - self._since
        spinner = _SPINNER[int(seconds * 10) % len(_SPINNER)]
        return f"{spinner} {self._state}  {seconds:.0f} s"[:width]


def _lines(event: Event) -> Iterator[tuple[str, str]]:
    style, line = line_of(event)
    if line:
        yield STYLES[style], printable(line)
    yield from council_lines(event)
