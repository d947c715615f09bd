"""The files of projects, never a path outside, and the tools that need no model."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Path, Query, Request, Response
from msgspec.structs import asdict
from pydantic import Field
from typing_extensions import TypedDict

from kith.agent.step_list import TODO, set_list
from kith.core.errors import TreeError
from kith.core.event_loop import run_loop
from kith.core.events import ToolEnded
from kith.features.web.api import versioned
from kith.features.web.api.dependencies import OneDesk, OneProject, found, who
from kith.features.web.api.schemas import Check, File, Name, Sent, answer, chosen_flags, file_of, problems
from kith.features.web.browsing import list_files, read_file
from kith.features.web.desk import Desk, session_state, settle
from kith.features.web.direct_tools import (
    BASH,
    check_command,
    direct_tools,
    look_with,
    preview,
    word_edit,
)
from kith.features.web.problems import Refused
from kith.memory.inbox import Letter
from kith.memory.queries import newest_event
from kith.view.wording import word_exit

# The files of the projects: which ones there are, and what is in them; never a path outside.

_file_routes = APIRouter(tags=["files"])


class FileList(TypedDict):
    """Paths below the project's folder; `left_out` more did not fit."""

    files: list[str]
    left_out: int


class FileText(TypedDict):
    """Lines `start` to `end`, counted from 1, of a file that has so many `lines` and `bytes`."""

    path: str
    text: str
    start: int
    end: int
    lines: int
    bytes: int


@_file_routes.get(
    "/files",
    summary="The files of a project, those that git ignores aside",
    response_model=FileList,
    responses=problems(409),
)
async def files(
    desk: OneDesk,
    project: OneProject = "",
    path: Annotated[str, Query(description="A folder; empty: all.", max_length=4_096)] = "",
    limit: Annotated[int, Query(ge=1, le=20_000)] = 2_000,
) -> Response:
    listed = await list_files(desk.project(project), path, limit)
    return answer(FileList(files=list(listed.files), left_out=listed.total - len(listed.files)))


@_file_routes.get(
    "/file",
    summary="The text of a file; secrets, links and binary files are not shown",
    response_model=FileText,
    responses=problems(404),
)
async def file(
    desk: OneDesk,
    path: Annotated[str, Query(description="As /files names it.", max_length=4_096)],
    project: OneProject = "",
    start: Annotated[int, Query(ge=1, le=100_000_000)] = 1,
    end: Annotated[int, Query(ge=0, le=100_000_000, description="0: the last line.")] = 0,
) -> Response:
    try:
        page = await read_file(desk.project(project), path, start, end)
    except TreeError as error:
        raise Refused(404, f"{str(error).rstrip('.')}.") from None
    return answer(asdict(page))


T = TypeVar("T")
_tool_routes = APIRouter(tags=["tools"])


class Use(Sent):
    """The arguments of a tool, by its schema."""

    args: dict[str, Any] = Field({}, description="As the tool's schema says.")
    project: Name = Field("", description="One of /projects; empty: the first.")
    check: Check | None = Field(None, description="Of an edit: commands that decide; `none`: nothing does.")
    wait_s: Annotated[float, Field(ge=0, le=600, allow_inf_nan=False)] = Field(
        10.0, description="Of an edit or a command: how long to wait for its question or its end."
    )
    session: Name = Field("", description="Of `todo`: the session whose list is set; empty: a new one.")


class ToolLine(TypedDict):
    """A tool; `schema` is a JSON Schema of its arguments. What writes asks before it does."""

    name: str
    description: str
    schema: dict[str, Any]
    effect: Literal["read", "write", "exec"]


class ToolList(TypedDict):
    """Every tool that needs no model."""

    tools: list[ToolLine]


class Told(TypedDict):
    """The result of a tool; not `ok`: an error. `session` holds a command or a list."""

    ok: bool
    text: str
    session: str


class Proposed(TypedDict):
    """A change that waits for an answer; `question` is there once the checks have passed.

    `text`: what a command printed so far.
    """

    session: str
    question: str | None
    files: list[File]
    text: str


@_tool_routes.get(
    "/tools", summary="The tools that need no model", response_model=ToolList, responses=problems()
)
async def list_tools() -> Response:
    lines = [
        ToolLine(name=each.name, description=each.description, schema=dict(each.schema), effect=each.effect)
        for each in direct_tools()
    ]
    return answer(ToolList(tools=lines))


@_tool_routes.post(
    "/tools/{name}",
    summary="Use a tool: a look is answered, an edit waits for a yes",
    response_model=Told,
    responses={
        202: {"model": Proposed, "description": "A change was made on the side, and waits."},
        **problems(404, 409),
    },
)
async def use_tool(
    desk: OneDesk, name: Annotated[str, Path(max_length=100)], body: Use, request: Request
) -> Response:
    tool = next((each for each in direct_tools() if each.name == name), None)
    if tool is None:
        raise Refused(404, "There is no such tool.")
    if tool.effect == "write":
        return await _propose(desk, name, body, who(request))
    if name == BASH:
        return await _run(desk, body, who(request))
    if name == TODO:
        return await _set_list(desk, body)
    result = await _apart(lambda: look_with(desk.project(body.project), name, body.args))
    return answer(Told(ok=result.ok, text=result.text, session=""))


async def _set_list(desk: Desk, body: Use) -> Response:
    project = found(desk, body.session) if body.session else desk.project(body.project)
    session, result = await set_list(project, body.args, body.session)
    return answer(Told(ok=result.ok, text=result.text, session=session))


async def _run(desk: Desk, body: Use, by: str) -> Response:
    """A command of the person's: what it printed, or the question about what it changed."""
    project = desk.project(body.project)
    check_command(body.args)
    flags = desk.flags | chosen_flags("", False, body.check)
    letter = Letter(word_edit(BASH, body.args), by, "tool", tool=BASH, flags=flags, args=body.args)
    session = desk.begin(project, letter)
    question = await settle(desk, session, body.wait_s)
    ended = newest_event(desk.log, session, "ToolEnded", "RunStarted")
    ran = ended.ran if isinstance(ended, ToolEnded) else None
    code = f"\n[{word_exit(ran)}]" if ran and ran.code else ""
    text = f"{ran.output.rstrip()}{code}".lstrip() if ran else ""
    if question or desk.is_working(session):
        files = [file_of(each) for each in question.files] if question else []
        id = question.id if question else None
        return answer(Proposed(session=session, question=id, files=files, text=text), 202)
    if ran:
        return answer(Told(ok=not code, text=text, session=session))
    return answer(Told(ok=False, text=session_state(desk.log, session).text, session=session))


async def _propose(desk: Desk, name: str, body: Use, by: str) -> Response:
    """An edit, seen to be possible, in a session that a worker takes to its question."""
    project = desk.project(body.project)
    try:
        files = await _apart(lambda: preview(project, name, body.args))
    except TreeError as error:
        raise Refused(422, f"{str(error).rstrip('.')}.") from None
    flags = desk.flags | chosen_flags("", False, body.check)
    letter = Letter(word_edit(name, body.args), by, "tool", tool=name, flags=flags, args=body.args)
    session = desk.begin(project, letter)
    question = await settle(desk, session, body.wait_s)
    return answer(
        Proposed(
            session=session,
            question=question.id if question else None,
            files=[file_of(each) for each in files],
            text="",
        ),
        202,
    )


async def _apart(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Work that computes for seconds, where it holds up nobody else's."""
    return await asyncio.to_thread(lambda: run_loop(work()))


router = APIRouter()
for _each in (_file_routes, _tool_routes):
    router.include_router(versioned(_each))
