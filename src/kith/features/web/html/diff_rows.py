"""One piece of a diff as a table: numbered rows, coloured, with the words marked that changed.

The same rows are read one below the other or side by side: a style sheet decides. That is why each run of
removed and added rows is a body of its own, and why what stayed stands in a row twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, pairwise
from typing import Final

from kith.edits.pieces import Piece
from kith.edits.rows import Spans, changed_words
from kith.features.web.html.syntax import Token, colour_lines
from kith.view.markup import Html, text, visible

_OPEN_END: Final = '<i class="mark">no line break at the end</i>'


@dataclass(slots=True)
class Row:
    """A line of a piece: its sign, its words, and its numbers before and after ("" where it is not)."""

    sign: str
    words: str
    old: str = ""
    new: str = ""
    tokens: Sequence[Token] = ()
    changed: Spans | tuple[()] = ()
    open_end: bool = False


def table_html(piece: Piece, path: str, label: str, coloured: bool = True) -> Html:
    """A piece that is text; `label` says which one to people who do not see it."""
    rows = list(_read(piece))
    if coloured:
        _colour(rows, path)
    bodies = []
    for stayed, group in groupby(rows, key=lambda row: row.sign == " "):
        block = list(group)
        if not stayed:
            _mark_words(block)
        bodies.append(f"<tbody>{''.join(map(_row, block))}</tbody>")
    return Html(f'<table class="rows" aria-label="{text(label)}">{"".join(bodies)}</table>')


def has_crlf(piece: Piece) -> bool:
    """True when every line ends as on Windows: then the ends are not shown line by line."""
    return all(line.endswith("\r") for line in piece.lines if line[0] != "\\")


def _read(piece: Piece) -> Iterator[Row]:
    old, new = piece.start or 0, piece.new_start or 0
    end = "\r" if has_crlf(piece) else ""
    lines = (*piece.lines, "")
    for line, after in pairwise(lines):
        sign = line[0]
        if sign == "\\":
            continue
        is_old, is_new = sign in " -", sign in " +"
        words = visible(line[1:].removesuffix(end))
        yield Row(sign, words, str(old) * is_old, str(new) * is_new, open_end=after.startswith("\\"))
        old, new = old + is_old, new + is_new


def _colour(rows: Sequence[Row], path: str) -> None:
    """Each side is read as one text, so that what begins in one line and ends in another is known."""
    for sign in sorted({row.sign for row in rows} - {" "}, reverse=True):
        side = [row for row in rows if row.sign in (sign, " ")]
        for row, tokens in zip(side, colour_lines([row.words for row in side], path), strict=True):
            row.tokens = tokens


def _mark_words(block: Sequence[Row]) -> None:
    """Hold the removed rows against the added ones, one by one."""
    removed, added = ([row for row in block if row.sign == sign] for sign in "-+")
    for old, new in zip(removed, added, strict=False):
        old.changed, new.changed = changed_words(old.words, new.words)


def _row(row: Row) -> str:
    words = _marked(row) + (_OPEN_END if row.open_end else "")
    numbers = f"<td>{row.old}</td><td>{row.new}</td><td>{words}</td>"
    if row.sign == " ":
        return f'<tr>{numbers}<td aria-hidden="true">{words}</td></tr>'
    return f'<tr class="{"del" if row.sign == "-" else "add"}">{numbers}</tr>'


def _marked(row: Row) -> str:
    """The words of a row as HTML: colours, and what changed in the element that means it."""
    element = "del" if row.sign == "-" else "ins"
    out, done = [], 0
    for begin, end in row.changed:
        out += [_coloured(row, done, begin), f"<{element}>{_coloured(row, begin, end)}</{element}>"]
        done = end
    return "".join([*out, _coloured(row, done, len(row.words))])


def _coloured(row: Row, begin: int, end: int) -> str:
    out = []
    for left, right, name in row.tokens:
        left, right = max(left, begin), min(right, end)
        if left < right:
            out.append(
                f'{escape(row.words[begin:left])}<span class="{name}">{escape(row.words[left:right])}</span>'
            )
            begin = right
    return "".join([*out, escape(row.words[begin:end])])
