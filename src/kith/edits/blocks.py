"""Parse search/replace blocks in the forms of aider, Cline and Roo.

Sources: aider's `editblock_coder.py` (fences of 5 to 9 signs, the file name on a line above), Cline's
`diff.ts` (dashes and pluses). Roo Code's `multi-search-replace.ts` adds `:start_line:`, backslash escapes,
and line numbers in front of each line.
"""

import re
from collections.abc import Collection, Sequence

from msgspec import Struct

from kith.core.patterns import lazy_pattern
from kith.edits.edit_types import Edit, EditError, Replace
from kith.edits.paths import path_in

BLOCK = lazy_pattern(r"^([ \t]*)(?:<{3,}|-{3,}) ?SEARCH>?[ \t]*$", re.M)
_HEAD = lazy_pattern(r"^([ \t]*)(<{3,}|-{3,}) SEARCH>?[ \t]*$")
_FENCE = lazy_pattern(r"^\s*(?:```|~~~|</?(?:source|code|pre|codeblock|sourcecode)>)")
_ESCAPED = lazy_pattern(r"^\\(?=<{5,}|={5,}|>{5,}|-{5,}|\+{5,}|:(?:start|end)_line:)")
_LINE_HINT = lazy_pattern(r"^:(start|end)_line:\s*(\d{1,18})\s*$")
_UNDERLINING = (".md", ".markdown", ".rst", ".txt", ".adoc")  # where "=======" is an ordinary line
_NUMBER = lazy_pattern(r"^\s*(\d{1,18}) \| ?")


class _Dialect(Struct, frozen=True):
    """The marker lines of one dialect."""

    divider: re.Pattern[str]
    end: re.Pattern[str]


_AIDER = _Dialect(lazy_pattern(r"={5,9}[ \t]*"), lazy_pattern(r">{3,} REPLACE[ \t]*"))
_CLINE = _Dialect(lazy_pattern(r"={3,}"), lazy_pattern(r"[+>]{3,} REPLACE>?"))


def parse_blocks(lines: Sequence[str], known: Collection[str] = (), about: str = "") -> list[Edit]:
    """All blocks of a reply, in order. Raises EditError when one is broken or names no file."""
    edits: list[Edit] = []
    path, row = "", 0
    while row < len(lines):
        if not BLOCK.match(lines[row]):
            row += 1
            continue
        head = _HEAD.match(lines[row])
        if not head:
            raise EditError(f"{lines[row].strip()!r} is not a block's first line; write '<<<<<<< SEARCH'.")
        path = _path_above(lines, row, known) or path
        end, edit = _read_block(lines, row, head, path)
        path = path or about
        if not path:
            raise EditError(f"{_name(edit)} names no file. Put its path on the line above '<<<<<<< SEARCH'.")
        edits.append(Replace(path, edit.old, edit.new, edit.line))
        row = end + 1
    return edits


def _name(edit: Replace) -> str:
    first = next((line for line in edit.old.split("\n") if line.strip()), "")
    return f"The block that begins with {first.strip()!r}" if first else "A block"


def _path_above(lines: Sequence[str], row: int, known: Collection[str]) -> str:
    """The file name on one of the three lines above a block, past fences and one blank line."""
    for line in reversed(lines[max(0, row - 3) : row]):
        if line.strip() in known:
            return line.strip()
        if _FENCE.match(line) or not line.strip():
            info = line.strip().lstrip("`~").partition(":")[2].strip()
            if info and path_in(info, known):
                return path_in(info, known)
            continue
        return path_in(line, known)
    return ""


def _read_block(lines: Sequence[str], row: int, head: re.Match[str], path: str) -> tuple[int, Replace]:
    """The block whose first line is at `row`, and the row of its last line."""
    indent, dialect = head[1], _CLINE if head[2].startswith("-") else _AIDER
    where = f" for {path}" if path else ""
    end = _end_of(lines, row, dialect, indent, path)
    if end is None:
        raise EditError(f"The last block{where} has no closing '>>>>>>> REPLACE' line. Send it again, whole.")
    body = [line.removeprefix(indent) for line in lines[row + 1 : end]]
    begin, hint = _line_hint(body)
    old, new, first = _without_numbers(*_halves(body[begin:], dialect, path))
    return end, Replace(path, _text(old), _text(new), hint or first)


def _end_of(lines: Sequence[str], row: int, dialect: _Dialect, indent: str, path: str) -> int | None:
    """The row that closes a block; some models close it with a second divider, right above the fence."""
    ends = (i for i in range(row + 1, len(lines)) if _is(dialect.end, lines[i], indent))
    heads = (i for i in range(row + 1, len(lines)) if _HEAD.match(lines[i]))
    end, below = next(ends, None), next(heads, len(lines))
    if (end is not None and end < below) or path.endswith(_UNDERLINING):
        return end
    dividers = [i for i in range(row + 1, below) if _is(dialect.divider, lines[i], indent)]
    closed = len(dividers) == 2 and dividers[1] + 1 < below and _FENCE.match(lines[dividers[1] + 1])
    return dividers[1] if closed else end


def _halves(body: list[str], dialect: _Dialect, path: str) -> tuple[list[str], list[str]]:
    """Split a block at its divider. Raises EditError when the divider is missing or ambiguous."""
    dividers = [row for row, line in enumerate(body) if dialect.divider.fullmatch(line)]
    if len(dividers) > 1:
        dividers = [row for row in dividers if len(body[row].strip()) == 7]
    if len(dividers) == 2 and dividers[1] == len(body) - 1 and not path.endswith(_UNDERLINING):
        body, dividers = body[:-1], dividers[:1]  # some models close the lower half with a divider, too
    if len(dividers) != 1:
        where = f" for {path}" if path else ""
        count = "more than one '=======' line" if dividers else "no '=======' line"
        raise EditError(f"A block{where} has {count} between its two halves. Send it again, with one.")
    return body[: dividers[0]], body[dividers[0] + 1 :]


def _is(marker: re.Pattern[str], line: str, indent: str) -> bool:
    return line.startswith(indent) and bool(marker.fullmatch(line[len(indent) :]))


def _line_hint(body: Sequence[str]) -> tuple[int, int | None]:
    """Count the lines of Roo's heading, and read the line number in it."""
    row, hint = 0, None
    while row < len(body) and (match := _LINE_HINT.match(body[row])):
        hint = int(match[2]) if match[1] == "start" else hint
        row += 1
    if row and row < len(body) and re.fullmatch(r"-{5,}\s*", body[row]):
        row += 1
    return row, hint


def _without_numbers(old: list[str], new: list[str]) -> tuple[list[str], list[str], int | None]:
    """Both halves without the line numbers that some models copy from what they read, and the first one.

    Some models leave a few of them away; the others have to agree.
    """
    numbers = [(int(match[1]) - row, row) for row, line in enumerate(old) if (match := _NUMBER.match(line))]
    firsts = {first for first, _ in numbers}
    if len(firsts) != 1 or (len(numbers) < len(old) and (len(numbers) < 2 or numbers[0][1] > 0)):
        return old, new, None
    said = [line for line in new if line.strip()]
    if any(map(_NUMBER.match, said)):
        if not all(map(_NUMBER.match, said)):
            return old, new, None  # only some lines are numbered, so the numbers may be text
        new = [_NUMBER.sub("", line) for line in new]
    return [_NUMBER.sub("", line) for line in old], new, firsts.pop()


def _text(lines: Sequence[str]) -> str:
    return "".join(_ESCAPED.sub("", line) + "\n" for line in lines)
