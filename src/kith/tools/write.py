"""Write whole files: create, overwrite, append."""

from collections.abc import Mapping
from typing import Any

from kith.core.errors import TreeError
from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import ToolResult
from kith.tools.answers import fault_of, in_words, refused, sentence, told
from kith.tools.lines import count, decode, lines_of, split_lines
from kith.tools.paths import inner_path, path_of, visible
from kith.tools.syntax import new_syntax_error


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
    line = _summary(visible(path), before, content, append)
    note = new_syntax_error(path, before or b"", after)
    return told(f"{line}.\n{note}" if note else f"{line}.", line)


def _summary(path: str, before: bytes | None, content: str, append: bool) -> str:
    lines = count(len(split_lines(content)), "line")
    if append:
        return f"Appended {lines} to {path}"
    if before is None:
        return f"Created {path} with {lines}"
    return f"Overwrote {path}: {lines} now, {len(lines_of(before)):,} before"


def _joined(before: bytes, content: str) -> bytes:
    """What was there and, on a line of its own, what comes now."""
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
    "Create, overwrite or append to a file.",
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
