"""Put hunks into a text where they fit exactly, or evenly indented; every other byte stays as it is."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from msgspec import Struct

from kith.edits import feedback
from kith.edits.edit_types import EditError, Hunk
from kith.edits.rows import BOM, keys_of

# Finding the one place in a file that a hunk means: exact, or evenly indented further; never similar.

_AROUND = re.compile(r"(?! +$)(\+*)( +)(\+*)")  # lines added around others, one at least


class Keys(list[str]):
    """The rows of a file as they are compared: without terminators."""

    asked = 0

    def rows_of(self, text: str) -> Sequence[int]:
        """Every row, from 0, that says `text`. For a few questions an index costs more than it spares."""
        self.asked += 1
        if self.asked > 3:
            return self.places.get(text, ())
        return [row for row, key in enumerate(self) if key == text]

    @cached_property
    def places(self) -> Mapping[str, list[int]]:
        """Each row's text, and every row, from 0, that says it."""
        places = defaultdict[str, list[int]](list)
        for row, key in enumerate(self):
            places[key].append(row)
        return dict(places)

    @cached_property
    def unindented(self) -> "Keys":
        return Keys(key.lstrip() for key in self)

    @cached_property
    def trimmed(self) -> "Keys":
        return Keys(key.strip() for key in self)


class HunkPlace(Struct, frozen=True):
    """The place of a hunk's old lines (row, from 0), and the difference in indentation."""

    start: int
    more: str = ""
    less: str = ""

    def indent(self, line: str) -> str:
        """A new line as deep as its surroundings. Raises EditError when it cannot be moved left."""
        if not (self.more or self.less) or not line.strip():
            return line
        if not line.startswith(self.less):
            raise EditError("the indentation differs from the file's, and not everywhere by the same.")
        return self.more + line[len(self.less) :]


def locate(keys: Keys, hunk: Hunk) -> HunkPlace:
    """The place of a hunk among rows without terminators.

    It must be the only one, or be at the exact line that the hunk names. Raises EditError.
    """
    old = _keys(hunk.old)
    if not old:
        return _place_of_insertion(keys, hunk)
    begin = _below_anchors(keys, hunk)
    rows = _said(keys, old, hunk, begin)
    if (not rows or len(hunk.new) > len(old)) and _is_made(keys, hunk):
        raise EditError(feedback.ALREADY, already=True)
    rows = rows or positions(keys, old, begin)
    shifted = {} if rows else {place.start: place for place in _shifted(keys, _old_lines(hunk), begin)}
    if not rows and _is_there(keys, hunk):
        raise EditError(feedback.ALREADY, already=True)
    if not rows and not shifted:
        raise EditError(feedback.missing(keys, old))
    row = _choose(keys, rows or [*shifted], hunk, len(keys) - len(old))
    place = shifted.get(row, HunkPlace(row))
    if _surrounds(keys, place, hunk):
        raise EditError(feedback.ALREADY, already=True)
    return place


def _said(keys: Keys, old: list[str], hunk: Hunk, begin: int) -> list[int]:
    """The row that the hunk itself names, if its old lines are there: no other one can be meant."""
    rows = [len(keys) - len(old)] if hunk.at_end else []
    rows += [] if hunk.start is None or _ends_elsewhere(keys, old, hunk) else [hunk.start - 1]
    return [row for row in rows if row >= begin and keys[row : row + len(old)] == old][:1]


def _ends_elsewhere(keys: Keys, old: list[str], hunk: Hunk) -> bool:
    """True if the hunk fits the file's last lines as well, and its short context below suggests the end.

    Source: GNU patch's `locate_hunk`, where less context below than above can only match at the end of the
    file. git's apply.c says so only without any context. Where the two differ, the model is asked.
    """
    last = len(keys) - len(old)
    if hunk.start is None or hunk.start - 1 == last or keys[last:] != old:
        return False
    return hunk.context_below < hunk.context_above


def positions(keys: Keys, wanted: Sequence[str], begin: int = 0) -> list[int]:
    """The rows at which `wanted` occurs in `keys`, `feedback.MANY` of them at most."""
    wanted, found = list(wanted), list[int]()
    longest = max(range(len(wanted)), key=lambda index: len(wanted[index]))  # likely a rare one
    for place in keys.rows_of(wanted[longest]):
        row = place - longest
        if row >= begin and keys[row : row + len(wanted)] == wanted:
            found.append(row)
            if len(found) == feedback.MANY:
                break
    return found


def _keys(lines: Sequence[str]) -> list[str]:
    return [line.removesuffix("\r") for line in lines]


def _old_lines(hunk: Hunk) -> list[tuple[str, str]]:
    """The signs and the lines expected in the file."""
    return [(line[0], line[1:].removesuffix("\r")) for line in hunk.lines if line[:1] in (" ", "-")]


def _choose(keys: Keys, rows: Sequence[int], hunk: Hunk, last: int) -> int:
    """The one row that is meant. Raises EditError when it cannot be told."""
    if len(rows) == 1:
        return rows[0]
    if hunk.at_end and last in rows:
        return last
    said = (hunk.start or 0) - 1
    if said in rows and not _ends_elsewhere(keys, _keys(hunk.old), hunk):
        return said
    if not hunk.anchors:
        raise EditError(feedback.ambiguous(keys, rows))
    return rows[0]


