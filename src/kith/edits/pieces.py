"""The pieces of a change as a diff shows them, and what a person left out or wrote differently."""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from msgspec import Struct

from kith.core.values import SYMLINK, FileChange

_SPAN = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_MODES = ("old mode ", "new mode ")


class Piece(Struct, frozen=True):
    """One hunk of a changed file; `number` counts from 0, as in `Kept.hunks`.

    `lines` keep their sign (" ", "-", "+", "\\"). `start` and `new_start` are the line numbers before and
    after. Both are None for a change without text lines (a mode, a binary file, an empty file): `lines`
    are then words.
    """

    number: int
    lines: tuple[str, ...]
    start: int | None = None
    new_start: int | None = None


def pieces_of(file: FileChange) -> tuple[Piece, ...]:
    """The pieces of a diff that `edits.summarise` made, numbered like those of `edits.split_hunks`.

    Raises ValueError for any other diff. Lines are counted, never looked at: what a file holds may look like
    a diff itself.
    """
    lines = file.diff.split("\n")[:-1]
    head = list(takewhile(lambda line: not line.startswith("--- "), lines[1:]))
    texts = list(_read_texts(lines[len(head) + 3 :]))
    modes = tuple(line for line in head if line.startswith(_MODES))
    found: list[tuple[tuple[str, ...], int | None, int | None]] = [*texts]
    if any(line.startswith("Binary files ") for line in head):
        found = [((f"Binary file {file.path} differs",), None, None)]
    elif modes and not (texts and _turns_link(modes)):
        found = [(modes, None, None), *texts]
    elif head and not texts:
        found = [((f"empty file {file.path}",), None, None)]
    return tuple(Piece(number, *each) for number, each in enumerate(found))


def _turns_link(modes: Sequence[str]) -> bool:
    """True when a file becomes a symbolic link or the other way round: that is never divided."""
    return sum(mode.endswith(f"{SYMLINK:o}") for mode in modes) == 1


def _read_texts(lines: Sequence[str]) -> Iterator[tuple[tuple[str, ...], int, int]]:
    at = 0
    while at < len(lines):
        span = _SPAN.fullmatch(lines[at])
        if span is None:
            raise ValueError(f"not the head of a piece: {lines[at][:80]!r}")
        old, new = (int(count) if count else 1 for count in span.group(2, 4))
        begin = at = at + 1
        while at < len(lines) and (old > 0 or new > 0 or lines[at].startswith("\\")):
            old -= lines[at][:1] in (" ", "-")
            new -= lines[at][:1] in (" ", "+")
            at += 1
        yield tuple(lines[begin:at]), int(span[1]), int(span[3])


# What a person left out of a change, or wrote differently, told to whoever made it.

_MOST_LINES: Final = 60  # of a piece that are shown whole


def tell_left_out(made: Sequence[FileChange], kept: Sequence[FileChange], room: int) -> str:
    """List the differences of `kept` from `made`, file by file; "" where both are the same.

    Pieces are shown as diffs as long as they fit into so many characters; after that their lines are named.
    """
    held = {file.path: file for file in kept}
    told: list[str] = []
    for file in made:
        for part, brief in _told(file, held.get(file.path)):
            room -= len(part)
            told.append(part if room >= 0 else brief)
    there = {file.path for file in made}
    told += [f"- {file.path}: it was changed, too." for file in kept if file.path not in there]
    return "\n".join(told)


def _told(file: FileChange, kept: FileChange | None) -> Iterator[tuple[str, str]]:
    """Word the difference of one file, in full and in brief."""
    if kept is None:
        words = f"- {file.path}: nothing of it was kept."
        yield words, words
    elif kept.diff != file.diff:
        yield from _told_pieces(file, kept)


def _told_pieces(file: FileChange, kept: FileChange) -> Iterator[tuple[str, str]]:
    before, after = pieces_of(file), pieces_of(kept)
    made, held = {_content(piece) for piece in before}, {_content(piece) for piece in after}
    written = [piece for piece in after if _content(piece) not in made]
    gone = [piece for piece in before if _content(piece) not in held]
    left = [piece for piece in gone if not any(_meet(piece, other) for other in written)]
    if left:
        yield _shown(f"- {file.path}: left out, so there the file is as it was before:", left)
    if written:
        yield _shown(f"- {file.path}: written differently by the person, now:", written)


def _content(piece: Piece) -> tuple[int | None, tuple[str, ...]]:
    """Return the content of a hunk, independent of the hunks before it."""
    return piece.start, piece.lines


def _meet(piece: Piece, other: Piece) -> bool:
    """True if both hunks change the same place of the original file."""
    if piece.start is None or other.start is None:
        return piece.start == other.start
    return piece.start < other.start + _old(other) and other.start < piece.start + _old(piece)


def _old(piece: Piece) -> int:
    """Count the old lines of a hunk, at least 1."""
    return max(1, sum(line[:1] in (" ", "-") for line in piece.lines))


def _shown(words: str, pieces: Sequence[Piece]) -> tuple[str, str]:
    places = ", ".join(filter(None, map(_place, pieces)))
    brief = f"{words.rstrip(':')}{f' ({places})' if places else ''}"
    if sum(len(piece.lines) for piece in pieces) > _MOST_LINES:
        return brief, brief
    fence = "`" * max(3, 1 + max((_ticks(line) for piece in pieces for line in piece.lines), default=0))
    rows = [row for piece in pieces for row in (*_head(piece), *piece.lines)]
    return "\n".join([words, f"{fence}diff", *rows, fence]), brief


def _head(piece: Piece) -> tuple[str, ...]:
    if piece.start is None:
        return ()
    return (f"@@ -{piece.start},{sum(line[:1] in (' ', '-') for line in piece.lines)} @@",)


def _place(piece: Piece) -> str:
    """`lines 12 to 18`, of the file before."""
    if piece.start is None:
        return ""
    end = piece.start + _old(piece) - 1
    return f"line {piece.start}" if end == piece.start else f"lines {piece.start} to {end}"


def _ticks(line: str) -> int:
    """Count the backticks at the start of a row, behind its sign."""
    said = line[1:].lstrip()
    return len(said) - len(said.lstrip("`"))
