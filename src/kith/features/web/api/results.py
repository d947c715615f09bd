"""What came of a session's last task: its change, the model's list, the receipt."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Response

from kith.features.web.api import versioned
from kith.features.web.api.dependencies import Id, OneDesk, found
from kith.features.web.api.refusals import problems
from kith.features.web.api.shapes import Diff, TodoList, answer, file_of, todo_of
from kith.features.web.standing import last_change, todo_list
from kith.memory.log import Log
from kith.memory.receipt import describe_run

_routes = APIRouter(tags=["sessions"])
_DIFF: Final[dict[str, Any]] = {"content": {"text/x-diff": {"schema": {"type": "string"}}}}


@_routes.get(
    "/sessions/{id}/diff",
    summary="The change of the last task: one that waits for an answer or is kept, or what became of it",
    response_model=Diff,
    responses={200: _DIFF, **problems(404)},
)
async def diff(
    desk: OneDesk,
    id: Id,
    format: Annotated[Literal["json", "text"], Query(description="text: one unified diff.")] = "json",
) -> Response:
    found(desk, id)
    state, files = last_change(desk, id)
    if format == "text":
        text = "".join(file.diff for file in files).encode("utf-8", "surrogateescape")
        return Response(text, media_type="text/x-diff")
    return answer(Diff(state=state, files=[file_of(file) for file in files]))


@_routes.get(
    "/sessions/{id}/todo", summary="The model's list", response_model=TodoList, responses=problems(404)
)
async def todo(desk: OneDesk, id: Id) -> Response:
    found(desk, id)
    return answer(TodoList(items=todo_of(todo_list(desk.log, id))))


@_routes.get(
    "/sessions/{id}/receipt",
    summary="What was really done: commands and exit codes, checks before and after, tokens, seconds, money",
    response_model=dict[str, Any],
    responses=problems(404),
)
async def receipt(desk: OneDesk, id: Id) -> Response:
    project = found(desk, id)
    receipt = await asyncio.to_thread(receipt_of, desk.log.path, id)
    return answer(receipt | {"waiting": None if desk.is_working(id) else project.waiting_in(id)})


def receipt_of(log: Path, session: str) -> dict[str, Any]:
    """The receipt of a session's last task; a long session takes a while, so with a connection of its own."""
    with closing(Log(log)) as own:
        return describe_run(session, own.past(session))


router = versioned(_routes)
