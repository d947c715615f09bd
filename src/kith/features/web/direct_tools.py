"""Tools without a model: reads answer at once; edits and commands make a change that waits for a yes."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.asking.hidden import find_hidden
from kith.agent.attempt import Outcome, adopt_ready
from kith.agent.index import look_nowhere
from kith.agent.project import Project, Result
from kith.agent.ready_edits import Edit, MoreEdits
from kith.agent.side_commands import run_aside
from kith.agent.step_list import KIND, LIST_SCHEMA, TODO, checked_args, in_short, word_list
from kith.agent.worker import SessionKind
from kith.context.redact import Redactor
from kith.core.errors import BusyError, UsageError
from kith.core.model import Tool
from kith.core.run import Answerer, Limits, Run, quiet_run
from kith.core.values import Changes, FileChange, ToolResult
from kith.edits import summarise
from kith.memory.inbox import Letter
from kith.memory.index import open_index, refresh
from kith.memory.session import Listener
from kith.settings.features import all_parts
from kith.tools import standard_tools
from kith.tools.symbols import Look
from kith.tools.veiled import hide

_OF_A_THREAD: Final = ("todo", "done")  # they say something in a conversation, of which there is none
BASH: Final = "bash"
_INDEXING_S: Final = 20.0
DONE: Final = "Done, without a model."


class DirectTool(Struct, frozen=True):
    """The name and arguments of a tool: `schema` is a JSON Schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]
    effect: Literal["read", "write", "exec"]


def model_tools() -> tuple[str, ...]:
    """The names of the tools that a model has."""
    return tuple(tool.name for tool in standard_tools())


def direct_tools() -> tuple[DirectTool, ...]:
    """Every tool that needs no model, those that read first."""
    reading = [DirectTool(each.name, each.description, each.schema, "read") for each in _readers()]
    edits = [DirectTool(name, each.description, each.schema, "write") for name, each in _edits().items()]
    return (*reading, *edits, _COMMAND, _LIST)


_COMMAND: Final = DirectTool(
    BASH,
    "Run a command in a copy of the project; what it changed is proposed.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    "exec",
)
_LIST: Final = DirectTool(TODO, "Set the list of steps of a session.", LIST_SCHEMA, "read")


# --- reading ---------------------------------------------------------------------------------


async def look_with(project: Project, name: str, args: Mapping[str, Any]) -> ToolResult:
    """Use a read-only tool on the project, without secrets.

    Raises UsageError for a tool that does not exist or writes, and for arguments it does not take.
    """
    hidden = await find_hidden(project)
    async with _definitions(project, name == "symbols") as look:
        tool = next((each for each in _readers(look) if each.name == name), None)
        if tool is None:
            raise UsageError(f"There is no read-only tool {name!r}.")
        checked = checked_args(tool.name, tool.schema, args)
        if tool.effect_for(checked) != "read":
            raise UsageError(f"Used directly, {name} is read-only.")
        limits = Limits(exec=project.exec_limits(0))
        run = quiet_run(hide(project.tree, hidden.veil), limits)
        result = await tool.fn(checked, run)
    return replace(result, text=Redactor(hidden.values).clean(result.text)[0])


def _readers(look: Look = look_nowhere) -> Sequence[Tool]:
    """The tools that can look without changing anything."""
    # Those that read, or can (git); a tool that runs commands is never used so.
    return [
        each
        for each in standard_tools(look=look)
        if each.name not in _OF_A_THREAD
        and (each.effect == "read" or (each.effect == "write" and each.effect_of is not None))
    ]


@asynccontextmanager
async def _definitions(project: Project, wanted: bool) -> AsyncIterator[Look]:
    """Look up definitions by an index, which is built if missing. Raises KithError."""
    if not wanted:
        yield look_nowhere
        return
    with closing(open_index(project.settings.cache, project.root)) as index:
        try:
            await asyncio.wait_for(refresh(index, project.tree), _INDEXING_S)
        except TimeoutError:
            raise BusyError("kith still builds the index of this project; try again later.") from None
        yield index.find


