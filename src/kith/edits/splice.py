"""Putting hunks into a text: every byte outside the added and removed lines stays as it is."""

from collections.abc import Sequence
from itertools import pairwise

from kith.edits.forms import EditError, Hunk
from kith.edits.match import Keys, Place, locate
from kith.edits.rows import BOM, split_keys, split_rows, terminator


def apply_hunks(text: str, hunks: Sequence[Hunk]) -> str:
    """The text with all hunks in place. Raises EditError when one has no place, or two the same.

    A byte order mark stays at the top, unless a hunk shows it (git's do): then the hunk decides.
    """
    mark = BOM if text.startswith(BOM) and not _show_mark(hunks) else ""
    text = text.removeprefix(mark)
    keys = Keys(split_keys(text))
    placed = sorted(_located(keys, hunks), key=lambda pair: pair[0].start)
    for (above, hunk), (below, _) in pairwise(placed):
        if above.start + len(hunk.old) > below.start:
            raise EditError(f"two of its parts change the same lines, near line {below.start + 1}.")
    return mark + splice(text, placed).removeprefix(mark)


def _show_mark(hunks: Sequence[Hunk]) -> bool:
    return any(line.startswith(BOM) for hunk in hunks for line in hunk.old)


def _located(keys: Keys, hunks: Sequence[Hunk]) -> list[tuple[Place, Hunk]]:
    """Every hunk with its place. Raises EditError that names all hunks without one."""
    if len(hunks) == 1:
        return [(locate(keys, hunks[0]), hunks[0])]
    placed, faults = [], []
    for number, hunk in enumerate(hunks, start=1):
        try:
            placed.append((locate(keys, hunk), hunk))
        except EditError as error:
            faults.append(f"\nhunk {number} of {len(hunks)}: {error}")
    if faults:
        raise EditError("".join(faults))
    return placed


def splice(text: str, placed: Sequence[tuple[Place, Hunk]]) -> str:
    """The text with located hunks in place, given from top to bottom."""
    rows = split_rows(text)
    out: list[str] = []
    done = 0
    for place, hunk in placed:
        out += rows[done : place.start]
        written = _written(rows, place, hunk)
        if written:
            _close(out, rows)
        out += written
        done = place.start + len(hunk.old)
    out += rows[done:]
    return "".join(out)


def _close(out: list[str], rows: Sequence[str]) -> None:
    """End a last row that had no newline, since rows come below it."""
    if out and not out[-1].endswith("\n"):
        out[-1] += terminator([], rows)


def _written(rows: Sequence[str], place: Place, hunk: Hunk) -> list[str]:
    """What stands in the place of the old rows: kept rows byte for byte, new ones terminated."""
    row, end = place.start, place.start + len(hunk.old)
    returns = any(line.endswith("\r") for line in hunk.old)
    finish = _terminator_of_new(rows, rows[row:end], hunk, returns)
    out: list[str] = []
    body = ""  # the last new row without its terminator
    for line in hunk.lines:
        sign = line[:1]
        if sign == "+":
            _close(out, rows)
            body = place.indent(line[1:])
            if returns and finish:
                body = body.removesuffix("\r")  # a reply that has them everywhere
            out.append(body + ("\n" if body.endswith("\r") else finish or "\n"))
        elif sign == " ":
            out.append(rows[row])
            row += 1
        elif sign == "-":
            row += 1
    if out and end == len(rows) and _ends_bare(rows, hunk):
        out[-1] = body
    return out


def _terminator_of_new(rows: Sequence[str], here: Sequence[str], hunk: Hunk, returns: bool) -> str:
    """What new rows end with; "" where the diff itself says, byte by byte, where carriage returns go.

    `returns` says that some old lines were sent with them.
    """
    if not rows:
        return ""
    if returns and all(sent == row.removesuffix("\n") for sent, row in zip(hunk.old, here, strict=True)):
        return ""
    return terminator(here, rows)


def _ends_bare(rows: Sequence[str], hunk: Hunk) -> bool:
    """True when a new last row gets no newline: the diff says so, or says nothing and the file had none."""
    last = next((line[:1] for line in reversed(hunk.lines) if line[:1] in (" ", "+")), "")
    if last != "+":
        return False
    marked = [above[:1] for above, line in pairwise(hunk.lines) if line[:1] == "\\"]
    return "+" in marked if marked else bool(rows) and not rows[-1].endswith("\n")
