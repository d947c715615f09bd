"""The suggestions below the line: which are shown, which one is chosen, and how they look."""

from dataclasses import dataclass
from typing import Final

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.utils import get_cwidth

from kith.terminal.conversation.completion import Suggestion, Suggestions

MOST_ROWS: Final = 8
_GAP: Final = 2
_SHARE: Final = 0.6  # of the width, for what is suggested; its meaning gets the rest


@dataclass(slots=True)
class Menu:
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
        """What Enter takes behind these words; None where they are newer than the suggestions."""
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
