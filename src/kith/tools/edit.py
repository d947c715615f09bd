"""Replace a piece of a file, and show what stands there now where that may surprise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kith.core.errors import TreeError
from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import ToolResult
from kith.tools.answers import fault_of, in_words, refused, sentence, told
from kith.tools.lines import clip, count, decode, lines_of, numbered
from kith.tools.paths import inner_path, path_of, similar, visible
from kith.tools.syntax import new_syntax_error

AROUND = 2  # unchanged lines shown above and below a change
SHOWN = 24  # lines of a change that are shown
WIDTH = 300  # characters of a line
PLACES = 5  # line numbers that are told


@in_words
async def _edit(args: Mapping[str, Any], run: Run) -> ToolResult:
    from kith.edits import EditError

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
    places = ", ".join(str(span.first + 1) for span in spans[:PLACES]) + (" ..." if spans[PLACES:] else "")
    at = f"at lines {places}" if len(spans) > 1 else f"from line {places}"
    line = f"{visible(path)}: {count(added, 'line')} in place of {removed:,}, {at}"
    note = new_syntax_error(path, before, after)
    # A text that stood there exactly needs no second look: what the model wrote is what stands there now.
    exact = args["old"].encode("utf-8", "surrogatepass") in before and not args.get("all", False)
    shown = [] if exact and not note else _around(new, spans)
    changed = f"Changed {visible(path)}:{places} (+{added} -{removed})."
    return told("\n".join((changed, *shown, *([note] if note else []))), line)


def _replaced(before: bytes, args: Mapping[str, Any], path: str) -> bytes:
    """The file's new content, in its own encoding. Raises EditError; UnicodeEncodeError for Latin-1."""
    from kith.edits import replace_text

    everywhere = args.get("all", False)
    text, is_utf8 = decode(before)
    if is_utf8:
        return replace_text(before, args["old"], args["new"], path, everywhere)
    # The model was shown Latin-1 as text, so its `old` is text as well.
    return replace_text(text.encode(), args["old"], args["new"], path, everywhere).decode().encode("latin-1")


@dataclass(frozen=True, slots=True)
class _Span:
    """New lines (from 0, end exclusive) that stand in place of so many old ones."""

    first: int
    last: int
    removed: int


def _changed_spans(old: Sequence[str], new: Sequence[str]) -> list[_Span]:
    """Where the new lines differ."""
    from kith.edits.diffing import opcodes

    return [_Span(k, n, j - i) for tag, i, j, k, n in opcodes(old, new) if tag != "equal"] or [_Span(0, 0, 0)]


def _around(lines: Sequence[str], spans: Sequence[_Span]) -> list[str]:
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
        rows[half:-half] = [f"[{count(len(rows) - 2 * half, 'line')} not shown]"]
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
