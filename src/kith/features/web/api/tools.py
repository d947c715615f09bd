"""Tools without a model: looks are answered at once, edits become a session with a question."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Path, Request, Response
from pydantic import Field
from typing_extensions import TypedDict

from kith.agent.direct_tools import direct_tools, look_with, preview, word_edit
from kith.core.errors import TreeError
from kith.core.event_loop import run_loop
from kith.features.web.api import versioned
from kith.features.web.api.dependencies import OneDesk, who
from kith.features.web.api.schemas import Check, File, Name, Sent, answer, chosen_flags, file_of, problems
from kith.features.web.desk import Desk
from kith.features.web.problems import Refused
from kith.features.web.session_state import settle
from kith.memory.inbox import Letter

T = TypeVar("T")
_routes = APIRouter(tags=["tools"])


class Use(Sent):
    """What a tool is used with; its schema says what `args` holds."""

    args: dict[str, Any] = Field({}, description="As the tool's schema says.")
    project: Name = Field("", description="One of /projects; empty: the first.")
    check: Check | None = Field(None, description="Of an edit: commands that decide; `none`: nothing does.")
    wait_s: Annotated[float, Field(ge=0, le=600, allow_inf_nan=False)] = Field(
        10.0, description="Of an edit: how long to wait for its question, which comes after the checks."
    )


class ToolLine(TypedDict):
    """A tool; `schema` is a JSON Schema of its arguments. What writes asks before it does."""

    name: str
    description: str
    schema: dict[str, Any]
    effect: Literal["read", "write"]


class ToolList(TypedDict):
    """Every tool that needs no model."""

    tools: list[ToolLine]


class Told(TypedDict):
    """What a tool said; not `ok`: it says what is wrong."""

    ok: bool
    text: str


class Proposed(TypedDict):
    """A change that waits for an answer; `question` is there once the checks have passed."""

    session: str
    question: str | None
    files: list[File]


@_routes.get("/tools", summary="The tools that need no model", response_model=ToolList, responses=problems())
async def list_tools() -> Response:
    lines = [
        ToolLine(name=each.name, description=each.description, schema=dict(each.schema), effect=each.effect)
        for each in direct_tools()
    ]
    return answer(ToolList(tools=lines))


@_routes.post(
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
    result = await _apart(lambda: look_with(desk.project(body.project), name, body.args))
    return answer(Told(ok=result.ok, text=result.text))


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
        ),
        202,
    )


async def _apart(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Work that computes for seconds, where it holds up nobody else's."""
    return await asyncio.to_thread(lambda: run_loop(work()))


router = versioned(_routes)
