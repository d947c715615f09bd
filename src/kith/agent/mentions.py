"""Files that a person names in a task (`@src/app.py`): which there are, and what a model gets of them."""

import asyncio
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.asking.terms import Terms
from kith.agent.knowledge import with_nested
from kith.agent.project import Project
from kith.context.compact import NAMED
from kith.context.secrets import is_secret_file
from kith.core.errors import TreeError
from kith.core.events import Notice
from kith.core.line_ranges import Passage
from kith.core.model import Tool
from kith.core.pictures import MOST_BYTES, SUFFIXES, read_picture
from kith.core.run import Run
from kith.core.values import Image, Message, ToolResult
from kith.models.stack import Opened
from kith.tools import ReadLimits
from kith.tools.answers import refused, sentence
from kith.tools.files import make_read
from kith.tools.paths import inner_path, visible
from kith.trees.listing import list_ignored

# `@path`, `@path:10-40` or `@"a path with blanks"`, at the beginning of a word.
_NAMED: Final = re.compile(r"(?<![^\s(\[{,;:])@(?:\"([^\"\n]+)\"|([^\s\"]+))")
_LINES: Final = re.compile(r"(?::|#L)(\d{1,7})(?:-L?(\d{1,7}))?$")
_PATH: Final = re.compile(r"/|\.\w{1,4}$")  # it looks like one
_AROUND: Final = ".,;:!?)]}>'"  # what may stand behind a name and is not its own
_MOST: Final = 12  # files of one task


# An absolute path of a picture as terminals paste it: quoted, with escaped blanks, or as an address.
_PASTED: Final = re.compile(
    r"(?<!\S)(?:'(/[^'\n]+)'|\"(/[^\"\n]+)\"|((?:file://)?/(?:\\.|[^\s\\'\"])+))(?!\S)"
)


class Mention(Struct, frozen=True):
    """A path as it was written, and the lines that are meant (0: from the first, to the last)."""

    path: str
    start: int = 0
    end: int = 0


async def list_paths(project: Project) -> tuple[Sequence[str], Sequence[str]]:
    """List paths that a person can name: files, and paths ignored by git; none with a secret's name."""
    files, ignored = await asyncio.gather(project.tree.files(), list_ignored(project.root))
    return (
        [path for path in files if not is_secret_file(path)],
        [path for path in ignored if not is_secret_file(path.rstrip("/"), ignored=True)],
    )


class MentionedFiles(Struct, frozen=True):
    """The files that a task names: their text for the model, and the pictures among them."""

    text: str = ""
    images: tuple[Image, ...] = ()


async def read_named(
    terms: Terms, opened: Opened, words: str, said: Sequence[Message] = ()
) -> MentionedFiles:
    """Read the files that a task names, for the model.

    The text is that of the model's own read tool, with the same limits. Paths outside the tree are refused,
    and so are private files for a model in the cloud. The notes of folders that were not yet `said` are
    added. The person is told which files are sent and which are not.
    """
    found = list(dict.fromkeys(find_named(words)))[:_MOST]
    if not found:
        return MentionedFiles()
    await terms.admit(opened)
    run = terms.hide(replace(terms.run, workspace=terms.project.tree), opened)
    limits = ReadLimits.of_window(opened.window)
    fitting = replace(limits, bytes=2 * limits.bytes // max(2, len(found)))
    (read,) = with_nested(terms.project, (make_read(fitting),), lambda: said, opened.window, run.emit)
    shown, told, images = list[str](), list[str](), list[Image]()
    for each in found:
        if picture := await _read_picture(run, each, terms.project.root):
            images.append(picture)
            told.append(f"{visible(each.path)} ({picture.width}x{picture.height})")
            continue
        result = await _read(run, each, read, terms.project.root)
        if result is None:
            continue
        if not result.ok:
            why = str(result.detail.get("why") or result.text).rstrip(".")
            run.emit(Notice(f"Not sent: {why}."))
            continue
        shown.append(f"{NAMED} ({visible(each.path)})\n{result.text}")
        told.append(str(result.detail.get("line") or each.path))
    if told:
        run.emit(Notice(f"Sent with the task: {', '.join(told)}."))
    return MentionedFiles("\n\n".join(shown), tuple(images))


def find_named(words: str) -> Iterator[Mention]:
    """The paths that a text names, with `@` before each."""
    for quoted, bare in _NAMED.findall(words):
        path = quoted or bare.rstrip(_AROUND)
        lines = None if quoted else _LINES.search(path)
        if lines:
            start, end = int(lines[1]), int(lines[2] or lines[1])
            yield Mention(path[: lines.start()], start, end)
        elif path:
            yield Mention(path)


def read_pasted(words: str) -> tuple[Image, ...]:
    """The pictures whose whole paths the person has pasted into a conversation, wherever they are."""
    found = list[Image]()
    for single, double, bare in _PASTED.findall(words):
        path = Path(single or double or _unescaped(bare))
        if path.suffix.lower() not in SUFFIXES:
            continue
        if picture := load_picture(path):
            found.append(picture)
    return tuple(found[:_MOST])


def _unescaped(path: str) -> str:
    if path.startswith("file://"):
        return unquote(path.removeprefix("file://"))
    return re.sub(r"\\(.)", r"\1", path)


def load_picture(path: Path) -> Image | None:
    """The picture in a file of the person's; None where there is none that models take."""
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        return read_picture(path.read_bytes(), visible(path.name))
    except OSError:
        return None


async def _read_picture(run: Run, named: Mention, root: Path) -> Image | None:
    """The picture that a name of the tree leads to; None for any other file, which is read as text."""
    if not named.path.lower().endswith(SUFFIXES) or is_secret_file(named.path):
        return None
    try:
        path = inner_path(run, named.path)
        if is_secret_file(os.path.relpath(os.path.realpath(root / path), root)):
            return None
        data = await run.workspace.read(path)
    except TreeError:
        return None
    return read_picture(data, visible(named.path)) if len(data) <= MOST_BYTES else None


async def _read(run: Run, named: Mention, read: Tool, root: Path) -> ToolResult | None:
    """The file, the folder as a list, or why it is not shown; None for what is no path (`@property`)."""
    if is_secret_file(named.path):
        return refused(f"{visible(named.path)} holds secrets by its name.")
    try:
        path = inner_path(run, named.path)
        if is_secret_file(os.path.relpath(os.path.realpath(root / path), root)):
            return refused(f"{visible(named.path)} leads to a file that holds secrets by its name.")
        passage = Passage(path, named.start or 1, named.end or None)
        result = await read.fn({"paths": [str(passage)]}, run)
    except TreeError as error:
        result = refused(sentence(error))
    return result if result.ok or _PATH.search(named.path) else None
