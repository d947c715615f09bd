"""A piece of a change in a person's editor: the text that they get, and what they made of it."""

from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import Final

from kith.edits.forms import EditError, Hunk

_NO_NEWLINE: Final = "\\ No newline at end of file"
_WORDS: Final = """\
# A line with a blank before it stays, with "-" it goes, with "+" it comes.
# To keep a line that goes, make its "-" a blank. To leave out one that comes, delete it.
# New lines begin with "+". With nothing left, the part stays as it was.
"""


_RULES: Final = frozenset(_WORDS.split("\n")) - {""}


def draft_of(hunk: Hunk) -> str:
    """A piece as a text to be edited, with its rules behind it."""
    return f"{hunk.text}{_WORDS}"


def read_draft(text: str, hunk: Hunk) -> Hunk | None:
    """The piece as it was edited, at the same place; None where nothing was left of it.

    Lines that stay or go must be those of the file, but for blanks at their ends. Raises EditError, in one
    sentence for the person.
    """
    rows = [
        (number, row)
        for number, row in enumerate(text.split("\n"), 1)
        if row not in _RULES and not row.startswith(("@@", "\\"))
    ]
    blank: list[tuple[int, str]] = []
    while rows and not rows[-1][1].strip():
        blank.append(rows.pop())
    if not rows:
        return None
    # An empty line of the file at the end of the piece looks like one of the editor's own.
    rows += list(islice(blank, _empty_tail(hunk)))
    windows = all(line.endswith("\r") for line in hunk.lines if line[:1] in (" ", "-", "+"))
    lines = tuple(_read(rows, hunk, windows))
    return Hunk(lines, hunk.start, hunk.new_start)


def _empty_tail(hunk: Hunk) -> int:
    """The number of empty lines at the end of a piece that stay."""
    return sum(1 for _ in takewhile(lambda line: line[:1] == " " and not line.strip(), reversed(hunk.lines)))


def _read(rows: Sequence[tuple[int, str]], hunk: Hunk, windows: bool) -> Iterator[str]:
    """The numbered rows as a diff has them; what stays or goes is taken from the file itself."""
    open_ended = _open_ends(hunk)
    done = 0
    for number, row in rows:
        sign = row[:1] or " "
        if sign == "+":
            yield row if row.endswith("\r") or not windows else f"{row}\r"
        elif sign not in " -":
            raise EditError(f"Line {number} of the edited part begins with no sign: {row[:60]!r}.")
        elif done == len(hunk.old) or hunk.old[done].rstrip() != row[1:].rstrip():
            there = (
                f"where the file has {hunk.old[done][:60]!r}" if done < len(hunk.old) else "behind its end"
            )
            raise EditError(f"Line {number} of the edited part has {row[1:61]!r} {there}.")
        else:
            yield sign + hunk.old[done]
            done += 1
        if sign != "+" and done == len(hunk.old) and "old" in open_ended:
            yield _NO_NEWLINE
    if done < len(hunk.old):
        raise EditError(f"The edited part lacks a line of the file: {hunk.old[done][:60]!r}.")
    if "new" in open_ended and rows[-1][1][:1] == "+":
        yield _NO_NEWLINE


def _open_ends(hunk: Hunk) -> frozenset[str]:
    """Which sides of a piece end without a line break."""
    found: set[str] = set()
    for line, following in zip(hunk.lines, hunk.lines[1:], strict=False):
        if following.startswith("\\"):
            found |= {"old", "new"} if line[:1] == " " else {"old"} if line[:1] == "-" else {"new"}
    return frozenset(found)


def rows_of(hunk: Hunk) -> list[str]:
    """The rows that a piece leaves in the file, with their line breaks."""
    rows: list[str] = []
    open_ended = 0  # the row that has none, counted from 1
    kept = False
    for line in hunk.lines:
        if line.startswith("\\"):
            open_ended = len(rows) if kept else open_ended
        else:
            kept = line[:1] in (" ", "+")
            rows += [f"{line[1:]}\n"] if kept else []
    if rows and open_ended == len(rows):
        rows[-1] = rows[-1].removesuffix("\n")
    return rows
