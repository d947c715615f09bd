"""What a person left out of a change, or wrote differently, told to whoever made it."""

from collections.abc import Iterator, Sequence
from typing import Final

from kith.core.values import FileChange
from kith.edits.pieces import Piece, pieces_of

_MOST_LINES: Final = 60  # of a piece that are shown whole


def tell_left_out(made: Sequence[FileChange], kept: Sequence[FileChange], room: int) -> str:
    """What is different in `kept`, file by file; "" where it is all the same.

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
    """What became of a file, in full and in brief."""
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
    """What a piece does, wherever the pieces before it have moved it."""
    return piece.start, piece.lines


def _meet(piece: Piece, other: Piece) -> bool:
    """Whether both change the same place of the file as it was."""
    if piece.start is None or other.start is None:
        return piece.start == other.start
    return piece.start < other.start + _old(other) and other.start < piece.start + _old(piece)


def _old(piece: Piece) -> int:
    """How many lines a piece spans in the file before; one where it only adds some."""
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
    """How many backticks a row begins with, behind its sign."""
    said = line[1:].lstrip()
    return len(said) - len(said.lstrip("`"))
