"""Show a council as it goes: every word streams in its speaker's block, and blocks do not mix."""

import asyncio
import re
import sys
from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field

from kith.core.decisions import Claimed, Concluded, Convened
from kith.core.events import Delta, Event, Progress, Said, Stepped
from kith.core.values import Answer, Question
from kith.features.confer.council_lines import (
    WIDTH,
    block,
    claim_lines,
    colour,
    conclusion_lines,
    heading,
    margin,
)
from kith.features.confer.history import speaker_of
from kith.terminal.rendering.activity import FeatureLine
from kith.terminal.terminal import PlainVoice, TerminalVoice
from kith.view.printing import printable

# Words as they arrive, broken between words where a line of the terminal ends.

HELD = 24  # columns of a word that is waited for; scripts without blanks would wait for ever


class WordFlow(Struct):
    """A text that comes in pieces: `take` gives what can be shown now, `end` the rest.

    A word is shown when it is whole, since only then it is known whether it fits on the line.
    """

    width: int
    _column: int = 0
    _word: str = ""

    def take(self, piece: str) -> str:
        """Return the text to show after one more piece."""
        *whole, last = re.split(r"(\s)", self._word + piece)
        shown = "".join(map(self._place, whole))
        self._word = last
        return shown if self._columns(last) < HELD else shown + self.end()

    def end(self) -> str:
        """Return the rest of the buffered text."""
        word, self._word = self._word, ""
        return self._place(word)

    def _place(self, part: str) -> str:
        """A word or a blank at the end of what is shown, on a new line if it must be."""
        if part == "\n":
            self._column = 0
            return part
        columns = self._columns(part)
        if self._column + columns <= self.width or not self._column:
            self._column += columns
            return part
        if part.isspace():  # the next word begins a line
            return ""
        self._column = columns
        return f"\n{part}"

    def _columns(self, part: str) -> int:
        from rich.cells import cell_len

        return 8 if part == "\t" else cell_len(part)


JUDGE: Final = "judge"
_ROUNDS: Final = {"propose": "proposes", "criticise": "criticises", "revise": "revises", JUDGE: "judges"}


class PlainCouncil:
    """Lines for pipes and files: a block when it is whole."""

    def __init__(self) -> None:
        self._voice, self._members = PlainVoice(), dict[str, str]()

    def hear(self, event: Event, path: tuple[str, ...]) -> None:
        if isinstance(event, Convened):
            self._members.update(event.members)
        label = speaker_of(event)
        if label and isinstance(event, Said):
            name = self._members.get(label, event.message.author)
            self._show([heading(label, name, _what(path)), *block(label, event.message)])
        elif isinstance(event, Claimed | Concluded):
            self._show(_lines_of(event))
        else:
            self._voice.hear(event, path)

    async def answer(self, question: Question) -> Answer:
        return await self._voice.answer(question)

    def tell(self, text: str) -> None:
        self._show([("", text)])

    def close(self) -> None:
        """Nothing is held open."""

    def _show(self, lines: Iterable[FeatureLine]) -> None:
        for _, text in lines:
            print(text, file=sys.stderr)
        sys.stderr.flush()


class SpeakerBlock(Struct):
    """A speaker's text; `words` wait while another block is on the screen."""

    label: str
    title: FeatureLine
    words: list[str] = field(default_factory=list)
    over: bool = False


