"""Comparing rows: what stays, what goes, what comes."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from kith.edits.forms import Hunk

Opcode = tuple[str, int, int, int, int]
_LARGEST = 5_000  # rows compared; above it the whole middle counts as replaced


def opcodes(old: Sequence[str], new: Sequence[str]) -> list[Opcode]:
    """difflib's opcodes, with equal rows at both ends set aside first (that is most of a large file)."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    middle: list[Opcode] = [("replace", 0, len(a), 0, len(b))] if a or b else []
    if max(len(a), len(b)) <= _LARGEST:
        middle = [*SequenceMatcher(None, a, b).get_opcodes()]
    ends = ("equal", len(old) - tail, len(old), len(new) - tail, len(new))
    return [
        *([("equal", 0, head, 0, head)] if head else []),
        *((tag, i + head, j + head, k + head, n + head) for tag, i, j, k, n in middle),
        *([ends] if tail else []),
    ]


def signed(codes: Sequence[Opcode], old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The rows of some opcodes with their signs, removed rows before added ones."""
    lines: list[str] = []
    for tag, i, j, k, n in codes:
        if tag == "equal":
            lines += [" " + row for row in old[i:j]]
        else:
            lines += ["-" + row for row in old[i:j]]
            lines += ["+" + row for row in new[k:n]]
    return lines


def hunk_between(old: Sequence[str], new: Sequence[str], start: int | None = None) -> Hunk:
    """One hunk that turns all of `old` into `new` (rows without terminators)."""
    return Hunk(tuple(signed(opcodes(old, new), old, new)), start)
