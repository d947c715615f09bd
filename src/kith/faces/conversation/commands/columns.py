"""Short tables for a conversation: what something is called, and what there is to say of it, side by side."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from kith.faces.rendering.spans import Line, Span, cells, columns_of, cut, pad, words, wrap

INDENT: Final = "  "
_GAP: Final = "  "
_WIDEST: Final = 100  # columns, so that no line is tiring to read
_LEAST: Final = 28  # for what is said; where there is no more, it stands below the name


def in_columns(
    rows: Sequence[tuple[str, str]], width: int, first: int = 0, role: str = "", name_role: str = ""
) -> list[Line]:
    """Rows of a name and words on it; the words are broken within their own column.

    `first`: the columns of the names at the least, which keeps several tables in line.
    """
    room = min(width, _WIDEST)
    wide = max([first, *(cells(name) for name, _ in rows)])
    beside = room - wide - len(INDENT + _GAP) >= _LEAST
    lines: list[Line] = []
    for name, said in rows:
        head = (Span(INDENT), *words(name, name_role))
        others = (Span(INDENT * 3),)
        if beside:
            head, others = pad(head, wide + len(INDENT + _GAP)), (Span(" " * (wide + len(INDENT + _GAP))),)
        else:
            lines += wrap(head, room, (), others)
            head = others
        parts = said.split("\n") if said or beside else ()
        for number, part in enumerate(parts):
            lines += wrap(words(part, role), room, others if number else head, others)
    return lines


def in_rows(rows: Sequence[Sequence[str]], width: int, more: str = "...") -> list[str]:
    """Rows of cells in columns, as lines of text; what does not fit is cut at the end of the last one."""
    return ["".join(span.text for span in line) for line in row_lines(rows, width, (), more)]


def row_lines(
    rows: Sequence[Sequence[str]], width: int, roles: Sequence[str] = (), more: str = "..."
) -> list[Line]:
    """The same as lines, each cell in its column's role."""
    plain = [
        [words(" ".join(cell.split()), role) for cell, role in zip_longest(row, roles, fillvalue="")]
        for row in rows
    ]
    wide = [max(map(columns_of, column)) for column in zip(*plain, strict=True)]
    lines = []
    for row in plain:
        padded = [(*pad(cell, room), Span(_GAP)) for cell, room in zip(row[:-1], wide, strict=False)]
        lines.append(cut(tuple(span for cell in (*padded, row[-1]) for span in cell), width, more))
    return lines
