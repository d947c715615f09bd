"""Ask a person for a key, a row or a line: the newest question first, and none answered by accident."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from msgspec import Struct, field
from prompt_toolkit.buffer import Buffer

from kith.terminal.rendering.panels import key_lines
from kith.terminal.rendering.spans import Line, cut, words
from kith.terminal.screen import LEAVE, SAY, plain_key

T = TypeVar("T")
ARMED_S: Final = 0.3  # a key that comes sooner was meant for something else
AGAIN_S: Final = 0.5  # one that comes so soon after an answer was meant for the same
WORD_S: Final = 0.3  # a letter that comes so soon after another one makes words of both
_OTHERWISE: Final = "or write what to do differently"
_BACK: Final = "Enter sends it, Esc goes back"
_PICK: Final = "arrows and Enter choose, Esc goes back"


def _now() -> float:
    return asyncio.get_running_loop().time()


class OpenPrompt(Struct, eq=False):
    """An open question: one of `keys`, one of `rows`, or a line where there is neither."""

    words: str
    answer: "asyncio.Future[Any]"
    keys: Sequence[str] = ()
    rows: Sequence[str] = ()
    chosen: int = 0
    follows: bool = False  # the key before opened it, so the next one may have been pressed already
    since: float = field(default_factory=_now)
    clear: bool = False  # the line was empty since the question could be seen, so what stands in it is for it


class PromptStack:
    """The questions of one terminal. All of it belongs to the terminal's thread; `changed` draws it anew."""

    def __init__(self, buffer: Buffer, changed: Callable[[], None]) -> None:
        self._buffer, self._changed = buffer, changed
        self._open: list[OpenPrompt] = []
        self._ahead = ""  # keys for what the last one opens
        self._held = ""  # a key that may turn out to begin a line
        self._timer: asyncio.TimerHandle | None = None
        self._said = ""  # words that came where a key was asked for
        self._answered = 0.0  # when a key was last an answer
        buffer.on_text_changed += self._look_at_line

    @property
    def _top(self) -> OpenPrompt | None:
        return next((each for each in reversed(self._open) if not each.answer.done()), None)

    # --- asking ------------------------------------------------------------------------------

    async def press(self, words: str, keys: Sequence[str], follows: bool) -> str:
        """One key; words and Enter in place of one count as `SAY`."""
        ahead, self._ahead = self._ahead, ""
        if follows and ahead[:1] in (*keys,):
            self._ahead = ahead[1:]
            self._note_answer()
            return ahead[0]
        return str(await self._wait(OpenPrompt(words, _future(), keys, follows=follows)))

    async def type_line(self, words: str, draft: str) -> str:
        """A line; "" after Esc. What stood in the line comes back afterwards."""
        if self._said:
            said, self._said = self._said, ""
            return said
        before, draft, self._ahead = self._buffer.document, draft + self._ahead, ""
        self._buffer.text = draft
        self._buffer.cursor_position = len(draft)
        try:
            return str(await self._wait(OpenPrompt(words, _future())))
        finally:
            self._buffer.document = before

    async def pick(self, words: str, rows: Sequence[str], chosen: int) -> int | None:
        """A row; None after Esc."""
        if not rows:
            return None
        picked: int | None = await self._wait(OpenPrompt(words, _future(), (), rows, chosen))
        return picked

    async def _wait(self, wanted: OpenPrompt) -> Any:
        self._open.append(wanted)
        asyncio.get_running_loop().call_later(0.0 if wanted.follows else ARMED_S, self._look_at_line)
        self._changed()
        try:
            return await wanted.answer
        finally:
            self._open.remove(wanted)
            self._drop_held()
            self._changed()

    # --- keys --------------------------------------------------------------------------------

    @property
    def asks(self) -> bool:
        """True if the next letter answers the question, and does not begin a line."""
        if self._buffer.text:
            return False
        if (top := self._top) is None:
            return self._is_soon
        return bool(top.keys) and (_is_armed(top) or self._is_soon)

    @property
    def picks(self) -> bool:
        return self._top is not None and bool(self._top.rows)

    @property
    def busy(self) -> bool:
        """True while a question is open."""
        return bool(self._open)

    @property
    def _is_soon(self) -> bool:
        """True if a key was an answer just now, so the next one does not begin a line."""
        return _now() - self._answered < AGAIN_S

    def take_key(self, key: str) -> bool:
        """A letter while something `asks`; False where it is none of the question's."""
        if (top := self._top) is None:
            self._ahead += key
            return True
        if not _is_armed(top) or key == self._held:
            return True  # it was pressed twice
        if self._held:  # a second letter: words, and no key
            self._buffer.insert_text(self._drop_held() + key)
            return True
        if key not in top.keys:
            return False
        if not top.follows:  # it may be the first letter of words that somebody writes without looking
            self._held = key
            self._timer = asyncio.get_running_loop().call_later(WORD_S, self._take_held)
        else:
            self._answer(top, key)
        return True

    def _take_held(self) -> None:
        """Nothing came behind the letter, so it was a key."""
        key, top = self._drop_held(), self._top
        if key and top and key in top.keys:
            self._answer(top, key)

    def _drop_held(self) -> str:
        if self._timer:
            self._timer.cancel()
        key, self._held, self._timer = self._held, "", None
        return key

    def _answer(self, top: OpenPrompt, key: str) -> None:
        self._note_answer()
        _settle(top.answer, key)

    def _note_answer(self) -> None:
        self._answered = _now()
        asyncio.get_running_loop().call_later(AGAIN_S, self._give_back)

    def _give_back(self) -> None:
        """No question came for the keys that were pressed ahead: they began a line."""
        if not self._open and not self._is_soon:
            self._begin_line()

    def _begin_line(self) -> None:
        ahead, self._ahead, self._answered = self._ahead, "", 0.0
        if ahead:
            self._buffer.insert_text(ahead)

    def move(self, rows: int) -> None:
        """Another row while one is picked."""
        if (top := self._top) and top.rows:
            top.chosen = max(0, min(top.chosen + rows, len(top.rows) - 1))
            self._changed()

    def give_up(self) -> bool:
        """Esc: no row, no line, or the key `LEAVE`; False where nothing of it was asked for."""
        top = self._top
        if top is None or (top.keys and LEAVE not in top.keys):
            return False
        _settle(top.answer, LEAVE if top.keys else None if top.rows else "")
        return True

    def send(self) -> bool:
        """Enter: the row, the line, or words in place of a key; False where it is something new."""
        top, said = self._top, self._buffer.text
        if top is None:
            self._begin_line()
            return False
        if self._held:
            self._take_held()
            return True
        if top.rows:
            if _is_armed(top):
                _settle(top.answer, top.chosen)
            return True
        if not said.strip():
            return True
        if not top.keys:
            _settle(top.answer, said)
            return True
        if key := _spelled(said, top):
            self._buffer.reset()
            self._answer(top, key)
            return True
        if not self._is_answer(top):
            top.clear = True  # it is sent, and the line empty
            return False
        self._said = said
        self._buffer.reset()
        _settle(top.answer, SAY)
        return True

    def _is_answer(self, top: OpenPrompt) -> bool:
        """True if the line was begun after the question was visible, and is not a command."""
        command = self._buffer.text.startswith(("/", "!"))
        return SAY in top.keys and top.clear and not command

    def _look_at_line(self, buffer: "Buffer | None" = None) -> None:
        if (top := self._top) and not self._buffer.text and _is_armed(top):
            top.clear = True

    # --- what is seen of it ------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """For the empty line."""
        top = self._top
        if top is None:
            return ""
        if top.rows:
            return _PICK
        return _OTHERWISE if SAY in top.keys else "" if top.keys else _BACK

    def lines(self, width: int, height: int, more: str) -> list[Line]:
        """The question on top, for a screen of this size."""
        top = self._top
        if top is None:
            return []
        lines = key_lines(top.words, width)
        if top.rows:
            return [*lines, *_rows(top, width, height, more)]
        if top.keys and self._buffer.text:
            lines.append(words(self._what_enter_does(top), "dim"))
        return [cut(line, width, more) for line in lines]

    def _what_enter_does(self, top: OpenPrompt) -> str:
        if self._is_answer(top):
            return "Enter answers with your line; emptied, a key does"
        return "Enter sends your line first; emptied, a key answers"


def _rows(top: OpenPrompt, width: int, height: int, more: str) -> list[Line]:
    """The rows around the chosen one."""
    room = max(3, height - 8)
    first = max(0, min(top.chosen - room // 2, len(top.rows) - room))
    shown = []
    for number, row in enumerate(top.rows[first : first + room], first):
        chosen = number == top.chosen
        shown.append(cut(words(f"{'>' if chosen else ' '} {row}", "strong" if chosen else ""), width, more))
    return shown


def _spelled(said: str, top: OpenPrompt) -> str:
    """The key of an answer that was written out: yes or no, or where words are nothing else; "" for none."""
    word = said.strip().lower()
    if top.clear and (key := plain_key(said, top.keys)):
        return key
    known = top.words.replace("[", "").replace("]", "").lower().split()
    return word[0] if top.clear and SAY not in top.keys and word[0] in top.keys and word in known else ""


def _is_armed(top: OpenPrompt) -> bool:
    """True if a question was visible long enough, or the key before it opened it."""
    return top.follows or _now() - top.since > ARMED_S


def _future() -> "asyncio.Future[Any]":
    return asyncio.get_running_loop().create_future()


def _settle(future: "asyncio.Future[T]", value: T) -> None:
    if not future.done():
        future.set_result(value)
