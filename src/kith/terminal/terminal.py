"""The terminal: what happens as calm lines, a status while things take time, and questions by key."""

import asyncio
import shlex
import sys
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kith.core.events import Asked, Event
from kith.core.values import Answer, Question
from kith.terminal.console_screen import ConsoleScreen
from kith.terminal.questions import ask
from kith.terminal.rendering.activity import feature_lines, tool_line
from kith.view.evidence import word_held_back
from kith.view.items import Item, Items, ToolUse
from kith.view.lines import wrapped
from kith.view.printing import printable
from kith.view.wording import STYLES, line_of, status_of

if TYPE_CHECKING:
    from rich.status import Status
    from rich.text import Text

_YES = "the terminal, by --yes"
_NOBODY = "a run without a terminal"
LONG_S = 3.0  # what goes on for longer is shown with its seconds


class PlainVoice:
    """Lines on stderr, for pipes and files: no colour, no status, no questions."""

    def __init__(self) -> None:
        self._items = Items()

    def hear(self, event: Event, path: tuple[str, ...]) -> None:
        for changed in self._items.take(event, path):
            _, line = line_of(changed.item)
            if line:
                print(printable(line), file=sys.stderr, flush=True)
        for _, said in feature_lines(event):
            print(said, file=sys.stderr, flush=True)

    async def answer(self, question: Question) -> Answer:
        said = f"nobody could be asked{'; --yes agrees' if question.kind == 'plan' else ''}"
        if needs_person(question):
            said = _who_was_missing(question)
        return Answer("none" if question.kind == "change" else "no", said, by=_NOBODY, unasked=True)

    def close(self) -> None:
        """Nothing is held open."""


class ActivityLine:
    """The current activity for the status line, with its seconds once they are many."""

    def __init__(self, state: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.state, self._clock, self._since = state, clock, clock()

    def __rich__(self) -> "Text":
        from rich.text import Text

        seconds = self._clock() - self._since
        took = f"  {seconds:.0f} s" if seconds >= LONG_S else ""
        return Text(f"{self.state}{took}", no_wrap=True, overflow="ellipsis")


class TerminalVoice:
    """Lines, a live status and questions, on a terminal (stderr)."""

    def __init__(self) -> None:
        from rich.console import Console

        self.console: Console = Console(stderr=True, highlight=False)
        self._screen = ConsoleScreen(self.console)
        self._asking = asyncio.Lock()
        self._status: Status | None = None
        self._waiting: ActivityLine | None = None
        self._items = Items()

    def hear(self, event: Event, path: tuple[str, ...]) -> None:
        for changed in self._items.take(event, path):
            self._show(changed.item)
        for colour, said in feature_lines(event):
            self.console.print(said, style=colour, markup=False)
        state = status_of(event)
        if isinstance(event, Asked):
            self._stop_status()
        elif state and self.console.is_terminal:
            self._show_status(state)

    async def answer(self, question: Question) -> Answer:
        """Put a question to the person, once the one before it is answered."""
        async with self._asking:
            self.close()
            return await ask(self._screen, question)

    def close(self) -> None:
        """Take the status line away."""
        self._stop_status()

    def _show(self, item: Item) -> None:
        style, line = line_of(item)
        look = self._screen.look
        if line and isinstance(item, ToolUse) and not look.is_plain:
            drawn = tool_line(item, self.console.width, look.glyphs)
            self.console.print(look.palette.text(drawn), soft_wrap=True)
        elif line:
            words = printable(wrapped(line, self.console.file, indent="     "))
            self.console.print(words, style=STYLES[style], markup=False)

    def _show_status(self, state: str) -> None:
        if self._waiting is None or self._waiting.state != state:
            self._waiting = ActivityLine(state)
        if self._status is None:
            self._status = self.console.status(self._waiting, spinner="dots")
            self._status.start()
        else:
            self._status.update(self._waiting)

    def _stop_status(self) -> None:
        if self._status is not None:
            self._status.stop()
        self._status = self._waiting = None


Answerer = Callable[[Question], Awaitable[Answer]]


def needs_person(question: Question) -> bool:
    """True for a change of files that run by themselves, to which --yes does not agree."""
    return any(file.warning for file in question.files)


def _who_was_missing(question: Question) -> str:
    warned = [file for file in question.files if file.warning]
    named = " ".join(f"--allow-file {shlex.quote(file.path)}" for file in warned)
    which = "; ".join(f"{file.path}: {file.warning}" for file in warned)
    return f"Not applied without a person, who could not be asked ({which}); to allow it, add {named}."


def yes_to_changes(otherwise: Answerer) -> Answerer:
    """`--yes`: the change and the plan are accepted; other questions still go to the person.

    So does a change of files that run by themselves, unless they were all named beforehand.
    """

    async def answer(question: Question) -> Answer:
        if question.kind == "change" and question.held_back:
            said = await otherwise(question)
            return replace(said, choice="held", text=word_held_back(question)) if said.unasked else said
        if question.kind == "change" and not needs_person(question):
            return Answer("all", by=_YES)
        return Answer("yes", by=_YES) if question.kind == "plan" else await otherwise(question)

    return answer


def choose_voice(words: bool, yes: bool) -> tuple[PlainVoice | TerminalVoice, Answerer, bool]:
    """The reporter and the answerer of a run, and whether somebody answers.

    `words`: the result is for a person to read, not for a program; `yes` is --yes.
    """
    interactive = words and sys.stdin.isatty() and sys.stderr.isatty()
    voice = TerminalVoice() if sys.stderr.isatty() else PlainVoice()
    answer = voice.answer if interactive else PlainVoice().answer
    return voice, yes_to_changes(answer) if yes else answer, interactive or yes
