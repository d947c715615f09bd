"""A change in pieces: a person may keep some of them, and leave the others."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from kith.core.values import SYMLINK, Change
from kith.edits.by_hand import rows_of
from kith.edits.diffing import Opcode, opcodes
from kith.edits.forms import Hunk
from kith.edits.rows import decode, encode, is_binary, split_rows

CONTEXT = 3  # rows of context around a change, as in git
_NO_NEWLINE = "\\ No newline at end of file"


def split_hunks(change: Change) -> tuple[Hunk, ...]:
    """The pieces of a change, in order; their numbers are what `keep_hunks` takes.

    A change of mode is a piece of its own, before the others. Creating and deleting a file, and changing
    one that is not text, cannot be divided: that is one piece.
    """
    if not _divisible(change):
        return () if _is_nothing(change) else (_whole(change),)
    old, new = _rows(change.before), _rows(change.after)
    pieces = tuple(_hunk(group, old, new) for group in _groups(old, new))
    return (_mode_hunk(change), *pieces) if change.mode != change.mode_before else pieces


def keep_hunks(
    change: Change, kept: Collection[int], edited: Mapping[int, Hunk] = MappingProxyType({})
) -> Change:
    """The change with only those pieces, some as they were `edited`; with none, `after` is `before`.

    An edited piece stands where the piece with its number does, and spans the same lines of the file before.
    """
    if not _divisible(change):
        return change if 0 in kept else replace(change, after=change.before, mode=change.mode_before)
    has_mode = change.mode != change.mode_before
    old, new = _rows(change.before), _rows(change.after)
    out: list[str] = []
    done = 0
    for number, group in enumerate(_groups(old, new), start=int(has_mode)):
        if number in edited:
            out += [*old[done : group[0][1]], *rows_of(edited[number])]
            done = group[-1][2]
            continue
        for tag, i, j, k, n in group:
            out += old[done:i]
            out += new[k:n] if number in kept and tag != "equal" else old[i:j]
            done = j
    out += old[done:]
    mode = change.mode if not has_mode or 0 in kept else change.mode_before
    return replace(change, after=encode("".join(out)), mode=mode)


def is_text(change: Change) -> bool:
    """True when both sides can be shown as lines."""
    return not any(is_binary(side) for side in (change.before, change.after) if side is not None)


def _is_nothing(change: Change) -> bool:
    return change.before is None and change.after is None


def _divisible(change: Change) -> bool:
    exists = change.before is not None and change.after is not None
    kinds = (change.mode == SYMLINK) == (change.mode_before == SYMLINK)
    return exists and kinds and is_text(change)


def _rows(content: bytes | None) -> list[str]:
    return split_rows(decode(content or b""))


def _whole(change: Change) -> Hunk:
    """A change that is not divided, as one piece."""
    if not is_text(change):
        return Hunk((f"Binary file {change.path} differs",))
    old, new = _rows(change.before), _rows(change.after)
    if not old and not new:
        return Hunk((f"empty file {change.path}",))
    if old and new:
        return Hunk((f"old mode {change.mode_before:o}", f"new mode {change.mode:o}"))
    return _hunk([("replace", 0, len(old), 0, len(new))], old, new)


def _mode_hunk(change: Change) -> Hunk:
    return Hunk((f"old mode {change.mode_before:o}", f"new mode {change.mode:o}"))


def _groups(old: Sequence[str], new: Sequence[str]) -> list[list[Opcode]]:
    """Opcodes in groups, each with its context; changes closer than twice that share a group."""
    groups: list[list[Opcode]] = []
    pending: list[Opcode] = []
    codes = opcodes(old, new)
    for index, (tag, i, j, k, n) in enumerate(codes):
        if tag != "equal":
            pending.append((tag, i, j, k, n))
            continue
        if pending and (j - i > 2 * CONTEXT or index == len(codes) - 1):
            pending.append((tag, i, min(j, i + CONTEXT), k, min(n, k + CONTEXT)))
            groups.append(pending)
            pending = []
        if pending:
            pending.append((tag, i, j, k, n))
        elif index < len(codes) - 1:
            cut = max(0, j - i - CONTEXT)
            pending = [(tag, i + cut, j, k + cut, n)]
    return [*groups, pending] if any(code[0] != "equal" for code in pending) else groups


def _hunk(group: Sequence[Opcode], old: Sequence[str], new: Sequence[str]) -> Hunk:
    lines: list[str] = []
    for tag, i, j, k, n in group:
        signs = [(" ", old[i:j])] if tag == "equal" else [("-", old[i:j]), ("+", new[k:n])]
        for sign, rows in signs:
            for row in rows:
                lines.append(sign + row.removesuffix("\n"))
                lines += [] if row.endswith("\n") else [_NO_NEWLINE]
    (_, i, _, k, _), (_, _, j, _, n) = group[0], group[-1]
    # An empty side is numbered by the line before it.
    return Hunk(tuple(lines), i + (j > i), k + (n > k))
