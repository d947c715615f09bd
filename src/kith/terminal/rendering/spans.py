"""Lines of a screen as values: words with their roles, and how they are measured, broken and cut."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from kith.core.patterns import lazy_pattern
from kith.view.printing import printable

_NARROWEST: Final = 8  # columns that words get, however deep they stand
_TAB: Final = 4
_HEAPED: Final = 8  # characters of no width that count as a column: no heap of marks stands on one letter
# Scripts without blanks: a line may end after each of their characters.
WIDE: Final = (
    "[\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3"
    "\uf900-\ufaff\uff01-\uff60\U00020000-\U0003fffd]"
)
_PIECE: Final = lazy_pattern(rf"\n|[ \t]+|{WIDE}[\u0300-\u036f]*|(?:(?!{WIDE})[^ \t\n])+")
# What makes an emoji of a sign, or one of two; without it each is drawn by itself.
_JOINERS: Final = lazy_pattern("(?<=[\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f\u200d]+")


class Span(NamedTuple):
    """Words and the roles they play (`strong`, `code.keyword link`), for a palette to look up."""

    text: str
    role: str = ""


Line = tuple[Span, ...]
MARGIN: Final[Line] = (Span("  "),)
READABLE: Final = 100  # columns; longer lines of words are hard to read


class _Word(NamedTuple):
    spans: Line
    columns: int
    blank: Span | None  # the blank before it
    breaks: int = 0  # line breaks before it


def cells(text: str) -> int:
    """The columns that a printable text takes."""
    if text.isascii():
        return len(text)
    return _cells(text)


@lru_cache(4096)
def _cells(text: str) -> int:
    from rich.cells import cell_len

    return max(cell_len(text), len(text) // _HEAPED)


def columns_of(line: Iterable[Span]) -> int:
    """The columns that a line takes."""
    return sum(cells(span.text) for span in line)


def plain(line: Iterable[Span]) -> str:
    """A line's words alone."""
    return "".join(span.text for span in line)


def words(text: str, role: str = "") -> Line:
    """A line that is all of one role; foreign text is made printable."""
    return (Span(shown(text), role),) if text else ()


def shown(text: str) -> str:
    """Foreign text, printable, in one line, with blanks for tabs."""
    return printable(text).expandtabs(_TAB).replace("\n", " ")


def readable(text: str) -> str:
    """A model's words, printable; what only joins emoji is left out, as it deceives nobody."""
    return printable(_JOINERS.sub("", text)).replace("\t", "    ")


def set_in(lines: Iterable[Line]) -> list[Line]:
    """A model's lines behind a margin: where kith's own begin, none of them can look like one."""
    return [(*MARGIN, *line) if line else line for line in lines]


def merged(spans: Iterable[Span]) -> Line:
    """A line in as few spans as it takes."""
    out: list[Span] = []
    for span in spans:
        if out and out[-1].role == span.role:
            out[-1] = Span(out[-1].text + span.text, span.role)
        elif span.text:
            out.append(span)
    return tuple(out)


def cut(line: Line, width: int, more: str = "…") -> Line:
    """A line on at most so many columns; what is left out shows as `more`."""
    if columns_of(line) <= width:
        return line
    out, room = [], max(width - cells(more), 0)
    for span in line:
        head, _ = split_cells(span.text, room)
        out.append(Span(head, span.role))
        room -= cells(head)
        if head != span.text:
            break
    return merged([*out, Span(more, out[-1].role if out else "")])


def split_cells(text: str, room: int) -> tuple[str, str]:
    """As much of a text as fits in so many columns, and the rest."""
    if text.isascii():
        return text[:room], text[room:]
    used = 0
    for number, char in enumerate(text):
        used += cells(char)
        if max(used, (number + 1) // _HEAPED) > room:
            return text[:number], text[number:]
    return text, ""


def pad(line: Line, width: int, align: str = "left") -> Line:
    """A line with blanks to so many columns."""
    gap = max(width - columns_of(line), 0)
    before = {"right": gap, "center": gap // 2}.get(align, 0)
    return merged([Span(" " * before), *line, Span(" " * (gap - before))])


def wrap(line: Iterable[Span], width: int, first: Line = (), others: Line = ()) -> list[Line]:
    """A line on as many as it takes, broken between words; `first` and `others` are what they begin with.

    "\n" in a span ends a line. A line once followed by another one stays as it is, whatever words come later.
    """
    rows: list[Line] = []
    spans: list[Span] = []
    used = 0
    room = max(width - columns_of(first), _NARROWEST)
    narrow = max(width - columns_of(others), _NARROWEST)

    def end() -> None:
        nonlocal spans, used, room
        rows.append(merged([*(others if rows else first), *spans]))
        spans, used, room = [], 0, narrow

    for word in _words(line):
        for _ in range(word.breaks):
            end()
        blank = word.blank if word.blank and used else None
        if used and used + (1 if blank else 0) + word.columns > room:
            end()
            blank = None
        if blank:
            spans.append(blank)
            used += 1
        rest, left = word.spans, word.columns
        while used + left > room:  # a word longer than a line
            head, rest = _split(rest, room - used)
            spans += head
            left -= columns_of(head)
            end()
        spans += rest
        used += left
    if spans or not rows:
        end()
    return rows


def _split(spans: Line, room: int) -> tuple[Line, Line]:
    """A word in two parts, the first of them at most so wide, and never empty."""
    head: list[Span] = []
    for number, (text, role) in enumerate(spans):
        fits, left = split_cells(text, room)
        if left and not fits and not head:
            fits, left = left[:1], left[1:]
        head.append(Span(fits, role))
        room -= cells(fits)
        if left:
            return tuple(head), (Span(left, role), *spans[number + 1 :])
    return tuple(head), ()


def _words(line: Iterable[Span]) -> Iterator[_Word]:
    """Words as they may be parted by line ends; one may consist of several spans."""
    found: list[Span] = []
    breaks = 0
    blank: Span | None = None
    wide = False

    def word() -> _Word:
        return _Word(tuple(found), columns_of(found), blank, breaks)

    for text, role in line:
        for piece in _PIECE.findall(text):
            is_wide = not piece.isascii() and re.match(WIDE, piece) is not None
            if found and (piece.isspace() or is_wide or wide):
                yield word()
                found, blank, breaks = [], None, 0
            wide = is_wide
            if piece == "\n":
                breaks, blank = breaks + 1, None
            elif piece.isspace():
                blank = Span(" ", role)
            else:
                found.append(Span(piece, role))
    if found:
        yield word()
