"""Tables of Markdown, drawn when they are whole."""

import re
from collections.abc import Sequence
from typing import Final

from kith.terminal.rendering.glyphs import Glyphs
from kith.terminal.rendering.inline import parse_inline
from kith.terminal.rendering.spans import Line, Span, columns_of, merged, pad, wrap

_HELD: Final = 100  # rows that decide how wide the columns are; those after them are drawn as they come
_CELL: Final = re.compile(r"(?<!\\)\|")
_DELIMITER: Final = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_GAP: Final = 3  # columns between two cells, with the line in it
_NARROWEST: Final = 6  # columns of a cell, below which a table is shown as a list


def is_delimiter(line: str, header: str) -> bool:
    """True for a line like `|---|:-:|` that makes a table of the one above it."""
    return bool(_DELIMITER.match(line)) and "-" in line and len(_split(line)) == len(_split(header))


class Table:
    """A table as its rows arrive; it is drawn once it is over, or long enough to know its columns."""

    def __init__(
        self, header: str, delimiter: str, width: int, glyphs: Glyphs, first: Line = (), others: Line = ()
    ) -> None:
        self._header = _split(header)
        self._aligns = [_align(cell) for cell in _split(delimiter)]
        self._room = max(width - columns_of(others), 20)
        self._glyphs, self._first, self._others = glyphs, first, others
        self._rows: list[list[str]] = []
        self._sources = [header, delimiter]
        self._widths: list[int] | None = None
        self._drawn = False

    def copy(self) -> "Table":
        """The same table, to be closed before its end."""
        other = Table.__new__(Table)
        other.__dict__.update(self.__dict__ | {"_rows": [*self._rows], "_sources": self._sources[-20:]})
        return other

    def take(self, line: str) -> None:
        """One more row."""
        row = _split(line)[: len(self._header)]
        self._rows.append([*row, *[""] * (len(self._header) - len(row))])
        self._sources.append(line)

    def finished(self) -> list[Line]:
        """The rows that can be drawn for good."""
        if not self._drawn and len(self._rows) < _HELD:
            return []
        return self._draw()

    def close(self, ended: bool) -> list[Line]:
        """The rest of the table; not `ended`: its source, as it stands."""
        if ended:
            return self._draw()
        return [(*self._others, Span(line.strip()[: self._room], "dim")) for line in self._sources]

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
    atoms = parse_inline(cell.replace("\\|", "|")).atoms
    return tuple(Span(atom.text, f"{atom.role} {role}".strip()) for atom in atoms)


def _split(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip() for cell in _CELL.split(inner)]


def _align(cell: str) -> str:
    return "center" if cell[:1] == ":" == cell[-1:] else "right" if cell[-1:] == ":" else "left"
