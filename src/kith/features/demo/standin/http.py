"""Just enough HTTP/1.1 for stand-in servers: one request a connection, and clients that leave are noticed."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from http.client import responses
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import parse_qsl

from msgspec import Struct, field

JSON = "application/json; charset=utf-8"
# How an answer breaks off: the connection closes, is reset, ends as if all were said, or falls silent.
Cut = Literal["close", "reset", "end", "hang"]


class Request(Struct, frozen=True):
    """A client's request. `body` is `raw` read as JSON: None when empty or not JSON."""

    method: str
    path: str  # without the query
    headers: Mapping[str, str]  # names in lower case
    raw: bytes
    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, key: str) -> Any:
        return self.body[key]


class Response(Struct, frozen=True):
    """An answer: a complete body, or pieces that are sent as they come.

    It breaks off after `cut_after` bytes of the body, if that is not None. `chunk`: bytes of one HTTP chunk
    at most, whatever character they cut; 0 sends each piece whole.
    """

    status: int
    body: bytes | AsyncGenerator[bytes]
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    cut: Cut = "close"
    chunk: int = 0


Answer = Callable[[Request], Awaitable[Response]]


def json_bytes(value: Any) -> bytes:
    """JSON as both servers write it: compact, and not escaped to ASCII."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def json_response(
    value: Any, status: int = 200, headers: Mapping[str, str] = MappingProxyType({})
) -> Response:
    """A whole JSON answer."""
    return Response(status, json_bytes(value), headers=headers)


async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer) -> bool:
    """Answer the one request of this connection; False when the client left before the end of the answer.

    Raises what `answer` raises; the client then sees the connection close.
    """
    try:
        request = await read_request(reader)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
        return True  # it left without asking anything
    answering = asyncio.create_task(_send(writer, request, answer))
    leaving = asyncio.create_task(reader.read())  # returns when the client closes its side
    try:
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return answering.done() and not isinstance(answering.exception(), ConnectionError)
    finally:
        answering.cancel()
        leaving.cancel()
        outcome, _ = await asyncio.gather(answering, leaving, return_exceptions=True)
        writer.close()
        if isinstance(outcome, Exception) and not isinstance(outcome, ConnectionError):
            raise outcome


async def read_request(reader: asyncio.StreamReader) -> Request:
    """One request, its body by Content-Length. Raises IncompleteReadError when the client leaves in it."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    path, _, query = target.partition("?")
    return Request(method, path, headers, raw, _parse(raw), dict(parse_qsl(query)))


def _parse(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None


async def _send(writer: asyncio.StreamWriter, request: Request, answer: Answer) -> None:
    response = await answer(request)
    if request.method == "HEAD":
        length = len(response.body) if isinstance(response.body, bytes) else 0
        writer.write(_head(response, f"Content-Length: {length}"))
        return await writer.drain()
    if isinstance(response.body, bytes):
        head = _head(response, f"Content-Length: {len(response.body)}")
        writer.write(head + response.body[: response.cut_after])
        await writer.drain()
        if response.cut_after is None or response.cut_after >= len(response.body):
            return
    elif await _send_pieces(writer, response, response.body) or response.cut == "end":
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return
    await _break_off(writer, response.cut)


async def _send_pieces(writer: asyncio.StreamWriter, response: Response, body: AsyncGenerator[bytes]) -> bool:
    """Send a body in chunks; False when it was cut as the response demands."""
    # Like the real servers: the head goes out together with the first thing there is to say.
    head, left = _head(response, "Transfer-Encoding: chunked"), response.cut_after
    async with aclosing(body) as pieces:
        async for piece in pieces:
            sent, step = piece[:left], response.chunk or len(piece)
            for at in range(0, max(1, len(sent)), step):
                part = sent[at : at + step]
                writer.write(head + (b"%x\r\n%b\r\n" % (len(part), part) if part else b""))
                await writer.drain()
                head = b""
            left = None if left is None else left - len(sent)
            if left == 0:
                return False
    return True


async def _break_off(writer: asyncio.StreamWriter, cut: Cut) -> None:
    """Do to the connection what `cut` says; closing is what happens anyway."""
    if cut == "hang":
        await asyncio.Event().wait()
    if cut == "reset":
        # A close that does not linger is a reset.
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()


def _head(response: Response, framing: str) -> bytes:
    fields = {"Content-Type": response.content_type, **response.headers, "Connection": "close"}
    lines = [
        f"HTTP/1.1 {response.status} {responses.get(response.status, 'Unknown')}",
        *(f"{name}: {value}" for name, value in fields.items()),
        framing,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
