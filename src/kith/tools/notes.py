"""Notes of a folder are told when a tool first touches a file below it: the prompt only grows at its tail."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kith.context.notes import Note, add_notes
from kith.core.model import Tool
from kith.core.passages import passage_of
from kith.core.run import Run
from kith.core.values import ToolResult
from kith.tools.paths import clean_path

TOUCHING: Final = frozenset({"read", "edit", "write"})
# The notes that hold for a file, the outermost first, without those of the whole project.
FindNotes = Callable[[str], Awaitable[Sequence[Note]]]
# The paths of the notes that a conversation holds by now.
Told = Callable[[], Iterable[str]]


def tell_notes(tools: tuple[Tool, ...], find: FindNotes, told: Told, room: int) -> tuple[Tool, ...]:
    """The same tools; those that touch files answer with notes that are not `told` yet, in `room` tokens."""
    known = set[str]()
    return tuple(_telling(tool, find, told, known, room) if tool.name in TOUCHING else tool for tool in tools)


def _telling(tool: Tool, find: FindNotes, told: Told, known: set[str], room: int) -> Tool:
    async def use(args: Mapping[str, Any], run: Run) -> ToolResult:
        result = await tool.fn(args, run)
        if not result.ok:
            return result
        found = {note.path: note for path in _paths(args) for note in await find(path)}
        known.update(told() if found else ())
        news = [note for path, note in found.items() if path not in known]
        known.update(found)
        return add_notes(result, news, room) if news else result

    return replace(tool, fn=use)


def _paths(args: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(path := args.get("path"), str):
        yield clean_path(path)
    several = args.get("paths")
    for path in several if isinstance(several, list) else ():
        if isinstance(path, str):
            yield clean_path(passage_of(path).path)