# --- edits -----------------------------------------------------------------------------------


async def preview(project: Project, name: str, args: Mapping[str, Any]) -> tuple[FileChange, ...]:
    """Show the changes of an edit without making them. Raises UsageError, TreeError if it fails."""
    project.check_writable()
    run = quiet_run(project.tree, Limits(exec=project.exec_limits(0)))
    return summarise(await _make(project, name, args, run))


async def edit_with(
    project: Project,
    name: str,
    args: Mapping[str, Any],
    answerer: Answerer,
    listeners: Sequence[Listener] = (),
    id: str = "",
) -> Result:
    """Make an edit, take it through the gates to the person, and with their yes into the tree."""
    project.check_writable()

    async def do(run: Run) -> Outcome:
        return await adopt_ready(run, await _make(project, name, args, run), project.judges(run), DONE)

    return await project.perform(word_edit(name, args), KIND, do, answerer, listeners, id)


# --- commands ----------------------------------------------------------------------


def check_command(args: Mapping[str, Any]) -> str:
    """The command that the arguments hold. Raises UsageError."""
    command = str(checked_args(BASH, _COMMAND.schema, args)["command"])
    if not command.strip():
        raise UsageError(f"{BASH}: the command is empty.")
    return command


async def use_with(
    project: Project,
    name: str,
    args: Mapping[str, Any],
    answerer: Answerer,
    listeners: Sequence[Listener] = (),
    id: str = "",
) -> Result:
    """Make an edit or run a command, and bring the change in with the person's yes."""
    if name != BASH:
        return await edit_with(project, name, args, answerer, listeners, id)
    command = check_command(args)

    async def do(run: Run) -> Outcome:
        keep = not project.settings.read_only
        return await run_aside(run, command, project.judges(run), keep=keep)

    return await project.perform(word_edit(BASH, args), KIND, do, answerer, listeners, id)


def word_edit(name: str, args: Mapping[str, Any]) -> str:
    """An edit, a command or a list in a few words, for lists of sessions."""
    told = defaultdict(str, {key: in_short(value) for key, value in args.items()})
    if name == BASH:
        return f"run {told['command']}"
    if name == TODO:
        return word_list(args)
    edit = _edits().get(name)
    return " ".join((edit.title if edit else name).format_map(told).split())


async def _make(project: Project, name: str, args: Mapping[str, Any], run: Run) -> Changes:
    """The change that an edit makes; what is private is not touched, since a change is shown."""
    edit = _edits().get(name)
    if edit is None:
        raise UsageError(f"There is no tool {name!r} that edits.")
    veiled = hide(run.workspace, (await find_hidden(project)).veil)
    changes = await edit.make(checked_args(name, edit.schema, args), run.inside(veiled))
    if not changes:
        raise UsageError("There is nothing to do: the files already have this change.")
    return changes


def _edits() -> dict[str, Edit]:
    more: Iterable[MoreEdits] = all_parts(lambda each: each.edits)
    return _own_edits() | {name: edit for each in more for name, edit in each.edits.items()}


def _own_edits() -> dict[str, Edit]:
    tools = {each.name: each for each in standard_tools()}
    return {
        "edit": _by_tool("edit {path}: {old} becomes {new}", tools["edit"]),
        "write": _by_tool("write {path}", tools["write"]),
    }


def _by_tool(title: str, tool: Tool) -> Edit:
    """An edit by one of the model's own tools, in a trial."""

    async def make(args: Mapping[str, Any], run: Run) -> Changes:
        async with run.workspace.trial() as trial:
            result = await tool.fn(args, run.inside(trial))
            if not result.ok:
                raise UsageError(result.text)
            return await trial.changes()

    return Edit(title, tool.description, tool.schema, make)


async def _begin(
    project: Project, letter: Letter, answerer: Answerer, listeners: Sequence[Listener], id: str
) -> object:
    return await use_with(project, letter.tool, letter.args or {}, answerer, listeners, id=id)


SESSION_KIND: Final = SessionKind(_begin)
