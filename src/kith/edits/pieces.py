"""The pieces of a change as a diff shows them, under the numbers by which a person keeps some of them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from kith.core.values import SYMLINK, FileChange

_SPAN = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_MODES = ("old mode ", "new mode ")


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a changed file; `number` counts from 0, as in `Kept.hunks`.

    `lines` keep their sign (" ", "-", "+", "\\\\"), `start` and `new_start` are the lines' numbers before and
    after, None for a piece that is no text (a mode, a binary file, an empty one): its lines are words then.
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
