"""JSON-RPC messages as lines on the standard streams, which carry nothing else; bad lines get an answer."""

import asyncio
import json
import os
import stat
import sys
from contextlib import suppress
from typing import Any, Final

from msgspec import Struct, field

_LONGEST: Final = 50_000_000  # bytes of a message
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600


class Wire(Struct):
    """One peer at the other end of two pipes; when it is gone, what is sent goes nowhere."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    _asking: dict[str, Any] = field(default_factory=dict)  # open permission requests: tool call -> number
    _draining: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def send(self, message: dict[str, Any]) -> None:
        """Write one message; it has its place in the order of all as soon as this is called."""
        if message.get("method") == "session/request_permission":
            self._asking[message["params"]["toolCall"]["toolCallId"]] = message["id"]
        if self.writer.is_closing():
            return
        # What pydantic says of wrong parameters may hold exceptions, which are no JSON.
        self.writer.write(json.dumps(message, separators=(",", ":"), default=str).encode() + b"\n")
        with suppress(ConnectionError):  # nobody reads any more: the end of the input follows
            async with self._draining:
                await self.writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        while True:
            line = await self._line()
            if line == b"":
                return None
            if line is not None and not line.strip():
                continue
            message, fault = _parse(line)
            if message is not None:
                return message
            await self.send({"jsonrpc": "2.0", "id": None, "error": fault})

    async def close(self) -> None:
        self.writer.close()

    async def take_back(self, call: str) -> None:
        """A permission request needs no answer any more: somebody gave it elsewhere."""
        if (number := self._asking.pop(call, None)) is not None:
            told = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": number}}
            await self.send(told)

    async def _line(self) -> bytes | None:
        """The next line, b"" at the end, None for one that is too long (it is read and forgotten)."""
        whole = True
        while True:
            try:
                line = await self.reader.readuntil(b"\n")
                return line if whole else None
            except asyncio.LimitOverrunError as error:
                await self.reader.readexactly(error.consumed)
                whole = False
            except asyncio.IncompleteReadError:
                return b""  # what has no end was cut off with its sender


def _parse(line: bytes | None) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """A message, or the error that its sender gets."""
    if line is None:
        return None, {"code": _INVALID_REQUEST, "message": f"A message may have {_LONGEST:,} bytes."}
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None, {"code": _PARSE_ERROR, "message": "This line is no JSON."}
    if not isinstance(message, dict) or not isinstance(message.get("method", ""), str):
        return None, {"code": _INVALID_REQUEST, "message": "A message is an object with a method or an id."}
    return message, {}


async def open_wire() -> Wire:
    """Take the standard streams for the protocol: what anybody prints from now on goes to stderr.

    Raises ValueError where they are no pipes.
    """
    loop = asyncio.get_running_loop()
    modes = [os.fstat(number).st_mode for number in (0, 1)]
    if not all(stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) for mode in modes):
        raise ValueError("no pipes")
    sys.stdout.flush()
    given, told = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123  -- its descriptor is wanted
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    reader = asyncio.StreamReader(limit=_LONGEST)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), given)
    flow = asyncio.streams.FlowControlMixin(loop)
    transport, _ = await loop.connect_write_pipe(lambda: flow, told)
    return Wire(reader, asyncio.StreamWriter(transport, flow, reader, loop))
