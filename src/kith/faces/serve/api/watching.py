"""What happens in a session, as it happens; its change, its list, its receipt."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import StreamingResponse

from kith.faces.serve.api import versioned
from kith.faces.serve.api.dependencies import Id, OneDesk, found
from kith.faces.serve.api.refusals import problems
from kith.faces.serve.api.shapes import Diff, TodoList, answer, file_of, todo_of
from kith.faces.serve.desk import Desk
from kith.faces.serve.sse import HEADERS, frame_events, never, position_of, stream, write_event
from kith.faces.serve.standing import last_change, todo_list
from kith.memory.live import Watch
from kith.memory.log import Log
from kith.memory.receipt import describe_run

_routes = APIRouter(tags=["sessions"])
_PAGE: Final = 500  # events of one page, where nobody says otherwise

After = Annotated[str, Query(description="The position after which to begin: 123 or 123.456.", max_length=60)]
LastEventId = Annotated[
    str, Header(description="What a reader saw last; it wins over `after`.", max_length=60)
]
_EVENTS: Final[dict[str, Any]] = {
    "description": "A stream of events, or one page of them.",
    "content": {
        "text/event-stream": {
            "schema": {
                "type": "object",
                "properties": {key: {"type": "string"} for key in ("id", "event", "data")},
            }
        },
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["events", "position"],
                "properties": {
                    "events": {"type": "array", "items": {"type": "object"}},
                    "position": {"type": "string"},
                },
            }
        },
    },
}
_DIFF: Final[dict[str, Any]] = {"content": {"text/x-diff": {"schema": {"type": "string"}}}}


@_routes.get(
    "/sessions/{id}/events",
    summary="What happens in a session: a stream of events, or a page of them",
    description="Each event carries its position as `id`, which a reader that comes back sends as "
    "Last-Event-ID. Pieces of replies (Delta, Progress) come only in streams that are there when they do. "
    "`format=json`, or `Accept: application/json`, gives what there is as one page.",
    response_class=StreamingResponse,
    responses={200: _EVENTS, **problems(404)},
)
async def events(
    desk: OneDesk,
    id: Id,
    after: After = "",
    follow: Annotated[Literal["yes", "no"], Query(description="no: it ends when the work has.")] = "yes",
    format: Annotated[Literal["", "json"], Query()] = "",
    limit: Annotated[int, Query(ge=1, le=1_000, description="Events of a page.")] = _PAGE,
    last_event_id: LastEventId = "",
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    found(desk, id)
    watch = desk.watch(id, position_of(after, last_event_id))
    if format == "json" or accept.partition(";")[0].strip() == "application/json":
        return _page(watch, limit)
    told = stream(watch, frame_events, never if follow == "yes" else over(desk, id))
    return StreamingResponse(told, 200, HEADERS, "text/event-stream")


def over(desk: Desk, session: str) -> Callable[[], bool]:
    """Whether a session's work has ended, and nothing more of it waits."""

    def is_over() -> bool:
        return not desk.is_working(session)  # it has ended, or its process has died

    return is_over


def _page(watch: Watch, limit: int) -> Response:
    position = watch.position
    seen = [each for each in watch.look() if each.stored][:limit]
    position = seen[-1].position if seen else position
    body = f'{{"events":[{",".join(map(write_event, seen))}],"position":"{position}"}}'
    return Response(body, media_type="application/json")


@_routes.get(
    "/sessions/{id}/diff",
    summary="The change of the last task: one that waits for a yes, or what became of it",
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
    found(desk, id)
    return answer(await asyncio.to_thread(receipt_of, desk.log.path, id))


def receipt_of(log: Path, session: str) -> dict[str, Any]:
    """The receipt of a session's last task; a long session takes a while, so with a connection of its own."""
    own = Log(log)
    try:
        return describe_run(session, own.past(session))
    finally:
        own.close()


router = versioned(_routes)
