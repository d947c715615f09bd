"""A unified diff taken apart, whoever made it: what happened to the file, and its numbered rows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from kith.core.values import EXECUTABLE, FILE, SYMLINK
from kith.view.lines import count

Sign = Literal[" ", "-", "+", "\\"]

_SPAN: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_MODES: Final = {FILE: "an ordinary file", EXECUTABLE: "executable", SYMLINK: "a symbolic link"}
_KNOWN: Final = (
    *("old mode ", "new mode ", "new file mode ", "deleted file mode ", "rename from ", "rename to "),
    *("copy from ", "copy to ", "similarity index ", "Binary files ", "GIT binary patch"),
)


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A line of a piece: its sign, its words, its number (before for what is removed, else after)."""

    sign: str
    words: str
    number: int


@dataclass(frozen=True, slots=True)
class DiffPiece:
    """Rows that belong together; `place` is what the diff says of where they are, such as a function."""

    rows: tuple[DiffRow, ...]
    place: str = ""


@dataclass(frozen=True, slots=True)
class Diff:
    """One file's diff. `state` says in words what happened to the whole file; "" for an ordinary edit."""

    state: str = ""
    pieces: tuple[DiffPiece, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)


def read_diff(diff: str) -> Diff:
    """The diff of one file, with its head or without. Rows are counted, never looked at."""
    lines = diff.split("\n")
    at = 0
    facts: dict[str, str] = {}
    while at < len(lines) and not lines[at].startswith("@@ "):
        for known in _KNOWN:
            if lines[at].startswith(known):
                facts[known.strip()] = lines[at].removeprefix(known)
        at += 1
    pieces = tuple(_read_pieces(lines, at))
    return Diff(_state(facts, bool(pieces)), pieces, facts)


def _read_pieces(lines: Sequence[str], at: int) -> list[DiffPiece]:
    pieces = []
    while at < len(lines) and (span := _SPAN.match(lines[at])):
        old, new = int(span[1]), int(span[3])
        left = [int(number) if number else 1 for number in span.group(2, 4)]
        rows: list[DiffRow] = []
        at += 1
        while at < len(lines) and (left[0] > 0 or left[1] > 0 or lines[at][:1] == "\\"):
            sign, words = lines[at][:1] or " ", lines[at][1:]
            rows.append(DiffRow(sign, words, old if sign == "-" else new))
            is_old, is_new = sign in " -", sign in " +"
            old, new = old + is_old, new + is_new
            left = [left[0] - is_old, left[1] - is_new]
            at += 1
        pieces.append(DiffPiece(tuple(rows), span[5].strip()))
    return pieces


def _state(facts: dict[str, str], has_rows: bool) -> str:
    """`new`, `deleted`, `new, executable`, `moved from a`, `binary`; "" when only lines changed."""
    words = []
    for fact, word in (("new file mode", "new"), ("deleted file mode", "deleted")):
        if fact in facts:
            mode = _mode(facts[fact])
            words += [word] if mode == _MODES[FILE] else [word, mode]
            words += [] if has_rows or "Binary files" in facts else ["empty"]
    for fact, word in (("rename from", "moved from"), ("copy from", "copied from")):
        if fact in facts:
            words.append(f"{word} {facts[fact]}")
    if "old mode" in facts:
        words.append(f"{_mode(facts['old mode'])} becomes {_mode(facts.get('new mode', ''))}")
    if "Binary files" in facts or "GIT binary patch" in facts:
        words.append("no text, not shown")
    return ", ".join(words)


def _mode(octal: str) -> str:
    digits = octal.strip()
    mode = int(digits, 8) if re.fullmatch("[0-7]{1,7}", digits) else 0
    return _MODES.get(mode, f"mode {digits}")


def fold_context(rows: Sequence[DiffRow], around: int) -> list[DiffRow | str]:
    """Rows with long runs of unchanged ones as their count."""
    changed = [at for at, row in enumerate(rows) if row.sign != " "]
    out: list[DiffRow | str] = []
    hidden = 0
    last = 0
    for at, row in enumerate(rows):
        while last < len(changed) and changed[last] < at - around:
            last += 1
        near = last < len(changed) and changed[last] <= at + around
        if near:
            out += [f"{count(hidden, 'unchanged line')}"] if hidden else []
            out.append(row)
            hidden = 0
        else:
            hidden += 1
    return [*out, count(hidden, "unchanged line")] if hidden else out
