"""Stream a session's events as they happen, or tell a page of them."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import StreamingResponse

from kith.features.web.api import versioned
from kith.features.web.api.dependencies import Id, OneDesk, found
from kith.features.web.api.schemas import problems
from kith.features.web.desk import Desk
from kith.features.web.problems import Refused
from kith.memory.live import LiveReader, Position, Seen

# A session's events as they happen: server-sent events, each with the position after it.

LOOK_S: Final = 0.05  # between two looks, which cost some microseconds each
BESIDE_S: Final = 1.0
PING_S: Final = 15.0  # a silent stream says that it is alive
HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

# What a look found, as the bytes that tell of it; b"" where there is nothing to tell.
Frame = Callable[[tuple[Seen, ...]], bytes]


def never() -> bool:
    """A stream that follows its session for as long as somebody reads."""
    return False


def silence() -> bytes:
    """A stream that tells nothing but what happens."""
    return b""


async def stream(
    watch: LiveReader,
    frame: Frame,
    is_over: Callable[[], bool] = never,
    beside: Callable[[], bytes] = silence,
) -> AsyncIterator[bytes]:
    """Stream a session's events from the position of `watch` on, each as `frame` writes it.

    `beside` is asked each second for what no event tells. Ends when a look finds nothing and `is_over` says
    so.
    """
    yield b": kith\n\n"  # headers leave with the first bytes
    told, asked = time.monotonic(), 0.0
    while True:
        over = is_over()  # before the look: what was written until then is found by it
        seen = watch.look()
        data = frame(seen) if seen else b""
        if time.monotonic() - asked > BESIDE_S:
            data, asked = data + beside(), time.monotonic()
        if over and not seen:
            return
        if not data and time.monotonic() - told > PING_S:
            data = b": still here\n\n"
        if data:
            told = time.monotonic()
            yield data
        await asyncio.sleep(0 if watch.more else LOOK_S)


def frame_events(seen: Iterable[Seen]) -> bytes:
    """Each event as one of a stream: its position, its kind, and itself."""
    return "".join(
        f"id: {each.position}\nevent: {each.kind}\ndata: {write_event(each)}\n\n" for each in seen
    ).encode()


def write_event(seen: Seen) -> str:
    """An event as JSON text on one line: the log's own text goes in as it stands."""
    path = json.dumps(seen.path)
    head = f'"seq":{seen.position.seq},"at":{seen.at},"path":{path},"kind":"{seen.kind}"'
    return f'{{{head},"event":{seen.body}}}'


def position_of(after: str = "", last_event_id: str = "") -> Position:
    """The position of a reader: after what it saw last, else where it wants to begin. Raises Refused."""
    try:
        return Position.parse(last_event_id or after or "0")
    except ValueError as error:
        raise Refused(422, str(error)) from None


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
    """True if a session's work has ended and nothing of it waits."""

    def is_over() -> bool:
        return not desk.is_working(session)  # it has ended, or its process has died

    return is_over


def _page(watch: LiveReader, limit: int) -> Response:
    position = watch.position
    seen = [each for each in watch.look() if each.stored]
    while watch.more and len(seen) < limit:
        seen += (each for each in watch.look() if each.stored)
    seen = seen[:limit]
    position = seen[-1].position if seen else position
    body = f'{{"events":[{",".join(map(write_event, seen))}],"position":"{position}"}}'
    return Response(body, media_type="application/json")


router = versioned(_routes)
