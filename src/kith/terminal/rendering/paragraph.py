"""Words that are not over yet: each line of them is shown once nothing that may come can change it."""

import re
from dataclasses import dataclass, replace
from typing import Final

from kith.terminal.rendering.inline import REACH, parse_inline
from kith.terminal.rendering.spans import WIDE, Line, Row, Span, columns_of, wrap_atoms

_WORD: Final = re.compile(rf"{WIDE}|\S*\s")


@dataclass(slots=True)
class Paragraph:
    """The source that is not shown yet, and what its lines begin with; a heading is one, too, with a role."""

    source: str
    first: Line
    others: Line
    role: str = ""
    before: str = " "  # the character before the source
    is_single: bool = True  # one line of source so far: it may become a heading, or the head of a table
    is_begun: bool = False  # lines of it were shown

    def copy(self) -> "Paragraph":
        """The same words, to be ended before their end."""
        return replace(self)

    def add(self, text: str, new_line: bool = False) -> None:
        """More of its source; `new_line`: what was there ended with a line."""
        self.source += text
        self.is_single = self.is_single and not new_line

    def take_certain(self, width: int, marks: bool) -> list[Line]:
        """The lines that stay as they are, whatever comes; never the last one."""
        is_short = 2 * len(self.source) + columns_of(self.first) <= width and "\n" not in self.source
        if is_short or (self.is_single and self.source.startswith("|")):
            return []
        inline = parse_inline(self.source, self.before, ended=False, marks=marks)
        rows = wrap_atoms(inline.atoms, width, self.first, self.others)
        last = len(rows) - 1
        while last > 0 and not (
            inline.may_part(rows[last].at) and self._is_whole(rows[last].at, inline.certain)
        ):
            last -= 1
        if last <= 0:
            return []
        at = rows[last].at
        self.source, self.before, self.first = self.source[at:], self.source[at - 1], self.others
        self.is_begun, self.is_single = True, False
        return self._lines(rows[:last])

    def take_all(self, width: int, marks: bool, ended: bool = True) -> list[Line]:
        """All lines that are left; not `ended`: as they look so far."""
        inline = parse_inline(self.source, self.before, ended=ended, marks=marks)
        return self._lines(wrap_atoms(inline.atoms, width, self.first, self.others))

    def _is_whole(self, at: int, certain: int) -> bool:
        """True when the word that begins there is as wide as it will be, and so on the right line."""
        rest = self.source[at:certain]
        return len(rest) > REACH or bool(_WORD.match(rest))

    def _lines(self, rows: list[Row]) -> list[Line]:
        if not self.role:
            return [row.line for row in rows]
        return [tuple(Span(text, f"{role} {self.role}".strip()) for text, role in row.line) for row in rows]
