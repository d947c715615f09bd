"""Tables of Markdown, drawn when they are whole."""

from collections.abc import Sequence
from typing import Final

from kith.terminal.rendering.glyphs import Glyphs
from kith.terminal.rendering.inline import read_spans
from kith.terminal.rendering.spans import Line, Span, columns_of, merged, pad, shown, wrap

_HELD: Final = 100  # rows that decide how wide the columns are; those after them are drawn as they come
_PREVIEWED: Final = 20  # rows that are seen of a table that is not over
_GAP: Final = 3  # columns between two cells, with the line in it
_NARROWEST: Final = 6  # columns of a cell, below which a table is shown as a list


class Table:
    """A table as its rows arrive; it is drawn once it is over, or long enough to know its columns."""

    def __init__(
        self,
        header: Sequence[str],
        aligns: Sequence[str],
        width: int,
        glyphs: Glyphs,
        first: Line,
        others: Line,
    ) -> None:
        self.columns = len(header)
        self._header, self._aligns = header, aligns
        self._room = max(width - columns_of(others), 20)
        self._glyphs, self._first, self._others = glyphs, first, others
        self._rows: list[Sequence[str]] = []
        self._widths: list[int] | None = None
        self._drawn = False

    def copy(self) -> "Table":
        """The same table, to be closed before its end."""
        other = Table.__new__(Table)
        other.__dict__.update(self.__dict__ | {"_rows": [*self._rows]})
        return other

    def take(self, row: Sequence[str]) -> list[Line]:
        """One more row; returns what can be drawn for good."""
        self._rows.append(row)
        return self._draw() if self._drawn or len(self._rows) >= _HELD else []

    def end(self, ended: bool = True) -> list[Line]:
        """The rest of the table; not `ended`: its rows as they are written."""
        if ended:
            return self._draw()
        rows = [self._header, *self._rows] if not self._drawn else self._rows
        sources = [f"| {' | '.join(row)} |" for row in rows[-_PREVIEWED:]]
        return [(*self._others, Span(shown(source)[: self._room], "dim")) for source in sources]

    def _draw(self) -> list[Line]:
        rows = [[_parsed(cell) for cell in row] for row in self._rows]
        self._rows = []
        head = [] if self._drawn else [[_parsed(cell, "strong") for cell in self._header]]
        if self._widths is None:
            self._widths = _fit_columns([*head, *rows], self._room)
        self._drawn = True
        if not self._widths:
            lines = [line for row in rows for line in self._listed(row)]
        else:
            lines = [line for row in head for line in self._row(row)]
            lines += [self._between()] if head else []
            lines += [line for row in rows for line in self._row(row)]
        first, self._first = self._first, self._others
        return [merged([*(self._others if number else first), *line]) for number, line in enumerate(lines)]

    def _row(self, row: Sequence[Line]) -> list[Line]:
        assert self._widths
        return _row_lines(row, self._widths, self._aligns, (Span(f" {self._glyphs.column} ", "rule"),))

    def _between(self) -> Line:
        assert self._widths
        line = self._glyphs.rule
        return (Span(f"{line}{self._glyphs.cross}{line}".join(line * w for w in self._widths), "rule"),)

    def _listed(self, row: Sequence[Line]) -> list[Line]:
        """A row of a table that is too wide for the screen: each cell with its header."""
        lines: list[Line] = []
        for name, cell in zip(self._header, row, strict=True):
            title = (*_parsed(name, "strong"), Span(": "))
            lines += wrap([*title, *cell], self._room, (), (Span("  "),))
        return [*lines, ()]


def _fit_columns(rows: Sequence[Sequence[Line]], room: int) -> list[int]:
    """The columns' widths so that a table fits; none when it cannot."""
    number = len(rows[0]) if rows else 0
    widths = [max(max(map(_widest, (row[at] for row in rows))), 1) for at in range(number)]
    left = room - _GAP * (number - 1)
    if left < min(sum(widths), number * _NARROWEST):
        return []
    while sum(widths) > left:  # the widest give first
        widest = max(widths)
        second = max((width for width in widths if width < widest), default=1)
        wide = [at for at, width in enumerate(widths) if width == widest]
        over = sum(widths) - left
        give = min(-(-over // len(wide)), widest - second) or 1
        for at in wide:
            widths[at] -= min(give, max(sum(widths) - left, 0))
    return widths


def _row_lines(row: Sequence[Line], widths: Sequence[int], aligns: Sequence[str], gap: Line) -> list[Line]:
    """One row of a table, on as many lines as its highest cell takes."""
    cells = [wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
    lines: list[Line] = []
    for number in range(max(map(len, cells))):
        spans: list[Span] = []
        for at, cell in enumerate(cells):
            part = cell[number] if number < len(cell) else ()
            is_last = at + 1 == len(cells)
            spans += part if is_last and aligns[at] == "left" else pad(part, widths[at], aligns[at])
            spans += () if is_last else gap
        lines.append(_stripped(merged(spans)))
    return lines


def _stripped(line: Line) -> Line:
    spans = list(line)
    while spans and not spans[-1].text.strip():
        spans.pop()
    return (*spans[:-1], Span(spans[-1].text.rstrip(), spans[-1].role)) if spans else ()


def _widest(cell: Line) -> int:
    return max(columns_of(line) for line in wrap(cell, 10_000))


def _parsed(cell: str, role: str = "") -> Line:
    return tuple(Span(text, f"{own} {role}".strip()) for text, own in read_spans(cell))
