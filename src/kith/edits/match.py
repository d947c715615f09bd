"""Finding the one place in a file that a hunk means: exact, or evenly indented further; never similar."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kith.edits import letter
from kith.edits.forms import EditError, Hunk

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


@dataclass(frozen=True, slots=True)
class Place:
    """Where a hunk's old lines begin (row, from 0), and how the file's indentation differs from theirs."""

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


def locate(keys: Keys, hunk: Hunk) -> Place:
    """The place of a hunk among rows without terminators.

    It must be the only one, or stand at the exact line that the hunk names. Raises EditError.
    """
    old = _keys(hunk.old)
    if not old:
        return _place_of_insertion(keys, hunk)
    begin = _below_anchors(keys, hunk)
    rows = _said(keys, old, hunk, begin)
    if (not rows or len(hunk.new) > len(old)) and _is_made(keys, hunk):
        raise EditError(letter.ALREADY)
    rows = rows or positions(keys, old, begin)
    shifted = {} if rows else {place.start: place for place in _shifted(keys, _old_lines(hunk), begin)}
    if not rows and _is_there(keys, hunk):
        raise EditError(letter.ALREADY)
    if not rows and not shifted:
        raise EditError(letter.missing(keys, old))
    row = _choose(keys, rows or [*shifted], hunk, len(keys) - len(old))
    place = shifted.get(row, Place(row))
    if _surrounds(keys, place, hunk):
        raise EditError(letter.ALREADY)
    return place


def _said(keys: Keys, old: list[str], hunk: Hunk, begin: int) -> list[int]:
    """The row that the hunk itself names, if its old lines stand there: no other one can be meant."""
    rows = [len(keys) - len(old)] if hunk.at_end else []
    rows += [] if hunk.start is None or _ends_elsewhere(keys, old, hunk) else [hunk.start - 1]
    return [row for row in rows if row >= begin and keys[row : row + len(old)] == old][:1]


def _ends_elsewhere(keys: Keys, old: list[str], hunk: Hunk) -> bool:
    """Whether the last lines are meant as well: they are the same, and little context below says the end.

    Source: GNU patch's `locate_hunk`, where less context below than above can only match at the end of the
    file; git's apply.c says so only of none at all. Where the two differ, the model is asked.
    """
    last = len(keys) - len(old)
    if hunk.start is None or hunk.start - 1 == last or keys[last:] != old:
        return False
    return hunk.context_below < hunk.context_above


def positions(keys: Keys, wanted: Sequence[str], begin: int = 0) -> list[int]:
    """The rows at which `wanted` stands in `keys`, `letter.MANY` of them at most."""
    wanted, found = list(wanted), list[int]()
    longest = max(range(len(wanted)), key=lambda index: len(wanted[index]))  # likely a rare one
    for place in keys.rows_of(wanted[longest]):
        row = place - longest
        if row >= begin and keys[row : row + len(wanted)] == wanted:
            found.append(row)
            if len(found) == letter.MANY:
                break
    return found


def _keys(lines: Sequence[str]) -> list[str]:
    return [line.removesuffix("\r") for line in lines]


def _old_lines(hunk: Hunk) -> list[tuple[str, str]]:
    """The signs and the lines that should stand in the file."""
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
        raise EditError(letter.ambiguous(keys, rows))
    return rows[0]


def _place_of_insertion(keys: Keys, hunk: Hunk) -> Place:
    if not keys:
        return Place(0)
    if hunk.at_end and not hunk.anchors:
        added = _keys(hunk.new)
        if keys[-len(added) :] == added:
            raise EditError(letter.ALREADY)
        return Place(len(keys))
    raise EditError(letter.NO_CONTEXT)


def _below_anchors(keys: Keys, hunk: Hunk) -> int:
    """The first row below all anchors. Raises EditError when one is missing, or stands there twice."""
    begin = 0
    for anchor in hunk.anchors:
        wanted = anchor.strip()
        rows = keys.trimmed.rows_of(wanted)
        rows = rows[bisect_left(rows, begin) :]
        if not rows:
            raise EditError(letter.no_anchor(keys, wanted))
        if len(rows) > 1 and len(positions(keys, _keys(hunk.old), rows[0] + 1)) != 1:
            raise EditError(f"the line {wanted!r}: {letter.ambiguous(keys, rows)}")
        begin = rows[0] + 1
    return begin


def _shifted(keys: Keys, old: Sequence[tuple[str, str]], begin: int) -> list[Place]:
    """Every place where all of `old` (sign and line) stands indented by the same amount more, or less.

    Blank lines of the context match whatever blanks they have in the file.
    """
    lead = next((index for index, (_, line) in enumerate(old) if line.strip()), None)
    if lead is None:
        return []
    found = []
    for row in positions(keys.unindented, [line.lstrip() for _, line in old], begin):
        difference = _difference(keys[row + lead], old[lead][1])
        place = Place(row, *difference) if difference else None
        if place and " " in (place.more, place.less) and not any(sign == "-" and line for sign, line in old):
            continue  # lines of a diff that lost their sign look so, and the new ones have theirs
        if place and all(_same(place, sign, line, keys[row + i]) for i, (sign, line) in enumerate(old)):
            found.append(place)
    return found


def _difference(here: str, sent: str) -> tuple[str, str] | None:
    """What to put before, and what to take away from, a sent line to get the file's."""
    if here.endswith(sent):
        return here[: len(here) - len(sent)], ""
    return ("", sent[: len(sent) - len(here)]) if sent.endswith(here) else None


def _same(place: Place, sign: str, sent: str, here: str) -> bool:
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
    """True when what the hunk would write stands in the file as it is."""
    new = _keys(hunk.new)
    return any(line.strip() for line in new) and bool(positions(keys, new))


def _surrounds(keys: Sequence[str], place: Place, hunk: Hunk) -> bool:
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
