"""Rows to pick from: cells in columns, one line each."""

from collections.abc import Sequence
from typing import Final

from kith.terminal.rendering.spans import Line, Span, columns_of, cut, pad, plain, words

_GAP: Final = Span("  ")


def in_rows(rows: Sequence[Sequence[str]], width: int, more: str = "...") -> list[str]:
    """Each row as one printable line; only its last cell is cut where there is no room."""
    cells = [[words(" ".join(cell.split())) for cell in row] for row in rows]
    wide = [max(map(columns_of, column)) for column in zip(*cells, strict=True)]
    return [plain(_line(row, wide, width, more)) for row in cells]


def _line(row: Sequence[Line], wide: Sequence[int], width: int, more: str) -> Line:
    padded = [(*pad(cell, room), _GAP) for cell, room in zip(row[:-1], wide, strict=False)]
    return cut(tuple(span for cell in (*padded, row[-1]) for span in cell), width, more)
