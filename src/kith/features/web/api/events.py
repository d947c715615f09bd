"""What happens in a session, as it happens: a stream of events, or a page of them."""

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import StreamingResponse

from kith.features.web.api import versioned
from kith.features.web.api.dependencies import Id, OneDesk, found
from kith.features.web.api.refusals import problems
from kith.features.web.desk import Desk
from kith.features.web.sse import HEADERS, frame_events, never, position_of, stream, write_event
from kith.memory.live import LiveReader

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


def _page(watch: LiveReader, limit: int) -> Response:
    position = watch.position
    seen = [each for each in watch.look() if each.stored][:limit]
    position = seen[-1].position if seen else position
    body = f'{{"events":[{",".join(map(write_event, seen))}],"position":"{position}"}}'
    return Response(body, media_type="application/json")


router = versioned(_routes)
