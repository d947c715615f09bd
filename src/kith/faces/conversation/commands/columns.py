"""Short tables for a conversation: what something is called, and what there is to say of it, side by side."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from kith.faces.lines import printable

if TYPE_CHECKING:
    from rich.text import Text

_INDENT: Final = 2
_GAP: Final = 2
_LEAST: Final = 24  # columns for what is said; with fewer it stands below
_WIDEST: Final = 100  # columns, so that no line is tiring to read


def in_columns(rows: Sequence[Sequence[str]], width: int, first: int = 0, style: str = "") -> "Text":
    """Rows of a name and words on it, made printable; the words are broken within their own column.

    `first`: how wide the names are at the least, `style` that of the words.
    """
    from rich.text import Text

    plain = [(printable(name), printable(words)) for name, words in rows]
    room = min(width, _WIDEST)
    wide = max([first, *(len(name) for name, _ in plain)])
    wide = min(wide, room - _INDENT - _GAP - _LEAST)
    text = Text(no_wrap=True)
    for name, words in plain:
        for mark, line in _lines(name, words, wide, room):
            text.append(mark)
            text.append(f"{line}\n", style)
    text.right_crop(1)
    return text


def _lines(name: str, words: str, wide: int, room: int) -> Iterator[tuple[str, str]]:
    """A row as lines: what stands before the words, and the words."""
    begin = _INDENT + max(wide, 0) + _GAP
    if wide < _LEAST // 3 or len(name) > wide:
        yield f"{' ' * _INDENT}{name}", ""
        name, begin = "", begin if wide >= _LEAST // 3 else _INDENT * 2
    broken = [part for line in words.split("\n") for part in _broken(line, room - begin)]
    for line in broken if name or words else ():
        yield f"{' ' * _INDENT}{name}".ljust(begin), line
        name = ""


def _broken(line: str, room: int) -> list[str]:
    return textwrap.wrap(line, max(room, 16), break_on_hyphens=False) or [""]


def cut(text: str, room: int) -> str:
    """One printable line, as much of it as fits."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= room else f"{line[: max(room - 3, 1)].rstrip()}..."


def in_rows(rows: Iterable[Sequence[str]], width: int) -> list[str]:
    """Rows of cells as lines of the same columns; the last cell is cut where it does not fit.

    Every cell is made printable, and none but the last is ever cut.
    """
    plain = [[printable(cell) for cell in row] for row in rows]
    wide = [max(map(len, column)) for column in zip(*plain, strict=True)][:-1]
    taken = sum(wide) + _GAP * len(wide)
    lines = []
    for row in plain:
        cells = [cell.ljust(room) for cell, room in zip(row, wide, strict=False)]
        lines.append((" " * _GAP).join([*cells, cut(row[-1], width - taken)]).rstrip())
    return lines
