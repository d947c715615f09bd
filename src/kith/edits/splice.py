"""Putting hunks into a text: every byte outside the added and removed lines stays as it is."""

from collections.abc import Sequence
from itertools import pairwise

from kith.edits import letter
from kith.edits.forms import EditError, Hunk
from kith.edits.match import Keys, Place, locate
from kith.edits.rows import BOM, keys_of


def apply_hunks(text: str, hunks: Sequence[Hunk]) -> str:
    """The text with all hunks in place. Raises EditError when one has no place, or two the same.

    A byte order mark stays at the top, unless a hunk shows it (git's do): then the hunk decides.
    """
    mark = BOM if text.startswith(BOM) and not _show_mark(hunks) else ""
    rows = text.removeprefix(mark).split("\n")
    keys = Keys(keys_of(rows, "\r" in text))
    placed = sorted(_located(keys, hunks), key=lambda pair: pair[0].start)
    for (above, hunk), (below, other) in pairwise(placed):
        twice = above.start == below.start and hunk.lines == other.lines
        if twice or above.start + len(hunk.old) > below.start:
            raise EditError(f"two of its parts change the same lines, near line {below.start + 1}.")
    return mark + splice(rows, placed).removeprefix(mark)


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
        if len(faults) == letter.FAULTS:
            break
    if faults:
        raise EditError("".join(faults))
    return placed


def splice(rows: list[str], placed: Sequence[tuple[Place, Hunk]]) -> str:
    """A text that was split at its newlines, with located hunks in place, given from top to bottom."""
    bare = bool(rows[-1])  # the last row has no newline
    rows = rows if bare else rows[:-1]
    out: list[str] = []
    done = 0
    cut = False  # the last row was removed, and the one above it stays
    for place, hunk in placed:
        out += rows[done : place.start]
        done = place.start + len(hunk.old)
        if hunk.old and done < len(rows) and rows[place.start : done] == list(hunk.old):
            out += hunk.new  # old lines that are the file's to the byte say new ones to the byte
            continue
        written = _written(rows, bare, place, hunk)
        if bare and out and written and place.start == len(rows) and not cut:
            out[-1] += _return([], rows[:-1])  # it gets company below
        if done == len(rows):
            bare = _ends_bare(hunk, bare)
            cut = hunk.signs.endswith("-") and hunk.signs.rstrip("-").endswith(" ")
        out += written
    out += rows[done:]
    if bare and cut:  # a row that stays is the last now, as bare as that one was; a blank one would be gone
        bare = out[-1] not in ("", "\r")
        out[-1] = out[-1].removesuffix("\r") if bare else out[-1]
    return "\n".join(out) + ("" if bare or not out else "\n")


def _written(rows: list[str], bare: bool, place: Place, hunk: Hunk) -> list[str]:
    """What stands in the place of the old rows: kept rows byte for byte, new ones ended as those around."""
    row, end = place.start, place.start + len(hunk.old)
    returns = any(line.endswith("\r") for line in hunk.old)
    # Where the diff itself says, byte by byte, where carriage returns go, none is added or dropped.
    exact = not rows or (returns and list(hunk.old) == rows[row:end])
    ended = rows[: len(rows) - bare]
    finish = "" if exact else _return(ended[row:end], ended)
    out: list[str] = []
    last: str | None = None  # the last row, if it is a new one, without its carriage return
    open_end = False  # the last row of the file is the last row so far, and has no newline
    for line in hunk.lines:
        sign = line[:1]
        if sign == "+":
            if open_end:
                out[-1] += _return([], ended)
            last, open_end = place.indent(line[1:]), False
            last = last.removesuffix("\r") if returns and not exact else last  # they are everywhere
            out.append(last if last.endswith("\r") else last + finish)
        elif sign == " ":
            last, open_end = None, bare and row == len(rows) - 1
            out.append(rows[row])
        row += sign in (" ", "-")
    if last is not None and end == len(rows) and _ends_bare(hunk, bare):
        out[-1] = last
    return out


def _return(here: Sequence[str], rows: Sequence[str]) -> str:
    """The carriage return that most of some rows end with, or most of the file when they are undecided."""
    for sample in (here, rows):
        returns = sum(row.endswith("\r") for row in sample)
        if returns * 2 != len(sample):
            return "\r" if returns * 2 > len(sample) else ""
    return ""


def _ends_bare(hunk: Hunk, bare: bool) -> bool:
    """Whether the text has no newline at its end below this hunk; `bare`: as it had none before.

    For a new last row the diff says it, or else it is as it was.
    """
    marked = "".join([line[:1] for line in hunk.lines])
    kept = hunk.signs.rstrip("-")
    if kept.endswith("+"):
        return "+\\" in marked if "\\" in marked else bare
    shown = kept and "\\" not in marked  # rows that stay are now the last, and no word was said of newlines
    return bare and bool(kept == hunk.signs or shown)
