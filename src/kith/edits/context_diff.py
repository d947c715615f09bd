"""Rewrite context diffs, as `diff -c` prints them, to unified ones."""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from msgspec import Struct

from kith.core.patterns import lazy_pattern
from kith.edits.edit_types import EditError

CONTEXT_HEAD = r"\*\*\* \S.*\n--- \S.*\n\*{15}"
_STARS = "*" * 15
_OLD = lazy_pattern(r"^\*\*\* (\d{1,9})(?:,(\d{1,9}))? \*{4}\s*$")
_NEW = lazy_pattern(r"^--- (\d{1,9})(?:,(\d{1,9}))? -{4}\s*$")
_NO_NEWLINE = "\\ No newline at end of file"


class _Line(Struct):
    """One line of a half: its sign (" ", "-", "+" or "!"), its text, and if no newline follows it."""

    sign: str
    text: str
    bare: bool = False


def as_unified(lines: Sequence[str]) -> list[str]:
    """The lines, with the context diffs among them rewritten. Raises EditError for a broken one."""
    if not any(line[:15] == _STARS for line in lines):
        return list(lines)
    out, row = list[str](), 0
    while row < len(lines):
        if _is_head(lines[row : row + 3]):
            out += [f"--- {lines[row][4:]}", f"+++ {lines[row + 1][4:]}"]
            row += 2
        elif lines[row].startswith(_STARS) and (old := _OLD.match("".join(lines[row + 1 : row + 2]))):
            before, row = _read_half(lines, row + 2, " -!", old[1], old[2])
            new = _NEW.match(lines[row]) if row < len(lines) else None
            if not new:
                raise EditError(f"The hunk {old[0]!r} has no second half. Send the diff again, whole.")
            after, row = _read_half(lines, row + 1, " +!", new[1], new[2])
            body = list(_merge(before or _context(after), after or _context(before), old[0]))
            counts = [sum(line[0] in signs for line in body) for signs in (" -", " +")]
            out += [f"@@ -{old[1]},{counts[0]} +{new[1]},{counts[1]} @@", *body]
        else:
            out.append(lines[row])
            row += 1
    return out


def _is_head(lines: Sequence[str]) -> bool:
    starts = ("*** ", "--- ", _STARS)
    return len(lines) == 3 and all(map(str.startswith, lines, starts)) and not _OLD.match(lines[0])


def _read_half(
    lines: Sequence[str], row: int, signs: str, first: str, last: str | None
) -> tuple[list[_Line], int]:
    """The lines of one half, and the row below it. A half without changes may be left out."""
    due = int(last) - int(first) + 1 if last else int(first != "0")
    half: list[_Line] = []
    while row < len(lines):
        line = lines[row]
        if line.startswith("\\") and half:
            half[-1].bare = True
        elif line[:1] in signs and line[1:2] == " ":
            half.append(_Line(line[0], line[2:]))
        elif not line.strip() and 0 < len(half) < due:  # a blank line that lost its blanks
            half.append(_Line(" ", ""))
        else:
            break
        row += 1
    if half and len(half) != due:
        raise EditError(f"A half of a hunk announces {due} lines and has {len(half)}. Send the diff whole.")
    return half, row


def _context(half: Sequence[_Line]) -> list[_Line]:
    return [line for line in half if line.sign == " "]


def _merge(before: Sequence[_Line], after: Sequence[_Line], header: str) -> Iterator[str]:
    """The lines of both halves as one hunk. Raises EditError where they do not agree on the context."""
    done = [0, 0]
    while done[0] < len(before) or done[1] < len(after):
        for side, (half, sign) in enumerate(((before, "-"), (after, "+"))):
            for line in takewhile(lambda each: each.sign != " ", half[done[side] :]):
                yield from _signed(sign, line)
                done[side] += 1
        old, new = before[done[0] : done[0] + 1], after[done[1] : done[1] + 1]
        if [line.text for line in old] != [line.text for line in new]:
            raise EditError(f"The two halves of the hunk {header!r} show different context.")
        for line in new:
            yield from _signed(" ", line)
        done = [each + len(new) for each in done]


def _signed(sign: str, line: _Line) -> list[str]:
    return [f"{sign}{line.text}", *([_NO_NEWLINE] if line.bare else [])]
