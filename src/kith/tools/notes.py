"""Notes of a folder are told when a tool first touches a file below it: the prompt only grows at its tail."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kith.context.notes import Note, add_notes
from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import ToolResult
from kith.tools.paths import clean_path

TOUCHING: Final = frozenset({"read", "edit", "write"})
# The notes that hold for a file, the outermost first, without those of the whole project.
FindNotes = Callable[[str], Awaitable[Sequence[Note]]]


def tell_notes(tools: tuple[Tool, ...], find: FindNotes, told: Iterable[str], room: int) -> tuple[Tool, ...]:
    """The same tools; those that touch files answer with the notes that are not `told` yet, in `room` tokens.

    `told` are the paths of those that the conversation holds.
    """
    known = set(told)
    return tuple(_telling(tool, find, known, room) if tool.name in TOUCHING else tool for tool in tools)


def _telling(tool: Tool, find: FindNotes, known: set[str], room: int) -> Tool:
    async def use(args: Mapping[str, Any], run: Run) -> ToolResult:
        result = await tool.fn(args, run)
        if not result.ok:
            return result
        found = {note.path: note for path in _paths(args) for note in await find(path)}
        news = [note for path, note in found.items() if path not in known]
        known.update(found)
        return add_notes(result, news, room) if news else result

    return replace(tool, fn=use)


def _paths(args: Mapping[str, Any]) -> Iterator[str]:
    several = args.get("paths")
    for path in (args.get("path"), *(several if isinstance(several, list) else ())):
        if isinstance(path, str):
            yield clean_path(path)
