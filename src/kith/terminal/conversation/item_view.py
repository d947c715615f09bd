"""A session's items as a conversation shows them, and what their lines leave out, kept for Ctrl-O."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from textwrap import indent
from threading import Lock
from typing import Any, Final

from msgspec import Struct, field

from kith.agent.command_output import output_text
from kith.core.events import (
    Asked,
    Delta,
    Event,
    Notice,
    Progress,
    RunEnded,
    Said,
    ToolBegan,
)
from kith.core.values import TodoItem
from kith.terminal.conversation.live_screen import LiveScreen
from kith.terminal.rendering.activity import (
    ThinkingBlock,
    feature_lines,
    progress_line,
    running_line,
    spinner,
    stopped_line,
    tool_line,
)
from kith.terminal.rendering.markdown import MarkdownStream, room_for
from kith.terminal.rendering.panels import todo_lines
from kith.terminal.rendering.spans import Line, Span, cut, set_in, shown, split_cells
from kith.view.items import Item, Items, Note, RunResult, TodoList, ToolUse
from kith.view.printing import printable
from kith.view.wording import STYLES, line_of, status_of

# What the lines of a conversation leave out: thoughts, and what tools were given and said, for Ctrl-O.

_KEPT: Final = 60
_LONGEST: Final = 20_000  # characters of one
_EMPTY: Final = "Nothing was folded yet."
_INDENT: Final = "    "
_LIVE: Final = 4  # lines of a running command that are seen
_HEARD: Final = 4_000  # bytes of what it prints that are kept


class Details(Struct):
    """The last things that were folded into a line: a title, and all of it."""

    kept: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def keep_use(self, use: ToolUse) -> None:
        """Keep a tool's arguments and its answer."""
        if use.result:
            mark = "" if use.result.ok else "  (failed)"
            given = _arguments(use.call.args) if use.call else ()
            text = "\n".join((*given, "", use.result.text) if given else (use.result.text,))
            self.kept.append((f"{use.name}{mark}", text[:_LONGEST]))
        elif use.ended and use.ended.ran:
            self.kept.append((f"$ {use.ended.ran.command}", use.ended.ran.output[:_LONGEST]))

    def keep_thoughts(self, text: str) -> None:
        """Keep a model's thoughts."""
        self.kept.append(("thought", text.strip()[-_LONGEST:]))

    def lines(self, width: int) -> list[Line]:
        """All that is kept, the newest first."""
        found: list[Line] = []
        for title, text in reversed(self.kept):
            found += [(), (Span(shown(title), "title"),)]
            found += [line for row in text.split("\n") for line in _broken(row, width)]
        return found[1:] or [(Span(_EMPTY, "dim"),)]


def _arguments(args: Mapping[str, Any]) -> tuple[str, ...]:
    """`path: a.py`; a text of several lines stands below its name, as it is."""
    return tuple(_argument(key, value) for key, value in args.items())


def _argument(key: str, value: Any) -> str:
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    inner = text.removesuffix("\n")
    return f"{key}:\n{indent(inner, _INDENT)}" if "\n" in inner else f"{key}: {inner}"


