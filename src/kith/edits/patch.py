"""The `*** Begin Patch` form.

Source: the grammar in openai/codex, `codex-rs/apply-patch/apply_patch_tool_instructions.md`.
"""

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from kith.edits.edit_types import Create, Delete, Edit, EditError, Hunk, Patch
from kith.edits.paths import check_path

PATCH = re.compile(r"^[ \t]*\*\*\* (?:Begin Patch|(?:Update|Add|Delete) File: \S.*)[ \t\r]*$", re.M)
_FILE = re.compile(r"^\s*\*\*\* (Add|Delete|Update) File: (.+?)\s*$")
_MOVE = re.compile(r"^\s*\*\*\* Move to: (.+?)\s*$")
_BEGIN = re.compile(r"^\s*\*\*\* Begin Patch\s*$")
_END = re.compile(r"^\s*\*\*\* End Patch\s*$")
_END_OF_FILE = re.compile(r"^\s*\*\*\* End of File\s*$")
_NUMBERS = re.compile(r"^@@ -(\d{1,18})(?:,\d+)? \+\d+(?:,\d+)? @@")


def parse_patch(lines: Sequence[str], known: Collection[str]) -> list[Edit]:
    """The edits between `*** Begin Patch` and `*** End Patch`. Raises EditError when it is broken."""
    edits: list[Edit] = []
    for body in _bodies(lines):
        starts = [row for row, line in enumerate(body) if _FILE.match(line)]
        stray = next((line for line in body[: starts[0] if starts else None] if line.strip()), "")
        if stray:
            raise EditError(f"{stray!r} does not begin the part of a file, as '*** Update File: name' does.")
        for row, after in pairwise([*starts, len(body)]):
            edits.append(_read_file(body[row], body[row + 1 : after], known))
    if not edits:
        raise EditError("The patch changes no file. Write '*** Update File: name' and the hunks below it.")
    return edits


def _bodies(lines: Sequence[str]) -> list[Sequence[str]]:
    """Split a patch at its marker lines; some models leave both out."""
    begins = [row for row, line in enumerate(lines) if _BEGIN.match(line)]
    if not begins:
        first = next(row for row, line in enumerate(lines) if _FILE.match(line))
        ends = (row for row in range(first, len(lines)) if _END.match(lines[row]))
        return [lines[first : next(ends, len(lines))]]
    bodies = []
    for row, after in pairwise([*begins, len(lines)]):
        end = next((i for i in range(row, after) if _END.match(lines[i])), None)
        if end is None:
            raise EditError("The patch has no '*** End Patch' line, so it may be cut. Send it again, whole.")
        _check_heredoc(lines[row - 1] if row else "")
        bodies.append(lines[row + 1 : end])
    return bodies


def _check_heredoc(line: str) -> None:
    if "<<" in line and not re.search(r"""<<-?\s*(["']?)\w+\1\s*$""", line):
        raise EditError(f"{line.strip()!r} does not open a here-document; send the patch without it.")
    if "<<" in line and re.search(r"(?:^|[\s;&|'\"])(?:cd|pushd)\s", line):
        raise EditError(f"{line.strip()!r} changes the folder; name files relative to the project's root.")


def _read_file(head: str, body: Sequence[str], known: Collection[str]) -> Edit:
    match = _FILE.match(head)
    assert match
    action, path = match[1], match[2].removeprefix("./")
    check_path(path, path in known)
    if action == "Delete":
        _refuse_rest(body, path)
        return Delete(path)
    if action == "Add":
        return Create(path, _content(body, path))
    moved_to = None
    if body and (move := _MOVE.match(body[0])):
        moved_to, body = check_path(move[1]), body[1:]
    hunks = _read_hunks(body, path)
    if not hunks and not moved_to:
        raise EditError(f"The part for {path} changes nothing; write its hunks below the file's name.")
    return Patch(path, hunks, moved_to)


def _refuse_rest(body: Sequence[str], path: str) -> None:
    if stray := next((line for line in body if line.strip()), ""):
        raise EditError(f"{stray!r} does not belong below '*** Delete File: {path}'.")


def _content(body: Sequence[str], path: str) -> str:
    """The text of a new file: lines that begin with "+"."""
    rows = list(body)
    while rows and not rows[-1].strip():
        rows.pop()
    if stray := next((line for line in rows if not line.startswith("+")), ""):
        raise EditError(f"{stray!r} in the new file {path} must begin with '+', as all lines there.")
    return "".join(line[1:] + "\n" for line in rows)


def _read_hunks(body: Sequence[str], path: str) -> tuple[Hunk, ...]:
    hunks: list[Hunk] = []
    anchors: list[str] = []
    start: int | None = None
    lines: list[str] = []
    for line in [*body, "@@"]:
        if line.startswith("@@") or _END_OF_FILE.match(line):
            if any(lines):
                hunks.append(make_hunk(lines, start, anchors, at_end=not line.startswith("@@")))
                start, anchors = None, []
            lines = []
        if line.startswith("@@"):
            start, anchor = _position(line)
            anchors += [anchor] if anchor else []
        elif line[:1] in ("", " ", "+", "-", "\\"):
            lines.append(line)
        elif not _END_OF_FILE.match(line):
            raise EditError(f"{line!r} in the patch of {path} begins with none of ' ', '+' and '-'.")
    if anchors:
        raise EditError(f"A hunk of {path} has no lines below {anchors[-1]!r}.")
    return tuple(hunks)


def _position(header: str) -> tuple[int | None, str]:
    """The line number, or else the line to look below, of a `@@` line."""
    if numbers := _NUMBERS.match(header):
        return int(numbers[1]), ""
    anchor = header.strip("@ \t")
    return None, anchor if anchor.strip(".") else ""


def make_hunk(lines: Sequence[str], start: int | None, anchors: Sequence[str], at_end: bool) -> Hunk:
    """A hunk of this form, in which every new line ends with a newline, whatever the replaced one did."""
    kept = list(lines)
    while not kept[-1]:  # a blank line between hunks, not one of the file
        kept.pop()
    kept = [line or " " for line in kept]
    removed = [row for row, line in enumerate(kept) if line[0] == "-"]
    if removed and kept[-1][0] == "+":
        kept.insert(removed[-1] + 1, "\\ No newline at end of file")
    appends = not anchors and all(line[0] == "+" for line in kept)
    return Hunk(tuple(kept), start, None, tuple(anchors), at_end or appends)
