"""What the doctor's tests share: looking at one thing, and servers that answer as a test wants."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from kith.features.doctor.check import Check
from kith.features.doctor.servers import Ward, check_server
from kith.models.discovery.servers import Place
from kith.settings import Settings

Checks = Sequence[Check]


def of(checks: Checks, name: str) -> Check:
    """The worst check of that name."""
    mine = [check for check in checks if check.name == name]
    assert mine, f"no check {name!r} among {[check.name for check in checks]}"
    return max(mine, key=lambda check: ("green", "yellow", "red").index(check.level))


def told(look: Callable[..., Any], *args: Any) -> list[Check]:
    found: list[Check] = []
    done = look(*args, found.append)
    if asyncio.iscoroutine(done):
        asyncio.run(done)
    return found


@asynccontextmanager
async def answering(routes: Mapping[str, Any]) -> AsyncIterator[str]:
    """A server with an answer for each path: JSON data, bytes (an event stream), or a function of the body.

    A pair is a status and the data. Anything else is 404.
    """

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        sizes = [line.split()[1] for line in head.split("\r\n") if line.lower().startswith("content-length:")]
        body = await reader.readexactly(int(sizes[0])) if sizes else b""
        answer = routes.get(head.split()[1].partition("?")[0], (404, {"error": "File Not Found"}))
        answer = answer(json.loads(body)) if callable(answer) else answer
        status, data = answer if isinstance(answer, tuple) else (200, answer)
        kind = "text/event-stream" if isinstance(data, bytes) else "application/json"
        sent = data if isinstance(data, bytes) else json.dumps(data).encode()
        line = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(sent)}\r\n"
        writer.write(f"{line}connection: close\r\n\r\n".encode() + sent)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def visit(
    url: str, said: str = "", settings: Settings | None = None, ward: Ward | None = None
) -> list[Check]:
    """What the doctor finds at one address."""
    found: list[Check] = []
    await check_server(Place(url, said=said), settings or Settings(), ward or Ward(), found.append)
    return found


def row(id: str, **meta: Any) -> dict[str, Any]:
    """The list of a llama-server with one model."""
    return {"data": [{"id": id, "owned_by": "llamacpp", "meta": meta}]}
