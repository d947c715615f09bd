"""The pieces of a change, and what a person decided of each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from kith.core.values import SYMLINK, Change, Changes, Kept, Question
from kith.edits import Hunk, keep_hunks, split_hunks
from kith.edits.hunks import is_text
from kith.edits.pieces import pieces_of


@dataclass(slots=True)
class Piece:
    """One piece of a changed file; `number` counts from 0, of so many (`of`).

    `change` is the file where its contents are here: without them a piece can be kept or left, not edited.
    `kept` is None while nobody has decided. `edited` is the piece, or the whole new file, as the person
    wrote it; `draft` what they wrote last and did not fit; `said` why they left it out.
    """

    path: str
    number: int
    of: int
    hunk: Hunk
    change: Change | None = None
    kept: bool | None = None
    edited: Hunk | bytes | None = None
    draft: str = ""
    said: str = ""

    @property
    def text(self) -> str:
        """The piece as a diff, as it stands now."""
        if isinstance(self.edited, bytes) and self.change:
            return "".join(hunk.text for hunk in split_hunks(replace(self.change, after=self.edited)))
        return (self.edited if isinstance(self.edited, Hunk) else self.hunk).text

    @property
    def name(self) -> str:
        """`utils.py, part 2 of 3`."""
        return f"{self.path}, part {self.number + 1} of {self.of}" if self.of > 1 else self.path

    @property
    def is_new_file(self) -> bool:
        change = self.change
        return change is not None and change.before is None and change.after is not None and _is_text(change)

    @property
    def is_editable(self) -> bool:
        """Whether it is text that can be written otherwise."""
        change = self.change
        there = change is not None and None not in (change.before, change.after) and _is_text(change)
        return self.is_new_file or (there and bool(self.hunk.start))


def _is_text(change: Change) -> bool:
    """Whether both sides are lines, and no link."""
    return is_text(change) and SYMLINK not in (change.mode, change.mode_before)


def pieces_in(question: Question, changes: Changes) -> list[Piece]:
    """The pieces of `changes`; without contents, those of the question's diffs."""
    found: list[Piece] = []
    for change in changes:
        hunks = split_hunks(change)
        found += [Piece(change.path, at, len(hunks), hunk, change) for at, hunk in enumerate(hunks)]
    for file in () if changes else question.files:
        pieces = pieces_of(file)
        hunks = tuple(Hunk(piece.lines, piece.start, piece.new_start) for piece in pieces)
        found += [Piece(file.path, at, len(hunks), hunk) for at, hunk in enumerate(hunks)]
    return found


def all_kept(pieces: Sequence[Piece]) -> bool:
    """Whether the change is kept just as it is."""
    return all(piece.kept and piece.edited is None for piece in pieces)


def kept_changes(pieces: Sequence[Piece]) -> Changes:
    """The change that the decisions come to; what nobody decided is left out."""
    return tuple(change for change in _kept_changes(pieces) if _does_something(change))


def _kept_changes(pieces: Sequence[Piece]) -> Iterator[Change]:
    for _, group in groupby(pieces, key=lambda piece: piece.path):
        own = list(group)
        change, kept = own[0].change, [piece for piece in own if piece.kept]
        whole = next((piece.edited for piece in kept if isinstance(piece.edited, bytes)), None)
        edited = {piece.number: piece.edited for piece in kept if isinstance(piece.edited, Hunk)}
        if change is None or not kept:
            continue
        if whole is not None:
            yield replace(change, after=whole)
        elif len(kept) == len(own) and not edited:
            yield change
        else:
            yield keep_hunks(change, {piece.number for piece in kept}, edited)


def _does_something(change: Change) -> bool:
    return change.before != change.after or change.mode != change.mode_before


def kept_numbers(pieces: Sequence[Piece]) -> tuple[Kept, ...]:
    """The same by number, for whoever holds the contents."""
    found: dict[str, list[int]] = {}
    for piece in pieces:
        if piece.kept:
            found.setdefault(piece.path, []).append(piece.number)
    return tuple(Kept(path, tuple(numbers)) for path, numbers in found.items())


def reasons(pieces: Sequence[Piece]) -> str:
    """Why pieces were left out, each in a line with its place."""
    return "\n".join(f"{piece.name}: {piece.said}" for piece in pieces if piece.said and not piece.kept)
