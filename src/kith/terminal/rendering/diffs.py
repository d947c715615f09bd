"""Changes as a person reads them in a terminal: numbered lines in colour, changed words marked."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from msgspec import Struct, field

from kith.core.values import EXECUTABLE, FILE, SYMLINK, FileChange
from kith.edits.rows import Spans, changed_words
from kith.terminal.rendering.code import colour_lines, language_of
from kith.terminal.rendering.glyphs import UNICODE, Glyphs
from kith.terminal.rendering.spans import Line, Span, cells, columns_of, cut, merged, split_cells, wrap
from kith.view.lines import count
from kith.view.printing import folded, printable

# A unified diff taken apart, whoever made it: what happened to the file, and its numbered rows.

_SPAN: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_MODES: Final = {FILE: "an ordinary file", EXECUTABLE: "executable", SYMLINK: "a symbolic link"}
_KNOWN: Final = (
    *("old mode ", "new mode ", "new file mode ", "deleted file mode ", "rename from ", "rename to "),
    *("copy from ", "copy to ", "similarity index ", "Binary files ", "GIT binary patch"),
)


class DiffRow(Struct, frozen=True):
    """A line of a piece: its sign, its words, its number (before for what is removed, else after)."""

    sign: str
    words: str
    number: int


class DiffPiece(Struct, frozen=True):
    """Rows that belong together; `place` is what the diff says of where they are, such as a function."""

    rows: tuple[DiffRow, ...]
    place: str = ""


class Diff(Struct, frozen=True):
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


CONTEXT: Final = 8  # unchanged lines around a change; beyond them they are counted
_COLOURED: Final = 60_000  # characters of a diff; beyond it colours take longer than anybody waits
_COMPARED: Final = 2_000  # changed rows of a diff that are held against each other
_ROLES: Final = {"+": "diff.added", "-": "diff.removed", " ": ""}
_TAB: Final = 4


def changes_lines(
    files: Sequence[FileChange], width: int, glyphs: Glyphs = UNICODE, *, most: int | None = None
) -> list[Line]:
    """Every file under its own head, then a line that counts. `most` bounds the lines of each file."""
    lines: list[Line] = []
    moved = _moved(files)
    for file in files:
        if file.path in moved.values():
            continue  # it is told where it went
        origin = next((old for new, old in moved.items() if new == file.path), "")
        lines += [*moved_lines(origin, file, width, glyphs), ()] if origin else []
        lines += [] if origin else [*diff_lines(file, width, glyphs, most=most), ()]
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    return [*lines, (Span(f"{count(len(files), 'file')}, ", "title"), *_counts(added, removed))]


def diff_lines(
    file: FileChange, width: int, glyphs: Glyphs = UNICODE, *, most: int | None = None
) -> list[Line]:
    """One file: its path and what happened to it, then its changed lines with some around them."""
    diff = read_diff(file.diff)
    head = _head(file, diff, width, glyphs)
    rows = piece_lines(diff.pieces, file.path, width, glyphs)
    if most is not None and len(rows) > most:
        left_out = f"{len(rows) - most:,} more lines"
        rows = [*rows[:most], (Span(f"  {glyphs.more} {left_out}", "dim"),)]
    return [*head, *rows]


def hunk_lines(diff: str, path: str, width: int, glyphs: Glyphs = UNICODE) -> list[Line]:
    """A piece of a diff by itself, such as `Hunk.text`; what is no lines is told in words."""
    read = read_diff(diff)
    if read.pieces:
        return piece_lines(read.pieces, path, width, glyphs)
    return [(Span(f"  {_fold(read.state or diff.strip())}", "dim"),)]


def moved_lines(origin: str, file: FileChange, width: int, glyphs: Glyphs) -> list[Line]:
    """A file that only went to another place."""
    path = f"{_path(origin)} {glyphs.arrow} {_path(file.path)}"
    return [cut((Span(path, "diff.path"), Span("  moved, unchanged", "dim")), width, glyphs.more)]


def piece_lines(pieces: Sequence[DiffPiece], path: str, width: int, glyphs: Glyphs = UNICODE) -> list[Line]:
    """The rows of some pieces, each beside its number; what is between two pieces is told by a sign."""
    rows = [row for piece in pieces for row in piece.rows]
    gutter = len(str(max((row.number for row in rows), default=0))) + 1
    coloured = sum(len(row.words) for row in rows) <= _COLOURED
    compared = sum(row.sign in "+-" for row in rows) <= _COMPARED
    lines: list[Line] = []
    for number, piece in enumerate(pieces):
        if number or piece.place:
            place = f" {_fold(piece.place)}" if piece.place else ""
            lines.append(cut((Span(f"{'':{gutter}} {glyphs.more}{place}", "dim"),), width, glyphs.more))
        lines += _piece(piece, path if coloured else "", compared, gutter, width, glyphs)
    return lines


# --- the head --------------------------------------------------------------------------------


def _head(file: FileChange, diff: Diff, width: int, glyphs: Glyphs) -> list[Line]:
    state = f"  {_fold(diff.state)}" if diff.state else ""
    state += {None: "", True: "  planned", False: "  unplanned"}[file.planned]
    counts = (Span("  "), *_counts(file.added, file.removed)) if file.added or file.removed else ()
    room = max(width - columns_of(counts) - cells(state), 20)
    path = cut((Span(_path(file.path), "diff.path"),), room, glyphs.more)
    told = (Span(f"{glyphs.warning} {_fold(file.warning)}", "note strong"),)
    warning = wrap(told, width) if file.warning else []
    return [(*path, Span(state, "dim"), *counts), *warning]


def _counts(added: int, removed: int) -> Line:
    return (Span(f"+{added:,}", "good"), Span(" "), Span(f"-{removed:,}", "bad"))


def _path(path: str) -> str:
    """A path in one line, whatever it holds."""
    return printable(path).replace("\n", "\\n").replace("\t", "\\t")


def _moved(files: Sequence[FileChange]) -> dict[str, str]:
    """New path by old one, of files that are the same in another place."""
    gone = {_body(file, "-"): file.path for file in files if file.removed and not file.added}
    found = {}
    for file in files:
        origin = gone.pop(_body(file, "+"), "") if file.added and not file.removed else ""
        if origin:
            found[file.path] = origin
    return found


def _body(file: FileChange, sign: str) -> tuple[str, str]:
    """The content of a whole file, so that a new and a deleted one can be compared; unique for others."""
    begun = {"-": "deleted file mode ", "+": "new file mode "}[sign]
    head, _, rows = file.diff.partition("\n@@ ")
    mode = next((line.removeprefix(begun) for line in head.split("\n") if line.startswith(begun)), "")
    if not mode or not rows or file.warning:
        return (file.path, sign)
    return (mode, "\n".join(line[1:] if line[0] == sign else line for line in rows.split("\n")[1:-1]))


# --- rows ------------------------------------------------------------------------------------


def _piece(
    piece: DiffPiece, path: str, compared: bool, gutter: int, width: int, glyphs: Glyphs
) -> Iterator[Line]:
    ends = "\r" if all(row.words.endswith("\r") for row in piece.rows if row.sign != "\\") else ""
    texts = {row: _fold(row.words.removesuffix(ends)) for row in piece.rows}
    tokens = _coloured(piece.rows, texts, path)
    marks = _marked(piece.rows, texts) if compared else {}
    for row in fold_context(piece.rows, CONTEXT):
        if isinstance(row, str):
            yield (Span(f"{'':{gutter}} {glyphs.more} {row}", "dim"),)
        elif row.sign == "\\":
            yield (Span(f"{'':{gutter}}  (no line break at the end)", "dim"),)
        else:
            role = _ROLES.get(row.sign, "")
            spans = _with_marks(tokens.get(row, (Span(texts[row]),)), marks.get(row, ()), role)
            yield from _row(row, spans, role, gutter, width, glyphs)
    if ends:
        yield (Span(f"{'':{gutter}}  (lines end as on Windows)", "dim"),)


def _row(row: DiffRow, spans: Line, role: str, gutter: int, width: int, glyphs: Glyphs) -> Iterator[Line]:
    """A row on as many lines as it takes; its colour goes on to the edge."""
    room = max(width - gutter - 2, 20)
    number = (Span(f"{row.number:>{gutter}} ", "diff.number"),)
    beside = (Span(f"{'':{gutter}} ", "diff.number"),)
    signed = f"{role}.text {role} {role}.sign" if role else ""
    sign, again = (Span(mark, signed) for mark in (row.sign, glyphs.wrapped))
    for at, part in enumerate(_parts(spans, room)):
        line = merged([*(beside if at else number), again if at else sign, *part])
        yield _banded(line, role, width)


def _banded(line: Line, role: str, width: int) -> Line:
    gap = width - columns_of(line)
    return (*line, Span(" " * gap, role)) if role and gap > 0 else line


def _parts(spans: Line, room: int) -> Iterator[Line]:
    """A line in parts of so many columns; code is not broken between words."""
    part: list[Span] = []
    left = room
    for span in spans:
        text = span.text
        while cells(text) > left:
            head, text = split_cells(text, left)
            if not head and left == room:
                head, text = text[:1], text[1:]
            yield (*part, Span(head, span.role))
            part, left = [], room
        part.append(Span(text, span.role))
        left -= cells(text)
    yield tuple(part)


def _fold(text: str) -> str:
    return folded(printable(text).replace("\n", "\\n").expandtabs(_TAB))


# --- colours and marks -----------------------------------------------------------------------


def _coloured(rows: Sequence[DiffRow], texts: dict[DiffRow, str], path: str) -> dict[DiffRow, Line]:
    """The words of code; each side is read as one text, so that what began above is known."""
    language = language_of(path)
    if not language:
        return {}
    found: dict[DiffRow, Line] = {}
    for sign in "-+":
        side = [row for row in rows if row.sign in (sign, " ")]
        coloured = colour_lines([texts[row] for row in side], language)
        found |= dict(zip(side, coloured, strict=True))
    return found


def _marked(rows: Sequence[DiffRow], texts: dict[DiffRow, str]) -> dict[DiffRow, Spans]:
    """The characters that differ between removed and added rows, compared one by one."""
    found: dict[DiffRow, Spans] = {}
    for stayed, group in groupby((row for row in rows if row.sign != "\\"), key=lambda row: row.sign == " "):
        if stayed:
            continue
        block = list(group)
        removed, added = ([row for row in block if row.sign == sign] for sign in "-+")
        for old, new in zip(removed, added, strict=False):
            found[old], found[new] = changed_words(texts[old], texts[new])
    for row in rows:
        words = texts[row]
        if row.sign == "+" and words != words.rstrip():  # blanks at a line's end are seen by nobody
            found[row] = [
                *_before(found.get(row, []), len(words.rstrip())),
                (len(words.rstrip()), len(words)),
            ]
    return found


def _before(spans: Spans, end: int) -> Spans:
    return [(left, min(right, end)) for left, right in spans if left < end]


def _with_marks(spans: Line, marks: Spans | tuple[()], role: str) -> Line:
    """A row's spans in the colour of its sign, with what changed in a stronger one."""
    if not role:
        return tuple(Span(span.text, f"{span.role} diff.stayed") for span in spans)
    out: list[Span] = []
    at = 0
    for span in spans:
        begin, end = at, at + len(span.text)
        own = " ".join(filter(None, (f"{role}.text", span.role, role)))
        for left, right in marks:
            left, right = max(left, at), min(right, end)
            if left < right:
                out.append(Span(span.text[at - begin : left - begin], own))
                out.append(Span(span.text[left - begin : right - begin], f"{own} {role}.word"))
                at = right
        out.append(Span(span.text[at - begin :], own))
        at = end
    return merged(out)
