"""Putting hunks into a text: every byte outside the added and removed lines stays as it is."""

from collections.abc import Sequence
from itertools import pairwise

from kith.edits.forms import EditError, Hunk
from kith.edits.match import Place, locate
from kith.edits.rows import BOM, split_keys, split_rows, strip_end, terminator


def apply_hunks(text: str, hunks: Sequence[Hunk]) -> str:
    """The text with all hunks in place. Raises EditError when one has no place, or two the same.

    A byte order mark stays at the top, unless a hunk shows it (git's do): then the hunk decides.
    """
    shown = any(line.startswith(BOM) for hunk in hunks for line in hunk.old)
    mark = BOM if text.startswith(BOM) and not shown else ""
    text = text.removeprefix(mark)
    keys = split_keys(text)
    placed = sorted(_located(keys, hunks), key=lambda pair: pair[0].start)
    for (above, hunk), (below, _) in pairwise(placed):
        if above.start + len(hunk.old) > below.start:
            raise EditError(f"two of its parts change the same lines, near line {below.start + 1}.")
    return mark + splice(text, placed).removeprefix(mark)


def _located(keys: Sequence[str], hunks: Sequence[Hunk]) -> list[tuple[Place, Hunk]]:
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
        out += _written(rows, place, hunk)
        done = place.start + len(hunk.old)
    out += rows[done:]
    # A last row without a newline may have got company below it.
    above = [row if row.endswith("\n") else row + terminator([], rows) for row in out[:-1]]
    return "".join([*above, *out[-1:]])


def _written(rows: Sequence[str], place: Place, hunk: Hunk) -> list[str]:
    """What stands in the place of the old rows: kept rows byte for byte, new ones terminated."""
    row = place.start
    end = row + len(hunk.old)
    finish = _terminator_of_new(rows, rows[row:end], hunk)
    out: list[str] = []
    last = ""  # the last row without its terminator
    for line in hunk.lines:
        sign = line[:1]
        if sign == "+":
            last = _body(place.indent(line[1:]), finish, hunk)
            out.append(last + ("\n" if last.endswith("\r") else finish or "\n"))
        elif sign == " ":
            last = strip_end(rows[row])
            out.append(rows[row])
        row += sign in (" ", "-")
    if out and end == len(rows) and _ends_bare(rows, hunk):
        out[-1] = last
    return out


def _terminator_of_new(rows: Sequence[str], here: Sequence[str], hunk: Hunk) -> str:
    """What new rows end with; "" where the diff itself says, byte by byte, where carriage returns go."""
    if not rows:
        return ""
    exact = all(sent == row.removesuffix("\n") for sent, row in zip(hunk.old, here, strict=True))
    if exact and _sends_returns(hunk):
        return ""
    return terminator(here, rows)


def _body(line: str, finish: str, hunk: Hunk) -> str:
    """A new row without its terminator; carriage returns of a reply that has them everywhere are dropped."""
    return line.removesuffix("\r") if finish and _sends_returns(hunk) else line


def _sends_returns(hunk: Hunk) -> bool:
    return any(line.endswith("\r") for line in hunk.old)


def _ends_bare(rows: Sequence[str], hunk: Hunk) -> bool:
    """True when the last row gets no newline: the diff says so, or says nothing and the file had none."""
    marked = [above[:1] for above, line in pairwise(hunk.lines) if line[:1] == "\\"]
    return "+" in marked if marked else bool(rows) and not rows[-1].endswith("\n")
