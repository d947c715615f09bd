"""A change in hunks: rendered for people and `git apply`, kept in part, or edited by hand."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from kith.core.values import SYMLINK, Change, Changes, FileChange
from kith.edits.edit_types import EditError, Hunk
from kith.edits.paths import quote
from kith.edits.rows import Opcode, decode, encode, is_binary, opcodes, split_rows

# A piece of a change in a person's editor: the text that they get, and what they made of it.

_NO_NEWLINE_MARK: Final = "\\ No newline at end of file"
_WORDS: Final = """\
# A line with a blank before it stays, with "-" it goes, with "+" it comes.
# To keep a line that goes, make its "-" a blank. To leave out one that comes, delete it.
# New lines begin with "+". With nothing left, the part stays as it was.
"""


_RULES: Final = frozenset(_WORDS.split("\n")) - {""}


def draft_of(hunk: Hunk) -> str:
    """A piece as a text to be edited, with its rules behind it."""
    return f"{hunk.text}{_WORDS}"


def read_draft(text: str, hunk: Hunk) -> Hunk | None:
    """The piece as it was edited, at the same place; None where nothing was left of it.

    Lines that stay or go must be those of the file, but for blanks at their ends. Raises EditError, in one
    sentence for the person.
    """
    rows = [
        (number, row)
        for number, row in enumerate(text.split("\n"), 1)
        if row not in _RULES and not row.startswith(("@@", "\\"))
    ]
    blank: list[tuple[int, str]] = []
    while rows and not rows[-1][1].strip():
        blank.append(rows.pop())
    if not rows:
        return None
    # An empty line of the file at the end of the piece looks like one of the editor's own.
    rows += list(islice(blank, _empty_tail(hunk)))
    windows = all(line.endswith("\r") for line in hunk.lines if line[:1] in (" ", "-", "+"))
    lines = tuple(_read(rows, hunk, windows))
    return Hunk(lines, hunk.start, hunk.new_start)


def _empty_tail(hunk: Hunk) -> int:
    """The number of empty lines at the end of a piece that stay."""
    return sum(1 for _ in takewhile(lambda line: line[:1] == " " and not line.strip(), reversed(hunk.lines)))


def _read(rows: Sequence[tuple[int, str]], hunk: Hunk, windows: bool) -> Iterator[str]:
    """The numbered rows as a diff has them; what stays or goes is taken from the file itself."""
    open_ended = _open_ends(hunk)
    done = 0
    for number, row in rows:
        sign = row[:1] or " "
        if sign == "+":
            yield row if row.endswith("\r") or not windows else f"{row}\r"
        elif sign not in " -":
            raise EditError(f"Line {number} of the edited part begins with no sign: {row[:60]!r}.")
        elif done == len(hunk.old) or hunk.old[done].rstrip() != row[1:].rstrip():
            there = (
                f"where the file has {hunk.old[done][:60]!r}" if done < len(hunk.old) else "behind its end"
            )
            raise EditError(f"Line {number} of the edited part has {row[1:61]!r} {there}.")
        else:
            yield sign + hunk.old[done]
            done += 1
        if sign != "+" and done == len(hunk.old) and "old" in open_ended:
            yield _NO_NEWLINE_MARK
    if done < len(hunk.old):
        raise EditError(f"The edited part lacks a line of the file: {hunk.old[done][:60]!r}.")
    if "new" in open_ended and rows[-1][1][:1] == "+":
        yield _NO_NEWLINE_MARK


def _open_ends(hunk: Hunk) -> frozenset[str]:
    """Return the sides ("old", "new") of a hunk that end without a line break."""
    found: set[str] = set()
    for line, following in zip(hunk.lines, hunk.lines[1:], strict=False):
        if following.startswith("\\"):
            found |= {"old", "new"} if line[:1] == " " else {"old"} if line[:1] == "-" else {"new"}
    return frozenset(found)


def rows_of(hunk: Hunk) -> list[str]:
    """The rows that a piece leaves in the file, with their line breaks."""
    rows: list[str] = []
    open_ended = 0  # the row that has none, counted from 1
    kept = False
    for line in hunk.lines:
        if line.startswith("\\"):
            open_ended = len(rows) if kept else open_ended
        else:
            kept = line[:1] in (" ", "+")
            rows += [f"{line[1:]}\n"] if kept else []
    if rows and open_ended == len(rows):
        rows[-1] = rows[-1].removesuffix("\n")
    return rows


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

    An edited hunk replaces the one with its number, and spans the same lines of the file before.
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


# Changes as people read them, and as `git apply` takes them.


def unified_diff(change: Change) -> str:
    """One change as git prints it; bytes that are not UTF-8 are surrogate escapes.

    Source: git's `Documentation/diff-generate-patch`.
    """
    old, new = quote(f"a/{change.path}"), quote(f"b/{change.path}")
    lines = [f"diff --git {old} {new}", *_mode_lines(change)]
    before = "/dev/null" if change.before is None else old
    after = "/dev/null" if change.after is None else new
    if change.before != change.after and not is_text(change):
        lines.append(f"Binary files {before} and {after} differ")
    hunks = [hunk for hunk in split_hunks(change) if hunk.start is not None]
    if hunks:
        lines += [f"--- {_ended(before)}", f"+++ {_ended(after)}"]
    for hunk in hunks:
        lines += [hunk.header, *hunk.lines]
    return "".join(line + "\n" for line in lines)


def summarise(changes: Changes) -> tuple[FileChange, ...]:
    """Each changed file with its added and removed lines counted."""
    return tuple(_summary(change) for change in changes)


def _summary(change: Change) -> FileChange:
    lines = [line for hunk in split_hunks(change) if hunk.start is not None for line in hunk.lines]
    added, removed = (sum(line[0] == sign for line in lines) for sign in "+-")
    return FileChange(change.path, added, removed, unified_diff(change))


def _mode_lines(change: Change) -> list[str]:
    if change.before is None:
        return [f"new file mode {change.mode:o}"]
    if change.after is None:
        return [f"deleted file mode {change.mode_before:o}"]
    if change.mode != change.mode_before:
        return [f"old mode {change.mode_before:o}", f"new mode {change.mode:o}"]
    return []


def _ended(name: str) -> str:
    """git ends a name that contains blanks with a tab."""
    return name + "\t" if " " in name and not name.startswith('"') else name
