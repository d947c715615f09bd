"""What a person wrote in an editor, with the files they named there, as the words of a task."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from acp.schema import (
    EmbeddedResourceContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from kith.core.errors import UsageError
from kith.terminal.task_input import TASK_LIMIT
from kith.view.markup import fenced
from kith.view.printing import printable

_LINES: Final = re.compile(r"L?(\d+)(?:[:-]L?(\d+))?")


def read_prompt(blocks: Sequence[Any], root: Path) -> tuple[str, tuple[Path, ...]]:
    """The words of a prompt, and the project's files that it links to.

    A link becomes the file's name in its place; what was embedded follows after all words. Raises UsageError
    for what is no text.
    """
    words: list[str] = []
    embedded: list[str] = []
    linked: list[Path] = []
    for block in blocks:
        match block:
            case TextContentBlock(text=text):
                words.append(text)
            case ResourceContentBlock(uri=uri, name=name):
                words.append(_named(uri, root) or f"{name} ({uri})")
                linked += filter(None, [_inside(uri, root)])
            case EmbeddedResourceContentBlock(resource=TextResourceContents(uri=uri, text=text)):
                name = _named(uri, root) or printable(uri)
                words.append(name)
                embedded.append(f"{name}, as it is in the editor:\n{fenced(text)}")
            case _:
                raise UsageError("kith takes text and files of text; leave images, sounds and binary out.")
    said = "\n\n".join(filter(None, ["".join(words).strip(), *embedded]))
    if len(said.encode("utf-8", "replace")) > TASK_LIMIT:
        raise UsageError(f"The prompt is over the limit of {TASK_LIMIT:,} bytes; link to files instead.")
    return said, tuple(linked)


def _path(uri: str) -> Path | None:
    """The file that an address names, None for one of another kind."""
    parts = urlsplit(uri)
    return Path(unquote(parts.path)) if parts.scheme == "file" and parts.path else None


def _inside(uri: str, root: Path) -> Path | None:
    path = _path(uri)
    return path if path and path.is_relative_to(root) else None


def _named(uri: str, root: Path) -> str:
    """`src/app.py` or `src/app.py` lines 3-9, as kith's tools call it; "" for what is no file."""
    path = _path(uri)
    if path is None:
        return ""
    if not path.is_relative_to(root):
        return f"`{printable(str(path))}` (outside of this project)"
    name = f"`{printable(path.relative_to(root).as_posix())}`"
    lines = _LINES.fullmatch(urlsplit(uri).fragment)
    if lines is None:
        return name
    first, last = lines[1], lines[2] or lines[1]
    return f"{name} line {first}" if first == last else f"{name} lines {first}-{last}"
