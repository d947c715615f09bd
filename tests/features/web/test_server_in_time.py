"""Requests that come drop by drop, or never end: they hold no place for long."""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("uvicorn")

import uvicorn

from kith.features.web.server import Timely

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"


class Hasty(Timely):
    """The same protocol with less patience."""

    patience_s = 0.3


async def slow_app(scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Any]) -> None:
    """Reads the whole body, then answers for longer than a request may take."""
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return
        more = message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for word in (b"one ", b"two"):
        await send({"type": "http.response.body", "body": word, "more_body": word != b"two"})
        await asyncio.sleep(0.5)


async def talk(*pieces: bytes) -> tuple[bytes, float]:
    """What a server says to these pieces, sent one after another, and after how many seconds it hangs up."""
    server = uvicorn.Server(uvicorn.Config(slow_app, http=Hasty, ws="none", lifespan="off", log_config=None))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        began = time.monotonic()
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(0.2)
        said = await asyncio.wait_for(reader.read(), 5)
        took = time.monotonic() - began
        writer.close()
        server.should_exit = True
        await serving
    return said, took


@pytest.mark.parametrize(
    "pieces",
    [(), (b"GET / HT",), (b"G", b"E", b"T"), (HEAD, b"X-A: b\r\n", b"X-C: d\r\n"), (HEAD + b"\r\nhalf",)],
    ids=["nothing", "half a line", "drops", "a head without end", "half a body"],
)
def test_who_does_not_come_to_an_end_is_cut_off(pieces: tuple[bytes, ...]) -> None:
    said, took = asyncio.run(talk(*pieces))
    assert said == b"" and 0.2 <= took < 2


@pytest.mark.slow
def test_what_was_asked_in_time_is_answered_for_as_long_as_it_takes() -> None:
    said, took = asyncio.run(talk(HEAD + b"Connection: close\r\n\r\nwhole", b" end"))
    assert said.startswith(b"HTTP/1.1 200") and b"one" in said and b"two" in said and took > 0.6
