"""Edit files: replace a piece, write or append a whole file, and tell at once when a Python file broke."""

import ast
import platform
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from kith.core.errors import TreeError
from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import ToolResult
from kith.edits import EditError, replace_text
from kith.edits.rows import opcodes
from kith.tools.answers import (
    clip,
    count,
    decode,
    fault_of,
    in_words,
    left_out,
    lines_of,
    numbered,
    refused,
    sentence,
    split_lines,
    told,
)
from kith.tools.paths import inner_path, path_of, similar, visible

# Tell a model at once when its change broke a Python file.


def new_syntax_error(path: str, before: bytes, after: bytes) -> str:
    """A sentence on the syntax error that a change introduced into a Python file, or "".

    A file that could not be parsed before says nothing: it may be written for another Python, or be meant so.
    """
    if not path.endswith((".py", ".pyi")):
        return ""
    fault = _fault(after)
    if not fault or _fault(before):
        return ""
    python = f"Python {platform.python_version()}"
    return f"Note: this is saved, but {python} now finds a syntax error in {fault}."


def _fault(source: bytes) -> str:
    """Return the place and message of a Python syntax error, or ""."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(source)
        except SyntaxError as error:
            return f"line {error.lineno or 1}: {error.msg}"
        except (ValueError, RecursionError, MemoryError) as error:
            return f"the file: {error or 'it is nested too deeply'}"
    return ""


AROUND = 2  # unchanged lines shown above and below a change
SHOWN = 24  # lines of a change that are shown
WIDTH = 300  # characters of a line
PLACES = 5  # line numbers that are told


@in_words
async def _edit(args: Mapping[str, Any], run: Run) -> ToolResult:
    path = inner_path(run, args["path"])
    try:
        before = await run.workspace.read(path)
    except TreeError as error:
        files = await run.workspace.files()
        hint = "" if path in files else f"{similar(path, files)} To create a file, use write."
        return refused(f"{sentence(error)}{hint}", fault_of(error))
    try:
        after = _replaced(before, args, path)
    except EditError as error:
        return refused(str(error))
    except UnicodeEncodeError:
        return refused(f"Nothing was changed: {visible(path)} is Latin-1 and cannot hold all of new.")
    await run.workspace.write(path, after)
    new = lines_of(after)
    spans = _changed_spans(lines_of(before), new)
    added, removed = sum(span.last - span.first for span in spans), sum(span.removed for span in spans)
    note = new_syntax_error(path, before, after)
    # A text that stood there exactly needs no second look: what the model wrote is what stands there now.
    exact = args["old"].encode("utf-8", "surrogatepass") in before and not args.get("all", False)
    shown = [] if exact and not note else _around(new, spans)
    places = _places(spans, args.get("all", False))
    changed = f"Changed {places}." if exact else f"Changed {places} (+{added} -{removed})."
    line = f"{visible(path)} +{added} -{removed}"
    return told("\n".join((changed, *shown, *([note] if note else []))), line)


def _replaced(before: bytes, args: Mapping[str, Any], path: str) -> bytes:
    """The file's new content, in its own encoding. Raises EditError; UnicodeEncodeError for Latin-1."""
    everywhere = args.get("all", False)
    text, is_utf8 = decode(before)
    if is_utf8:
        return replace_text(before, args["old"], args["new"], path, everywhere)
    # The model was shown Latin-1 as text, so its `old` is text as well.
    return replace_text(text.encode(), args["old"], args["new"], path, everywhere).decode().encode("latin-1")


class _RowEdit(Struct, frozen=True):
    """New lines (from 0, end exclusive) that replace so many old ones."""

    first: int
    last: int
    removed: int


def _changed_spans(old: Sequence[str], new: Sequence[str]) -> list[_RowEdit]:
    """Return the spans of new lines that differ."""
    return [_RowEdit(k, n, j - i) for tag, i, j, k, n in opcodes(old, new) if tag != "equal"] or [
        _RowEdit(0, 0, 0)
    ]


