"""Changed files for a review: each with its new lines, and which of them the change reaches."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kith.core.values import SYMLINK, Change, Changes
from kith.edits import Hunk, split_hunks
from kith.edits.hunks import is_text
from kith.edits.rows import decode, split_keys


@dataclass(frozen=True, slots=True)
class ReviewSubject:
    """What is reviewed.

    `changes` are the diff. `overlay` turns the user's tree into the new side of it, for tools that look at
    whole projects; empty where the tree already is that. `left_out`: what cannot be reviewed, in words.
    """

    words: str
    changes: Changes
    overlay: Changes = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sheet:
    """One changed file. Lines count from 1, in the new side; `before` is None for a file that is new.

    `added` are the lines that are new or changed, and those next to a gap. `shown` are all lines
    that the hunks hold, with their context: what a finding may speak of.
    """

    path: str
    before: str | None
    after: str
    rows: tuple[str, ...]  # the new side's lines, without terminators
    hunks: tuple[Hunk, ...]
    added: frozenset[int]
    shown: frozenset[int]

    def text(self, first: int, last: int) -> str:
        """Some lines of the new side."""
        return "\n".join(self.rows[first - 1 : last])


Sheets = Mapping[str, Sheet]


def make_sheets(changes: Changes) -> dict[str, Sheet]:
    """The files that have a new side in text, by path; deleted, binary and linked ones are left out."""
    return {change.path: _sheet(change) for change in changes if _is_readable(change)}


def find_unreadable(changes: Changes) -> tuple[str, ...]:
    """The changed files that nobody can review line by line, in words."""
    return tuple(f"{change.path} (binary)" for change in changes if not is_text(change))


def _is_readable(change: Change) -> bool:
    return change.after is not None and change.mode != SYMLINK and is_text(change)


def _sheet(change: Change) -> Sheet:
    before = None if change.before is None else decode(change.before)
    after = decode(change.after or b"")
    hunks = tuple(hunk for hunk in split_hunks(change) if hunk.start is not None)
    rows = tuple(split_keys(after))
    added = frozenset(line for hunk in hunks for line in _added(hunk) if line <= len(rows))
    shown = frozenset(line for hunk in hunks for line in lines_of(hunk))
    return Sheet(change.path, before, after, rows, hunks, added, shown)


def lines_of(hunk: Hunk) -> range:
    """The lines that a hunk holds of the new side."""
    first = hunk.new_start or 0
    return range(first, first + len(hunk.new))


def _added(hunk: Hunk) -> Iterator[int]:
    """The lines that a hunk adds; where it only removes some, those above and below the gap."""
    line, signs = hunk.new_start or 1, [signed[:1] for signed in hunk.lines if signed[:1] != "\\"]
    for at, sign in enumerate(signs):
        if sign == "+":
            yield line
        elif sign == "-" and signs[at + 1 : at + 2] not in (["-"], ["+"]):
            yield from {max(1, line - 1), line}
        line += sign in ("+", " ")
