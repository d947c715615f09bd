"""Text as rows that keep every byte, two texts compared by row and by word, and the lines changed."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from kith.core.values import Change
from kith.edits.edit_types import EditError, Hunk

BOM = "\ufeff"


def decode(content: bytes) -> str:
    """Bytes as text; what is not UTF-8 survives as surrogate escapes."""
    return content.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """The inverse of `decode`. Raises EditError for characters that no file can hold."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise EditError(f"The text holds half a character (U+{code:04X}), which no file can hold.") from None


def split_rows(text: str) -> list[str]:
    """Rows with their newlines; only the last may lack one.

    Never `str.splitlines`: that also splits at form feeds, U+0085 and U+2028.
    """
    rows = [row + "\n" for row in text.split("\n")]
    last = rows.pop()[:-1]
    return [*rows, last] if last else rows


def split_keys(text: str) -> list[str]:
    """The rows of a text without their terminators."""
    return keys_of(text.split("\n"), "\r" in text)


def keys_of(rows: list[str], returns: bool) -> list[str]:
    """The same for a text that was split at its newlines; `returns`: it has carriage returns."""
    rows = rows if rows[-1] else rows[:-1]
    return [row.removesuffix("\r") for row in rows] if returns else rows


def terminator(rows: Sequence[str], file: Sequence[str]) -> str:
    """The terminator that most of `rows` have, or most of the file when they are undecided."""
    for sample in (rows, file):
        ended = [row for row in sample if row.endswith("\n")]
        crlf = sum(row.endswith("\r\n") for row in ended)
        if crlf * 2 != len(ended):
            return "\r\n" if crlf * 2 > len(ended) else "\n"
    return "\n"


def is_binary(content: bytes) -> bool:
    """True when the content is not text (it holds a NUL byte)."""
    return b"\0" in content


# Comparing rows: what stays, what goes, what comes.

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


# Which words of a changed line are new: two versions of a line held against each other.

Spans = list[tuple[int, int]]  # from, to: characters of a line

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST = 600  # characters of a line that is looked into
_ALIKE = 0.4  # of a line's characters that must have stayed, else it is another line


def changed_words(old: str, new: str) -> tuple[Spans, Spans]:
    """The places of an old and a new line that differ; nothing where the lines have little in common."""
    if old == new or max(len(old), len(new)) > _LONGEST:
        return [], []
    a, b = _WORD.findall(old), _WORD.findall(new)
    head = _same(a, b)
    tail = _same(a[head:][::-1], b[head:][::-1])
    middle = SequenceMatcher(None, a[head : len(a) - tail], b[head : len(b) - tail], autojunk=False)
    gone: list[tuple[int, int]] = []
    come: list[tuple[int, int]] = []
    for tag, i, j, k, n in middle.get_opcodes():
        if tag != "equal":
            gone.append((i + head, j + head))
            come.append((k + head, n + head))
    found = _places(a, gone), _places(b, come)
    stayed = len(old) - sum(end - begin for begin, end in found[0])
    return found if stayed >= _ALIKE * max(len(old), len(new)) else ([], [])


def _same(a: Sequence[str], b: Sequence[str]) -> int:
    """Count the words that two lists share at the start."""
    count = 0
    for one, other in zip(a, b, strict=False):
        if one != other:
            break
        count += 1
    return count


def _places(words: Sequence[str], ranges: Spans) -> Spans:
    """Ranges of words as ranges of characters; what only blanks part becomes one."""
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    found: Spans = []
    for begin, end in ranges:
        if begin == end:
            continue
        if found and not "".join(words[starts.index(found[-1][1]) : begin]).strip():
            found[-1] = (found[-1][0], starts[end])
        else:
            found.append((starts[begin], starts[end]))
    return found


# Which lines of a file a change added or changed.


def rows_of(content: bytes | None) -> list[str]:
    """A file's lines as the tools count them, without their ends."""
    text = (content or b"").decode("utf-8", "replace").replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n") if text else []


def changed_lines(change: Change) -> frozenset[int]:
    """The numbers, from 1, of the lines after the change that were not there before it."""
    codes = opcodes(rows_of(change.before), rows_of(change.after))
    return frozenset(at + 1 for tag, _, _, begin, end in codes if tag != "equal" for at in range(begin, end))


def touched_lines(change: Change) -> frozenset[int]:
    """The changed lines, and both neighbours of each place where lines were only taken out."""
    codes = opcodes(rows_of(change.before), rows_of(change.after))
    seams = (begin for tag, _, _, begin, _ in codes if tag == "delete")
    return changed_lines(change) | {line for at in seams for line in (at, at + 1) if line}
