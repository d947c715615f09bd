"""Documents: words, tables and blocks of lines, drawn for a terminal or as Markdown."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from kith.view.lines import WIDTH, paragraph
from kith.view.printing import on_one_line, printable

INSET: Final = "  "  # of all that stands below a title on a terminal


class Code(str):
    """A path, a name or a command: code in Markdown, and as it is on a terminal."""

    __slots__ = ()


Words = str | tuple[str, ...]  # pieces; those that are Code stand out in Markdown


class DataTable(Struct, frozen=True):
    """Rows whose first cell names them. A terminal shows the first `narrow` columns, the names last."""

    heads: tuple[str, ...]
    rows: Sequence[tuple[Words, ...]]
    narrow: int = 9


class Block(Struct, frozen=True):
    """Lines that stay as they are, on a terminal with an inset."""

    lines: Sequence[str]
    inset: str = ""


Part = Words | DataTable | Block


# --- on a terminal ---------------------------------------------------------------------------


def plain_lines(part: Part) -> Iterator[str]:
    """A part in lines of at most 78 columns, but for long names, which are never cut."""
    if isinstance(part, DataTable):
        yield from _columns(part)
    elif isinstance(part, Block):
        yield from (f"{part.inset}{printable(line)}" for line in part.lines)
    else:
        yield from paragraph(_plain(part), "", INSET, width=WIDTH - len(INSET))


def _columns(table: DataTable) -> Iterator[str]:
    """The names last: they may be long, and their last piece goes on a line of its own where it must."""
    rows = [table.heads, *table.rows]
    columns = [[_plain(row[at]) for row in rows] for at in range(1, min(len(table.heads), table.narrow))]
    aligned = [_align(column) for column in columns]
    for number, row in enumerate(rows):
        left = "".join(f"{column[number]}  " for column in aligned)
        name = _plain(row[0])
        if len(INSET + left + name) <= WIDTH or isinstance(row[0], str):
            yield left + name
        else:
            yield f"{left}{_plain(row[0][:-1])}".rstrip()
            yield f"{'':{len(left)}}{_plain(row[0][-1])}"


def _align(column: Sequence[str]) -> list[str]:
    """Figures to the right, words to the left."""
    width = max(map(len, column))
    return [cell.rjust(width) if _is_figure(column) else cell.ljust(width) for cell in column]


def _is_figure(column: Sequence[str]) -> bool:
    """True if all below the heading are numbers, or left out."""
    return all((cell.lstrip("$+-<") or "0")[0].isdecimal() for cell in column[1:])


def _plain(words: Words) -> str:
    return on_one_line(words if isinstance(words, str) else "".join(words))


# --- as Markdown -----------------------------------------------------------------------------


def markdown(part: Part) -> str:
    """A part as a block of Markdown, in which nothing foreign acts."""
    if isinstance(part, DataTable):
        return _table(part)
    if isinstance(part, Block):
        return "\n".join(f"    {visible(line)}" for line in part.lines)
    return _marked(part)


def _table(table: DataTable) -> str:
    cells = [[_marked(cell) for cell in row] for row in (table.heads, *table.rows)]
    columns = [*zip(*cells, strict=True)]
    rulers = ["---", *("---:" if _is_figure(column) else "---" for column in columns[1:])]
    head, *rows = (f"| {' | '.join(row)} |" for row in cells)
    return "\n".join([head, f"|{'|'.join(rulers)}|", *rows])


def _marked(words: Words) -> str:
    pieces = (words,) if isinstance(words, str) else words
    return "".join(code(each) if isinstance(each, Code) else inert(each) for each in pieces)


def inert(words: str) -> str:
    """Words on one line that make no tag, no column, no link and no picture."""
    plain = visible(words).replace("|", "\\|").replace("<", "&lt;")
    return re.sub(r"(\\*)\[", r"\1\1\\[", plain)


def visible(name: str) -> str:
    """A name as it is where every character shows, else with escapes for those that do not."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in name)


def code(name: str) -> str:
    """A name as Markdown code, safe inside a table too."""
    shown = visible(name).replace("|", "\\|")
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"
