"""Parse edits given as tool arguments: JSON, with the names of other agents' edit tools.

Sources: Anthropic's text editor tool (`command`, `old_str`, `insert_line`) and Cline's editor (`old_text`);
Claude Code's Edit and Write (`file_path`, `old_string`, `replace_all`); codex' patch chunks (`oldLines`,
`changeContext`).
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from kith.core.patterns import lazy_pattern
from kith.edits.edit_types import Create, Edit, EditError, Hunk, Insert, Patch, ReplaceString, Whole
from kith.edits.patch import make_hunk
from kith.edits.rows import opcodes, signed

Read = Callable[[str, str], Sequence[Edit]]  # a patch as text, and the file that it is about

_PATH = ("path", "file_path", "filePath", "file", "filename", "target_file")
_OLD = ("old", "old_text", "old_string", "old_str", "oldText", "oldString", "search")
_NEW = ("new", "new_text", "new_string", "new_str", "newText", "newString", "insert_text", "replace")
_CONTENT = ("content", "contents", "file_text")
_PATCH = ("patch", "diff", "input")
_ALL = ("all", "replace_all", "replaceAll")
_OLD_LINES, _NEW_LINES = ("oldLines", "old_lines"), ("newLines", "new_lines")
_LISTS = ("edits", "changes", "operations", "chunks", "tool_calls")
_CALL = ("function", "arguments", "input", "parameters", "args")
_NAMES = (*_OLD, *_NEW, *_CONTENT, *_PATCH, *_OLD_LINES)
ARGUMENTS = lazy_pattern(rf'\A\s*[\[{{](?s:.*)"(?:{"|".join(_NAMES)})\\?"\s*:')
_FENCED = lazy_pattern(r"\A\s*```\w*[ \t]*\n(.*?)\n[ \t]*```\s*\Z", re.S)
_DEEPEST = 8  # values inside values


def bare_json(text: str) -> str:
    """A reply without the fence that may enclose it."""
    fenced = _FENCED.match(text)
    return fenced[1] if fenced else text


def parse_arguments(text: str, about: str, read: Read) -> list[Edit]:
    """The edits that tool arguments ask for; [] when they ask for none. Raises EditError.

    `about` is the file of arguments that name none; `read` understands a patch inside an argument.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise EditError("The arguments are not JSON that can be read. Send them again, whole.") from None
    return list(_edits(value, about, read))


def _edits(value: Any, path: str, read: Read, depth: int = 0) -> Iterator[Edit]:
    if depth > _DEEPEST:
        raise EditError("The arguments hold values too deep inside each other.")
    if isinstance(value, list):
        for chunks, group in groupby(value, key=_is_chunk):
            if chunks:
                yield Patch(_named(path), tuple(map(_chunk, group)))
                continue
            for each in group:
                yield from _edits(each, path, read, depth + 1)
    elif isinstance(value, Mapping):
        path = _text(value, _PATH) or path
        inner = [_opened(value[key]) for key in (*_CALL, *_LISTS) if key in value]
        if within := next((each for each in inner if isinstance(each, Mapping | list)), None):
            yield from _edits(within, path, read, depth + 1)
        elif _is_chunk(value):
            yield Patch(_named(path), (_chunk(value),))
        else:
            yield from _edit(value, path, read)


def _opened(value: Any) -> Any:
    """Arguments of a call, which some servers send as JSON in a string."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _edit(value: Mapping[str, Any], path: str, read: Read) -> Iterator[Edit]:
    """Yield the edits in the arguments of one call; none for another kind of tool."""
    old, new = _text(value, _OLD), _text(value, _NEW)
    content, patch = _text(value, _CONTENT), _text(value, _PATCH)
    if patch is not None:
        yield from read(patch, path)
    elif new is not None and "insert_line" in value:
        # Anthropic's tool counts the line above, the others the line below.
        yield Insert(_named(path), _line(value) + (value.get("command") == "insert"), new)
    elif new is not None:
        yield ReplaceString(_named(path), old or "", new, any(value.get(key) is True for key in _ALL))
    elif content is not None and value.get("command") == "create":
        yield Create(_named(path), content)
    elif content is not None and old is None:
        yield Whole(_named(path), content)
    elif old is not None:
        raise EditError(f"The edit of {_named(path)} has an old text, but no new one.")


def _text(value: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """The argument under one of its names. Raises EditError when it is no text."""
    name = next((each for each in names if value.get(each) is not None), None)
    if name is None:
        return None
    if not isinstance(value[name], str):
        raise EditError(f"The value of {name!r} must be text.")
    return str(value[name])


def _line(value: Mapping[str, Any]) -> int:
    line = value["insert_line"]
    if not isinstance(line, int) or isinstance(line, bool):
        raise EditError("The value of 'insert_line' must be a whole number.")
    return line


def _named(path: str) -> str:
    if not path:
        raise EditError("An edit names no file; give its 'path'.")
    return path.removeprefix("./")


def _is_chunk(value: Any) -> bool:
    """True if the value is a hunk in codex' own form."""
    return isinstance(value, Mapping) and any(isinstance(value.get(name), list) for name in _OLD_LINES)


def _chunk(value: Mapping[str, Any]) -> Hunk:
    old, new = _lines(value, _OLD_LINES), _lines(value, _NEW_LINES)
    while old and new and old[-1] == new[-1] == "":  # the end of the last line, rather than a line
        old, new = old[:-1], new[:-1]
    if not old and not new:
        raise EditError("A chunk has neither old nor new lines.")
    anchor = _text(value, ("changeContext", "change_context")) or ""
    at_end = value.get("isEndOfFile", value.get("is_end_of_file")) is True
    return make_hunk(signed(opcodes(old, new), old, new), None, (anchor,) if anchor else (), at_end)


def _lines(value: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    lines: list[str] = next((value[name] for name in names if isinstance(value.get(name), list)), [])
    if not all(isinstance(line, str) and "\n" not in line for line in lines):
        raise EditError(f"The value of {names[0]!r} must be a list of lines.")
    return list(lines)
