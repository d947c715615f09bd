"""The line that a person writes: what was pasted, sent before and suggested, and a visit to the editor."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.utils import get_cwidth

from kith.terminal.conversation.completion import (
    LineContext,
    Sources,
    Suggestion,
    Suggestions,
    is_slow,
    search,
    suggest,
    wants_any,
)
from kith.terminal.conversation.history import LineHistory, Pastes, SuggestEarlier

# The suggestions below the line: which are shown, which one is chosen, and how they look.

MOST_ROWS: Final = 8
_GAP: Final = 2
_SHARE: Final = 0.6  # of the width, for what is suggested; its meaning gets the rest


class Menu(Struct):
    """`before` are the words that the suggestions are for; `title` says what they are, where that helps."""

    rows: tuple[Suggestion, ...] = ()
    chosen: int = -1
    before: str = ""
    title: str = ""

    @property
    def is_open(self) -> bool:
        return bool(self.rows or self.title)

    def show(self, found: Suggestions, before: str, title: str = "") -> None:
        """Other suggestions; which one is chosen begins anew."""
        self.rows, self.chosen = found.rows, found.first if found.rows else -1
        self.before, self.title = before, title

    def close(self) -> None:
        """No suggestions."""
        self.rows, self.chosen, self.title = (), -1, ""

    def move(self, rows: int) -> None:
        """Choose another one; beyond the last comes the first."""
        if self.rows:
            start = self.chosen if self.chosen >= 0 or rows > 0 else 0
            self.chosen = (start + rows) % len(self.rows)

    def taken(self, before: str) -> Suggestion | None:
        """The suggestion that Enter takes after these words; None where they are newer than it."""
        return self.rows[self.chosen] if 0 <= self.chosen < len(self.rows) and before == self.before else None

    def fragments(self, width: int) -> StyleAndTextTuples:
        """As many rows as there is room for, around the chosen one."""
        first = max(0, min(self.chosen - MOST_ROWS + 2, len(self.rows) - MOST_ROWS))
        seen = self.rows[first : first + MOST_ROWS]
        column = min(max((get_cwidth(row.shown[:width]) for row in seen), default=0), int(width * _SHARE))
        lines: StyleAndTextTuples = (
            [("class:meaning", _cut(self.title, width)), ("", "\n")] if self.title else []
        )
        for number, row in enumerate(seen, first):
            lines += _row(row, column, width, chosen=number == self.chosen)
        return lines[:-1]


def _row(row: Suggestion, column: int, width: int, *, chosen: bool) -> StyleAndTextTuples:
    mark, style = ("> ", "class:chosen") if chosen else ("  ", "")
    room = width - len(mark) - (column + _GAP if row.meaning else 0) - 1
    if not row.meaning:
        return [(style, mark + _cut(row.shown, width - len(mark) - 1)), ("", "\n")]
    shown = _cut(row.shown, column)
    blanks = " " * (column - get_cwidth(shown) + _GAP)
    meaning = _cut(row.meaning, room) if room > 0 else ""
    return [(style, mark + shown), ("", blanks), ("class:meaning", meaning), ("", "\n")]


def _cut(text: str, width: int) -> str:
    """The text, or its beginning with dots where it is wider; a path loses its beginning instead."""
    if len(text) <= width and get_cwidth(text) <= width:
        return text
    is_path = "/" in text and " " not in text
    text = text[-width:] if is_path else text[: max(width, 0)]
    while text and get_cwidth(text) > width - 2:
        text = text[1:] if is_path else text[:-1]
    return f"..{text}" if is_path else f"{text}.."


_PAUSE_S: Final = 0.06
_SEARCHING: Final = "Sent before: Enter takes one, Ctrl-R the next, Esc none"


class InputLine:
    """All of it belongs to the terminal's thread; `changed` draws it anew. `is_free`: nothing is asked.

    `is_dim`: what is only suggested looks different from what is written.
    """

    def __init__(self) -> None:
        self.pastes = Pastes()
        self.history = LineHistory(self.pastes)
        self.menu = Menu()
        self.sources = Sources(earlier=self.history.find)
        self.changed: Callable[[], None] = lambda: None
        self.is_free: Callable[[], bool] = lambda: True
        self.is_dim: Callable[[], bool] = lambda: True
        self.buffer = Buffer(
            multiline=True,
            history=self.history,
            enable_history_search=True,
            auto_suggest=SuggestEarlier(self.history, lambda: self.is_dim() and not self.menu.is_open),
        )
        self._left: Document | None = None  # the line as it was before lines sent before were searched
        self._browsing = False
        self._looking = False
        self.buffer.on_text_changed += lambda _: self._note_text()

    def know(self, context: LineContext) -> None:
        """Suggest and remember from now on what belongs to the folder."""
        files = context.files
        self.sources = Sources(lambda: files.paths, context.offers, self.history.find)
        self.history.know(context.kept, context.earlier, context.keeps, context.session)
        files.refresh()

    # --- what is suggested -------------------------------------------------------------------

    @property
    def searches(self) -> bool:
        """True while earlier lines are searched."""
        return self._left is not None

    @property
    def _before(self) -> str:
        return self.buffer.document.text_before_cursor

    def _note_text(self) -> None:
        if self._browsing:
            self.menu.close()
        else:
            self.look()

    def look(self) -> None:
        """Suggest what fits to the line as it is now."""
        before = self._before
        if self.searches:
            self.menu.show(search(before, self.sources), before, _SEARCHING)
        elif not self.is_free() or not wants_any(before):
            self.menu.close()
        elif is_slow(before, self.sources):
            self._look_slowly()
        else:
            self.menu.show(suggest(before, self.sources), before)

    def look_again(self) -> None:
        """There may be more to suggest by now."""
        if self.menu.is_open or wants_any(self._before):
            self.look()
            self.changed()

    def _look_slowly(self) -> None:
        """Beside the keys, after a pause; what was suggested stays until there is something better."""
        if self._looking:
            return
        self._looking = True
        loop = asyncio.get_running_loop()

        def begin() -> None:
            before = self._before
            found = loop.run_in_executor(None, suggest, before, self.sources)
            found.add_done_callback(lambda found: self._take_found(before, found))

        loop.call_later(_PAUSE_S, begin)

    def _take_found(self, before: str, found: "asyncio.Future[Any]") -> None:
        self._looking = False
        if self._before == before and wants_any(before):
            self.menu.show(found.result(), before)
        else:
            self._note_text()
        self.changed()

    def accept(self) -> bool:
        """Enter: take what is chosen; False where the line is to be sent, with it or as it is."""
        row = self.menu.taken(self._before)
        if row is None:
            searched, self._left = self.searches, None
            self.menu.close()
            return searched
        self._take(row)
        return row.goes_on or row.whole

    def complete(self) -> None:
        """Tab: take what is chosen, or the first; look for something where nothing is suggested."""
        if not self.menu.rows:
            self.menu.show(suggest(self._before, self.sources, asked=True), self._before)
            if len(self.menu.rows) != 1:
                if not self.menu.rows and (ghost := self.buffer.suggestion):
                    self.buffer.insert_text(ghost.text)
                return
        self._take(self.menu.taken(self._before) or self.menu.rows[0])

    def _take(self, row: Suggestion) -> None:
        if row.whole:
            self._left = None
            self._set(row.text)
            return
        self.buffer.delete_before_cursor(row.replaces)
        self.buffer.insert_text(row.text + (" " if row.goes_on and row.text.startswith("/") else ""))

    def _set(self, text: str) -> None:
        """Replace the whole line, without suggestions for it."""
        self._browsing = True
        self.buffer.document = Document(text, len(text))
        self._browsing = False

    # --- lines sent before -------------------------------------------------------------------

    def up(self) -> None:
        """One suggestion, line, or line sent before up."""
        self._move(-1)

    def down(self) -> None:
        """The same downwards."""
        self._move(1)

    def _move(self, rows: int) -> None:
        if self.menu.rows:
            self.menu.move(rows)
            return
        self._browsing = True
        self.buffer.auto_up() if rows < 0 else self.buffer.auto_down()
        self._browsing = False

    def search(self) -> None:
        """Ctrl-R: search the lines that were sent before; again: the one before."""
        if self.searches:
            self.menu.move(1)
        else:
            self._left = self.buffer.document
            self.look()

    def give_up(self) -> bool:
        """Esc: no suggestions; False where there are none."""
        if self._left is not None:
            before, self._left = self._left, None
            self._set(before.text)
            self.buffer.cursor_position = before.cursor_position
            return True
        was_open = self.menu.is_open
        self.menu.close()
        return was_open

    # --- what is written ---------------------------------------------------------------------

    def paste(self, text: str) -> None:
        """Text that was not typed; a long one is folded."""
        self.buffer.insert_text(self.pastes.take(text, self.buffer.text))

    @property
    def mark_before(self) -> str:
        """The mark of a paste right before the cursor; "" where there is none."""
        return self.pastes.mark_before(self._before)

    def delete(self) -> None:
        """The whole mark before the cursor."""
        self.buffer.delete_before_cursor(len(self.mark_before))

    def break_line(self) -> bool:
        """A backslash before Enter goes on in the next line; False where there is none."""
        if not self._before.endswith("\\"):
            return False
        self.buffer.delete_before_cursor()
        self.buffer.insert_text("\n")
        return True

    def take(self) -> str:
        """The line as it is sent, with all that was pasted; it is empty then."""
        words = self.buffer.text.rstrip()
        self.history.append_string(words)
        self.buffer.reset()
        self.menu.close()
        return self.pastes.unfold(words)

    def fill(self, words: str) -> None:
        """Write words into the line, as from the editor."""
        self._set(self.pastes.fold(words.rstrip("\n")))
