"""A session's events as they happen: server-sent events, each with the position after it.

A reader pulls: nothing is queued for it, so a slow one only delays itself, and never whoever works.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final

from kith.features.web.problems import Refused
from kith.memory.live import LiveReader, Position, Seen

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
    """What happens in a session, from the position of `watch` on, as `frame` tells it.

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
        await asyncio.sleep(LOOK_S)


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
    """Where a reader goes on: what it saw last, else where it wants to begin. Raises Refused."""
    try:
        return Position.parse(last_event_id or after or "0")
    except ValueError as error:
        raise Refused(422, str(error)) from None
