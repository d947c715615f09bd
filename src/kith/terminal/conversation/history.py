"""Lines that were sent before, and the marks that stand for long pasted texts."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from prompt_toolkit.auto_suggest import AutoSuggest, Suggestion
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.history import History

from kith.memory.input_history import Typed, TypedLines

# Long texts that were pasted: a short mark stands for each in the line, and it is whole when it is
# sent.

_LINES, _LENGTH = 8, 1_200  # lines and characters from which on a text is folded
_SHORTEST: Final = 200  # characters of a text that is worth being looked for in a message


class Pastes:
    """Every text that was folded, by its mark: `[paste 1: 312 lines]`."""

    def __init__(self) -> None:
        self._held: dict[str, str] = {}

    def take(self, text: str, line: str) -> str:
        """The form of a pasted text in a `line`: itself, or its mark."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.rstrip("\n").count("\n") + 1
        if lines < _LINES and len(text) < _LENGTH:
            return text
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        number = sum(mark in line for mark in self._held) + 1
        while self._held.setdefault(mark := f"[paste {number}: {size}]", text) != text:
            number += 1
        return mark

    def learn(self, pasted: "dict[str, str]") -> None:
        """Marks of an earlier conversation; one that means something else by now keeps its new meaning."""
        for mark, text in pasted.items():
            self._held.setdefault(mark, text)

    def used_in(self, line: str) -> dict[str, str]:
        """The marks in a line, and what they stand for."""
        return {mark: text for mark, text in self._held.items() if mark in line}

    def unfold(self, line: str) -> str:
        """The line with the texts in place of their marks."""
        for mark, text in self.used_in(line).items():
            line = line.replace(mark, text)
        return line

    def fold(self, words: str) -> str:
        """A message as it was written: with the marks."""
        for mark, text in self._held.items():
            if len(text) >= _SHORTEST or "\n" in text:
                words = words.replace(text, mark)
        return words

    def mark_before(self, line: str) -> str:
        """The mark that a line ends in; "" where it ends in none."""
        return next((mark for mark in self._held if line.endswith(mark)), "") if line.endswith("]") else ""


class LineHistory(History):
    """The lines of this conversation at once, those of earlier ones in this folder once they are `known`.

    What `keeps` says no to (it holds a secret), or begins with a blank, is not written to the disk.
    """

    def __init__(self, pastes: Pastes) -> None:
        super().__init__()
        self._pastes = pastes
        self._kept: TypedLines | None = None
        self._keeps: Callable[[str], bool] = lambda words: False
        self._session: Callable[[], str] = str
        self._loaded = True  # by the base class's words: nothing is to be loaded when a line is added
        self._is_known = asyncio.Event()
        self._writer: ThreadPoolExecutor | None = None

    def know(
        self,
        kept: TypedLines,
        lines: Iterable[Typed],
        keeps: Callable[[str], bool],
        session: Callable[[], str],
    ) -> None:
        """Take in what was typed before (the oldest first), and keep what comes; in the terminal's loop."""
        self._kept, self._keeps, self._session = kept, keeps, session
        for line in lines:
            self._pastes.learn(dict(line.pasted))
        sent = self._loaded_strings[::-1]
        earlier = [line.text for line in lines]
        self._loaded_strings += list(dict.fromkeys(reversed(earlier)))
        for words in sent:  # before anybody knew where to keep them
            self.store_string(words)
        self._is_known.set()

    async def load(self) -> AsyncGenerator[str, None]:
        """The newest first."""
        await self._is_known.wait()
        for line in tuple(self._loaded_strings):
            yield line

    def load_history_strings(self) -> Iterable[str]:
        """Nothing: `know` brings them."""
        return ()

    def append_string(self, string: str) -> None:
        """The same line twice is one."""
        if string in self._loaded_strings[:1]:
            return
        super().append_string(string)

    def store_string(self, string: str) -> None:
        """Keep it, without making the next key wait for the disk."""
        if self._kept is None or string[:1].isspace():
            return
        line = Typed(string, self._session(), self._pastes.used_in(string))
        self._writer = self._writer or ThreadPoolExecutor(1, "kith-typed")
        self._writer.submit(self._store, line, self._kept)

    def _store(self, line: Typed, kept: TypedLines) -> None:
        if all(map(self._keeps, (line.text, *line.pasted.values()))):
            kept.add(line)

    def close(self) -> None:
        """Wait until all is written."""
        if self._writer:
            self._writer.shutdown()

    def find(self, words: str, most: int) -> Sequence[str]:
        """The newest lines that hold all these words, whatever their case unless a capital is asked for."""
        wanted = words.split()
        found: list[str] = []
        for line in self._loaded_strings:
            if all(_holds(line, word) for word in wanted):
                found.append(line)
                if len(found) == most:
                    break
        return found


class SuggestEarlier(AutoSuggest):
    """The rest of the newest line that begins like this one."""

    def __init__(self, history: LineHistory, wanted: Callable[[], bool]) -> None:
        self._history, self._wanted = history, wanted

    def get_suggestion(self, buffer: Buffer, document: Document) -> Suggestion | None:
        """Nothing for a line of several, or where other suggestions are shown."""
        text = document.text
        if not text.strip() or "\n" in text or not document.is_cursor_at_the_end or not self._wanted():
            return None
        for line in self._history.get_strings()[::-1]:
            if line.startswith(text) and len(line) > len(text):
                return Suggestion(line[len(text) :].partition("\n")[0])
        return None


def _holds(line: str, word: str) -> bool:
    return word in (line if word != word.lower() else line.lower())