def _place_of_insertion(keys: Keys, hunk: Hunk) -> HunkPlace:
    if not keys:
        return HunkPlace(0)
    if hunk.at_end and not hunk.anchors:
        added = _keys(hunk.new)
        if keys[-len(added) :] == added:
            raise EditError(feedback.ALREADY, already=True)
        return HunkPlace(len(keys))
    raise EditError(feedback.NO_CONTEXT)


def _below_anchors(keys: Keys, hunk: Hunk) -> int:
    """The first row below all anchors. Raises EditError when one is missing, or occurs twice."""
    begin = 0
    for anchor in hunk.anchors:
        wanted = anchor.strip()
        rows = keys.trimmed.rows_of(wanted)
        rows = rows[bisect_left(rows, begin) :]
        if not rows:
            raise EditError(feedback.no_anchor(keys, wanted))
        if len(rows) > 1 and len(positions(keys, _keys(hunk.old), rows[0] + 1)) != 1:
            raise EditError(f"the line {wanted!r}: {feedback.ambiguous(keys, rows)}")
        begin = rows[0] + 1
    return begin


def _shifted(keys: Keys, old: Sequence[tuple[str, str]], begin: int) -> list[HunkPlace]:
    """Every place that has all of `old` (sign and line), indented by the same amount more, or less.

    Blank lines of the context match whatever blanks they have in the file.
    """
    lead = next((index for index, (_, line) in enumerate(old) if line.strip()), None)
    if lead is None:
        return []
    found = []
    for row in positions(keys.unindented, [line.lstrip() for _, line in old], begin):
        difference = _difference(keys[row + lead], old[lead][1])
        place = HunkPlace(row, *difference) if difference else None
        if place and " " in (place.more, place.less) and not any(sign == "-" and line for sign, line in old):
            continue  # lines of a diff that lost their sign look so, and the new ones have theirs
        if place and all(_same(place, sign, line, keys[row + i]) for i, (sign, line) in enumerate(old)):
            found.append(place)
    return found


def _difference(here: str, sent: str) -> tuple[str, str] | None:
    """Return the indentation to add before, and to remove from, a sent line to get the file's."""
    if here.endswith(sent):
        return here[: len(here) - len(sent)], ""
    return ("", sent[: len(sent) - len(here)]) if sent.endswith(here) else None


def _same(place: HunkPlace, sign: str, sent: str, here: str) -> bool:
    if not sent.strip():
        return not here.strip() and (sign == " " or here in ("", sent, place.more + sent))
    return sent.startswith(place.less) and place.more + sent[len(place.less) :] == here


def _is_made(keys: Keys, hunk: Hunk) -> bool:
    """True when the line that the hunk names begins what it would write: it was applied before.

    A hunk that only adds or drops a newline writes what it finds, so that this tells nothing.
    """
    new, at = _keys(hunk.new), (hunk.start or 0) - 1
    there = at >= 0 and any(line.strip() for line in new) and keys[at : at + len(new)] == new
    return there and new != _keys(hunk.old)


def _is_there(keys: Keys, hunk: Hunk) -> bool:
    """True when the file already has the hunk's new lines."""
    new = _keys(hunk.new)
    return any(line.strip() for line in new) and bool(positions(keys, new))


def _surrounds(keys: Sequence[str], place: HunkPlace, hunk: Hunk) -> bool:
    """True when lines to be added next to the place are there already.

    One blank line more may well be wanted, but not at either end of the file.
    """
    signs = _AROUND.fullmatch(hunk.signs)
    if not signs:
        return False
    above, below = len(signs[1]), len(signs[3])
    added = _keys([line[1:] for line in hunk.lines if line[0] == "+"])
    end = place.start + len(signs[2])
    at_ends = (not above or above == place.start) and (not below or end + below == len(keys))
    if place.start < above or not (at_ends or any(line.strip() for line in added)):
        return False
    expected = [place.indent(line) for line in added]
    return [*keys[place.start - above : place.start], *keys[end : end + below]] == expected


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
    return any(line.startswith(BOM) for hunk in hunks for line in (*hunk.old, *hunk.new))


def _located(keys: Keys, hunks: Sequence[Hunk]) -> list[tuple[HunkPlace, Hunk]]:
    """Every hunk with its place. Raises EditError that names all hunks without one."""
    if len(hunks) == 1:
        return [(locate(keys, hunks[0]), hunks[0])]
    placed, faults, already = [], [], False
    for number, hunk in enumerate(hunks, start=1):
        try:
            placed.append((locate(keys, hunk), hunk))
        except EditError as error:
            faults.append(f"\nhunk {number} of {len(hunks)}: {error}")
            already = already or error.already
        if len(faults) == feedback.FAULTS:
            break
    if faults:
        raise EditError("".join(faults), already=already)
    return placed


def splice(rows: list[str], placed: Sequence[tuple[HunkPlace, Hunk]]) -> str:
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


def _written(rows: list[str], bare: bool, place: HunkPlace, hunk: Hunk) -> list[str]:
    """Build the new rows: kept rows byte for byte, new ones with the line ends of those around."""
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
    """True if the text has no newline at its end below this hunk; `bare`: it had none before.

    The diff says so for a new last row; otherwise it stays as it was.
    """
    marked = "".join([line[:1] for line in hunk.lines])
    kept = hunk.signs.rstrip("-")
    if kept.endswith("+"):
        return "+\\" in marked if "\\" in marked else bare
    shown = kept and "\\" not in marked  # rows that stay are now the last, and no word was said of newlines
    return bare and bool(kept == hunk.signs or shown)