def _broken(row: str, width: int) -> Iterator[Line]:
    """A row on as many lines as it takes, with every blank; what is broken goes on at its indentation."""
    row = shown(row).rstrip()
    deep = min(len(row) - len(row.lstrip(" ")), width // 2)
    begin, rest = " " * (2 + deep), row[deep:]
    while rest:
        head, left = split_cells(rest, max(width - len(begin), 1))
        blank = head.rfind(" ") + 1
        if left and blank:
            head, left = rest[:blank], rest[blank:]
        head, left = (head, left) if head else (rest[:1], rest[1:])
        yield (Span(begin + head),)
        rest = left
    if not row:
        yield ()


class Voice:
    """Tells a screen of events. All but what draws a region is called in the thread that works."""

    def __init__(self, screen: LiveScreen, clock: Callable[[], float] = time.monotonic) -> None:
        self.screen, self._clock = screen, clock
        self._shown: list[str] = []  # all its words of this task
        self.todo: tuple[TodoItem, ...] = ()
        self.todo_open = True
        self.details = Details()
        self._words: MarkdownStream | None = None
        self._thinking: ThinkingBlock | None = None
        self._drawing = Lock()  # words are drawn while more of them come
        self._now: Event | str | None = None  # what goes on
        self._since = 0.0
        self._output = b""  # the end of what a command has printed meanwhile
        self._items = Items()

    def has_shown(self, words: str) -> bool:
        """True if these words were streamed in this task, so that they are not shown twice."""
        return words.strip() in "".join(self._shown)

    def begin(self) -> None:
        """A new task."""
        self._shown = []

    def wait_for_model(self) -> None:
        """The model is looked for, or loaded; nothing of it was heard yet."""
        self._go_on("waiting for the model")

    def hear(self, event: Event, path: tuple[str, ...]) -> None:
        """One event of the session."""
        if isinstance(event, Delta):
            planning = "plan" in path  # a plan arrives as JSON, and is shown in words when it is whole
            self._take(event, planning)
            return
        if isinstance(event, Said):
            self._end_thoughts()
            self._end_words()
        for changed in self._items.take(event, path):
            self._show(changed.item)
        self._show_lines(feature_lines(event))
        self._follow(event)

    def hear_output(self, output: bytes) -> None:
        """More that a command prints; of kith's own programs nothing is shown."""
        if isinstance(self._now, ToolBegan) and self._now.effect in ("exec", "net"):
            self._output = (self._output + output)[-_HEARD:]

    def _keep_stopped(self) -> None:
        """Keep the last lines of a stopped tool on the screen."""
        began, seconds = self._now, self._clock() - self._since
        if isinstance(began, ToolBegan):
            look, width = self.screen.look, self.screen.width
            line = stopped_line(began, seconds, width, look.glyphs)
            self.screen.show_lines([line, *self._last_lines(width)])
            self.details.kept.append((f"{began.name}  {began.target}  (stopped)", self._printed()))

    def _printed(self) -> str:
        return printable(output_text(self._output).rstrip("\n"))

    def _last_lines(self, width: int) -> list[Line]:
        lines = self._printed().split("\n")[-_LIVE:] if self._output else []
        more = self.screen.look.glyphs.more
        return [cut((Span(f"{_INDENT}{shown(line)}", "dim"),), width, more) for line in lines]

    def set_todo(self, items: tuple[TodoItem, ...]) -> None:
        """The model's list, as a panel that is replaced in place."""
        self.todo = items
        self._show_todo()

    def toggle_todo(self) -> None:
        """Show the list, or hide it; called in the terminal's thread."""
        self.todo_open = not self.todo_open
        self._show_todo()

    def _show_todo(self) -> None:
        unfinished = any(each.state != "done" for each in self.todo)
        self.screen.live("todo", self._todo if self.todo_open and unfinished else None)

    def rest(self) -> None:
        """Nothing goes on any more."""
        self._end_thoughts()
        self._end_words()
        self._now = None
        self.screen.live("activity", None)

    def _todo(self, width: int) -> str:
        return self.screen.look.paint(todo_lines(self.todo, width, self.screen.look.glyphs))

    # --- words -------------------------------------------------------------------------------

    def _take(self, delta: Delta, planning: bool) -> None:
        if delta.kind == "thinking":
            self._think(delta.text)
        elif delta.kind == "text" and not planning:
            self._speak(delta.text)
        elif self._now != "writing":
            self._end_thoughts()
            self._go_on("writing a plan" if planning else "writing a call")

    def _speak(self, piece: str) -> None:
        self._end_thoughts()
        self._shown.append(piece)
        if self._words is None:
            self._go_on(None)
            self._words = MarkdownStream(room_for(self.screen.width), self.screen.look.glyphs)
            self.screen.live("stream", self._tail)
        with self._drawing:
            lines = self._words.take(piece)
        if lines:
            self.screen.show_lines(set_in(lines))
        self.screen.redraw()

    def _think(self, piece: str) -> None:
        if self._thinking is None:
            self._end_words()
            self._thinking = ThinkingBlock(self.screen.look.glyphs)
            self._go_on("thinking")
            self.screen.live("stream", self._tail)
        with self._drawing:
            self._thinking.take(piece)

    def _tail(self, width: int) -> str:
        """The block that is not finished yet; drawn by the screen's thread."""
        with self._drawing:
            if self._thinking:
                return self.screen.look.paint(self._thinking.tail(width))
            if self._words is None:
                return ""
            self._words.width = room_for(width)
            return self.screen.look.paint(set_in(self._words.tail))

    def _end_words(self) -> None:
        if self._words is None:
            return
        with self._drawing:
            lines, self._words = self._words.end(), None
        self.screen.live("stream", None)
        self.screen.show_lines(set_in(lines))
        self.screen.gap()

    def _end_thoughts(self) -> None:
        if self._thinking is None:
            return
        with self._drawing:
            thinking, self._thinking = self._thinking, None
        self.screen.live("stream", None)
        self.screen.show_lines([thinking.summary(self._clock() - self._since)])
        self.details.keep_thoughts(thinking.text)

    # --- all else ----------------------------------------------------------------------------

    def _show(self, item: Item) -> None:
        match item:
            case TodoList(entries=entries):
                self.set_todo(entries)
            case ToolUse(state="answered"):
                self.details.keep_use(item)
            case ToolUse() if line_of(item)[1]:
                self._end_words()
                self.screen.show_lines([tool_line(item, self.screen.width, self.screen.look.glyphs)])
            case RunResult() | Note(event=Notice(topic="model" | "resumed")):
                pass  # the conversation says it in words of its own
            case _:
                style, line = line_of(item, undo="/undo")
                if line:  # in a column with the tools
                    words = printable(line.removeprefix("  ")).replace("\n", "\n  ")
                    self._show_lines([(STYLES[style], words)])

    def _show_lines(self, lines: Iterable[tuple[str, str]]) -> None:
        for style, line in lines:
            self._end_words()
            self.screen.show(line, style=style)

    def _follow(self, event: Event) -> None:
        """Show the present activity after an event."""
        if isinstance(event, Asked | RunEnded):
            if isinstance(event, RunEnded):
                self._keep_stopped()
            self.rest()
        elif isinstance(event, ToolBegan | Progress):
            self._go_on(event)
        elif state := status_of(event):
            self._go_on(state)

    def _go_on(self, what: Event | str | None) -> None:
        same = isinstance(what, Progress) and isinstance(self._now, Progress) and what.what == self._now.what
        if what != self._now and not same:
            self._end_words()
            self._since, self._output = self._clock(), b""
        self._now = what
        self.screen.live("activity", self._activity if what else None)

    def _activity(self, width: int) -> str:
        """The line of what goes on; drawn by the screen's thread."""
        now, seconds, look = self._now, self._clock() - self._since, self.screen.look
        line: Line = ()
        if isinstance(now, ToolBegan):
            line = running_line(now, seconds, width, look.glyphs)
        elif isinstance(now, Progress):
            line = progress_line(now, seconds, width, look.glyphs)
        elif isinstance(now, str):
            sign = Span(f"{spinner(seconds, look.glyphs)} ", "accent")
            line = cut((sign, Span(f"{now}  "), Span(f"{seconds:.0f} s", "dim")), width, look.glyphs.more)
        return look.paint([line, *self._last_lines(width)]) if line else ""
