"""Lines that were sent before: Up and Down, suggestions while one writes, and the search by Ctrl-R."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from prompt_toolkit.auto_suggest import AutoSuggest, Suggestion
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.history import History

from kith.memory.typed import Typed, TypedLines
from kith.terminal.conversation.paste import Pastes


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
