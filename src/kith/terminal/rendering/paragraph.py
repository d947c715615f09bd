"""A paragraph that is not over yet: each row of it is shown once nothing that may come can change it."""

from dataclasses import dataclass, replace

from kith.terminal.rendering.inline import REACH, find_cut, forced_cut, read_spans, with_ends
from kith.terminal.rendering.spans import Line, columns_of, merged, wrap


@dataclass(slots=True)
class Paragraph:
    """Words that are read for good but fill no row yet, and the source that is not certain."""

    first: Line  # what its first row begins with, and the others
    others: Line
    marks: bool
    source: str = ""
    _read: Line = ()
    _enough: int = 0  # characters of the source that make another look at it worth while

    def copy(self) -> "Paragraph":
        """The same words, to be ended before their end."""
        return replace(self)

    def add(self, text: str, width: int, is_last: bool = False) -> list[Line]:
        """More of its source; returns the rows that are certain now, unless the end follows at once."""
        self.source += text
        rows: list[Line] = []
        while len(self.source) > REACH:
            rows += self._advance(forced_cut(self.source[:REACH]), width)
            self._enough = 0
        fills = "\n" in self.source or columns_of(self._read) + len(self.source) > width // 2
        if fills and not is_last and len(self.source) > self._enough:
            at = find_cut(self.source)
            self._enough = 0 if at else len(self.source) * 5 // 4
            rows += self._advance(at, width)
        return rows

    def end(self, width: int, ended: bool = True) -> list[Line]:
        """The rows that are left; not `ended`: as they look so far."""
        source = self.source if ended else with_ends(self.source)
        line = merged([*self._read, *read_spans(source, self.marks)])
        return wrap(line, width, self.first, self.others)

    def _advance(self, at: int, width: int) -> list[Line]:
        """Read the source up to there, and keep its last row."""
        if not at:
            return []
        line = merged([*self._read, *read_spans(self.source[:at], self.marks)])
        self.source = self.source[at:]
        *rows, self._read = wrap(line, width - columns_of(self.first))
        lines = [merged([*(self.others if number else self.first), *row]) for number, row in enumerate(rows)]
        if rows:
            self.first = self.others
        return lines