class TerminalCouncil:
    """Words as they come, on a terminal (stderr). Who speaks at the same time waits for the block to end."""

    def __init__(self) -> None:
        self.voice = TerminalVoice()
        self._members: dict[str, str] = {}
        self._queue: list[SpeakerBlock | tuple[Event, tuple[str, ...]]] = []  # the first is on the screen
        self._flow = WordFlow(WIDTH)
        self._margin_due = True
        self._held: list[tuple[Event, tuple[str, ...]]] | None = None  # what is told while a question is open
        self._asking = asyncio.Lock()

    def hear(self, event: Event, path: tuple[str, ...]) -> None:
        if self._held is not None:
            self._held.append((event, path))
            return
        if isinstance(event, Convened):
            self._members.update(event.members)
        label = path[-1] if path and path[-1] in (*self._members, JUDGE) else ""
        if label and isinstance(event, Delta):
            if event.kind == "text":
                self._take(label, printable(event.text), path)
        elif label and isinstance(event, Stepped) and event.state != "began":
            self._finish(label)
        elif author := speaker_of(
            event
        ):  # it was shown as it came; what the same one says next is another reply
            if self._speaking(author):
                self._take(author, "\n", path)
        elif not self._queue:
            self._hear_other(event, path)
        elif not isinstance(event, Progress | Delta | Stepped):
            self._queue.append((event, path))

    async def answer(self, question: Question) -> Answer:
        """Put a question to the person; what others say meanwhile is shown after the answer."""
        async with self._asking:
            self.close()
            self._held = []
            try:
                return await self.voice.answer(question)
            finally:
                held, self._held = self._held, None
                for event, path in held:
                    self.hear(event, path)

    def tell(self, text: str) -> None:
        self.close()
        self.voice.console.print(text, style="yellow", markup=False)

    def close(self) -> None:
        """End the block on the screen, show what waits, and take the status away."""
        for item in self._queue:
            if isinstance(item, SpeakerBlock):
                item.over = True
        if self._queue:
            self._end_live()
        self.voice.close()

    # --- blocks ------------------------------------------------------------------------------

    def _speaking(self, label: str) -> SpeakerBlock | None:
        """The block that somebody's words go to, while it is open."""
        blocks = (each for each in self._queue if isinstance(each, SpeakerBlock) and each.label == label)
        return next((each for each in blocks if not each.over), None)

    def _take(self, label: str, words: str, path: tuple[str, ...]) -> None:
        speaks = self._speaking(label)
        if speaks is None:
            title = heading(label, self._members.get(label, ""), _what(path))
            speaks = SpeakerBlock(label, title)
            self._queue.append(speaks)
            if self._queue[0] is speaks:
                self._begin(speaks)
        if self._queue[0] is speaks:
            self._write(label, words)
        else:
            speaks.words.append(words)

    def _finish(self, label: str) -> None:
        for item in self._queue:
            if isinstance(item, SpeakerBlock) and item.label == label:
                item.over = True
        first = self._queue[0] if self._queue else None
        if isinstance(first, SpeakerBlock) and first.over:
            self._end_live()

    def _begin(self, speaks: SpeakerBlock) -> None:
        self.voice.close()
        style, text = speaks.title
        self.voice.console.print(text, style=style, markup=False)
        self._flow, self._margin_due = WordFlow(WIDTH - len(margin(speaks.label))), True
        self._write(speaks.label, "".join(speaks.words))

    def _end_live(self) -> None:
        """End the block on the screen, and show what waited behind it, up to one that is not over."""
        live = self._queue.pop(0)
        if isinstance(live, SpeakerBlock):
            self._put(live.label, self._flow.end())
            if not self._margin_due:
                self.voice.console.print()
        while self._queue:
            item = self._queue[0]
            if isinstance(item, SpeakerBlock):
                self._begin(item)
                if item.over:
                    self._end_live()
                return
            self._queue.pop(0)
            self._hear_other(*item)

    def _write(self, label: str, words: str) -> None:
        self._put(label, self._flow.take(words.replace("\r", "")))

    def _put(self, label: str, text: str) -> None:
        """Text with the speaker's letter before each line; empty lines at the beginning are left out."""
        console, style = self.voice.console, colour(label)
        for piece in text.splitlines(keepends=True):
            if self._margin_due and not piece.strip():
                continue
            if self._margin_due:
                console.print(margin(label), style=style, end="", markup=False)
            console.print(piece.rstrip("\n"), style=style, end="", markup=False, soft_wrap=True)
            self._margin_due = piece.endswith("\n")
            if self._margin_due:
                console.print()

    def _hear_other(self, event: Event, path: tuple[str, ...]) -> None:
        if not isinstance(event, Claimed | Concluded):
            self.voice.hear(event, path)
            return
        self.voice.close()
        for style, text in _lines_of(event):
            self.voice.console.print(text, style=style, markup=False)


def _lines_of(event: Claimed | Concluded) -> Iterable[FeatureLine]:
    return claim_lines(event) if isinstance(event, Claimed) else conclusion_lines(event)


def _what(path: tuple[str, ...]) -> str:
    """Return a speaker's activity in this step."""
    return next((_ROUNDS[name] for name in reversed(path) if name in _ROUNDS), "")
