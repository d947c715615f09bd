"""Files that a person names in a task (`@src/app.py`): which there are, and what a model gets of them."""

import asyncio
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

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
from kith.core.run import Run
from kith.core.values import Message, ToolResult
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


async def read_named(terms: Terms, opened: Opened, words: str, said: Sequence[Message] = ()) -> str:
    """Read the files that a task names, for the model; "" where it names none.

    The text is that of the model's own read tool, with the same limits. Paths outside the tree are refused,
    and so are private files for a model in the cloud. The notes of folders that were not yet `said` are
    added. The person is told which files are sent and which are not.
    """
    found = list(dict.fromkeys(find_named(words)))[:_MOST]
    if not found:
        return ""
    await terms.admit(opened)
    run = terms.hide(replace(terms.run, workspace=terms.project.tree), opened)
    limits = ReadLimits.of_window(opened.window)
    fitting = replace(limits, bytes=2 * limits.bytes // max(2, len(found)))
    (read,) = with_nested(terms.project, (make_read(fitting),), lambda: said, opened.window, run.emit)
    shown, told = list[str](), list[str]()
    for each in found:
        result = await _read(run, each, read, terms.project.root)
        if result is None:
            continue
        if not result.ok:
            why = result.text.partition(", so ")[0].rstrip(".")  # what follows is advice for a model
            run.emit(Notice(f"Not sent: {why}."))
            continue
        shown.append(f"{NAMED} ({visible(each.path)})\n{result.text}")
        told.append(str(result.detail.get("line") or each.path))
    if told:
        run.emit(Notice(f"Sent with the task: {', '.join(told)}."))
    return "\n\n".join(shown)


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