def _places(spans: Sequence[_RowEdit], everywhere: bool) -> str:
    """The numbers of the new lines: `line 9`, or `lines 4-12`; of an edit in many places the first ones."""
    if everywhere and len(spans) > 1:
        more = f" and {len(spans) - PLACES} more" if spans[PLACES:] else ""
        return f"lines {', '.join(str(span.first + 1) for span in spans[:PLACES])}{more}"
    first, last = spans[0].first + 1, spans[-1].last  # lines between that stayed are part of it
    return f"lines {first}-{last}" if last > first and not everywhere else f"line {first}"


def _around(lines: Sequence[str], spans: Sequence[_RowEdit]) -> list[str]:
    """The changed lines, numbered, with a few around them; what is too much is left out."""
    shown = sorted(
        {
            index
            for span in spans
            for index in range(max(span.first - AROUND, 0), min(span.last + AROUND, len(lines)))
        }
    )
    rows = [numbered(index + 1, clip(lines[index], WIDTH)) for index in shown]
    if len(rows) > SHOWN:
        half = SHOWN // 2
        rows[half:-half] = [left_out(len(rows) - 2 * half, "line")]
    return rows


EDIT = Tool(
    "edit",
    "Replace old, copied exactly from the file, with new.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "old": {"type": "string"},
            "new": {"type": "string"},
            "all": {"type": "boolean"},
        },
        "required": ["path", "old", "new"],
    },
    "write",
    _edit,
    path_of,
)


# Write whole files: create, overwrite, append.


@in_words
async def _write(args: Mapping[str, Any], run: Run) -> ToolResult:
    path, content, append = inner_path(run, args["path"]), args["content"], args.get("append", False)
    try:
        before = await run.workspace.read(path)
    except TreeError as error:
        if append:  # the file may exist and only be unreadable: appending must never replace it
            return refused(f"{sentence(error)} To create a file, write it without append.", fault_of(error))
        before = None
    if "\0" in content or b"\0" in (before or b""):
        return refused(f"Only text can be written, and {visible(path)} or the content is binary.")
    try:
        after = _joined(before, content) if append and before else _encoded(before or b"", content)
    except UnicodeEncodeError as error:
        character = content[error.start : error.end]
        return refused(f"Nothing was written: {visible(path)} cannot hold the character {character!a}.")
    await run.workspace.write(path, after)
    done = _summary(visible(path), before, content, append)
    note = new_syntax_error(path, before or b"", after)
    return told(f"{done}.\n{note}" if note else f"{done}.", f"{visible(path)} {_size(before, after)}")


def _size(before: bytes | None, after: bytes) -> str:
    """`+12 -3`, or `+12, new`."""
    spans = _changed_spans(lines_of(before or b""), lines_of(after))
    added, removed = sum(span.last - span.first for span in spans), sum(span.removed for span in spans)
    return f"+{added}, new" if before is None else f"+{added} -{removed}"


def _summary(path: str, before: bytes | None, content: str, append: bool) -> str:
    lines = count(len(split_lines(content)), "line")
    if append:
        return f"Appended {lines} to {path}"
    if before is None:
        return f"Created {path} with {lines}"
    return f"Overwrote {path}: {lines} now, {len(lines_of(before)):,} before"


def _joined(before: bytes, content: str) -> bytes:
    """Append the content to the existing text, on a line of its own."""
    break_ = b"" if before.endswith(b"\n") else _line_end(before)
    return before + break_ + _encoded(before, content)


def _encoded(before: bytes, content: str) -> bytes:
    """The content with the encoding and the line ends that the file had. Raises UnicodeEncodeError."""
    encoding = "utf-8" if decode(before)[1] else "latin-1"
    if _line_end(before) == b"\r\n":
        content = content.replace("\r\n", "\n").replace("\n", "\r\n")
    return content.encode(encoding)


def _line_end(before: bytes) -> bytes:
    r"""`\r\n` when every line of the file ends so."""
    ends = before.count(b"\n")
    return b"\r\n" if ends and before.count(b"\r\n") == ends else b"\n"


WRITE = Tool(
    "write",
    "Write a whole file.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "content": {"type": "string"},
            "append": {"type": "boolean"},
        },
        "required": ["path", "content"],
    },
    "write",
    _write,
    path_of,
)
