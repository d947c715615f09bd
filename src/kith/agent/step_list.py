"""Set the list of steps of a session, as the person wants it."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from kith.agent.project import Project
from kith.core.errors import UsageError
from kith.core.events import Options, RunEnded
from kith.core.loop import check_args
from kith.core.run import answer_no
from kith.core.values import ToolResult
from kith.tools.todo import make_todo

KIND: Final = "tool"  # of sessions without a model
TODO: Final = "todo"
LIST_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"type": "string"}}},
    "required": ["items"],
}
_ROOM: Final = 40  # characters of an argument, in a title


async def set_list(project: Project, args: Mapping[str, Any], id: str = "") -> tuple[str, ToolResult]:
    """Set the list of steps of a session, or of a new one; returns its id, and what the tool says.

    Raises BusyError while the session is at work, UsageError for arguments that the tool does not take.
    """
    checked = checked_args(TODO, LIST_SCHEMA, args)
    with project.session(id) as session:
        run = project.begin(session, answer_no)
        result = await make_todo().fn(checked, replace(run, sink=lambda event, path: None))
        if not result.ok:
            raise UsageError(result.text)
        if not id:
            run.emit(project.started(word_list(args), Options(KIND)))
        await make_todo().fn(checked, run)
        if not id:
            run.emit(RunEnded("done", result.text))
        return session.id, result


def word_list(args: Mapping[str, Any]) -> str:
    """The list in a few words, for lists of sessions."""
    return in_short(f"steps: {', '.join(map(str, args.get('items', ())))}")


def in_short(value: object) -> str:
    """The first line of an argument, or what there is room for."""
    line = str(value).strip().partition("\n")[0]
    return line if len(line) <= _ROOM else f"{line[: _ROOM - 1]}…"


def checked_args(name: str, schema: Mapping[str, Any], args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the schema wants them. Raises UsageError."""
    checked, fault = check_args(args, schema)
    if fault:
        raise UsageError(f"{name}: {fault}.")
    return checked
