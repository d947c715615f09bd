"""Serve one client on the standard streams, and end when it hangs up or dies, or with a signal."""

import asyncio
import os
import select
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Final, cast

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server

from kith.core.event_loop import call_in

LEAVE_S: Final = 1.0  # for the sessions of calls, and threads that still read or write
_PIECE: Final = 1 << 16


async def serve_client(server: MCPServer[Any]) -> None:
    """Serve until the client closes its end; what its calls had begun is cancelled then.

    What anybody else prints from now on goes to stderr, and nobody else reads what the client writes.
    """
    sys.stdout.flush()
    given, told = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    # The library's own streams block in threads that neither a cancellation nor Python's end gets rid of.
    streams = stdio_server(cast(Any, _lines(given)), cast(Any, _Output(told)))
    try:
        async with streams as (read, write):
            inner = server._lowlevel_server  # as its own `run_stdio_async` does
            await inner.run(read, write, inner.create_initialization_options())
    except* (anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # a message was on its way in the library when it ended
    if (task := asyncio.current_task()) and task.cancelling():  # which the library may have hidden
        raise asyncio.CancelledError


async def _lines(given: int) -> AsyncIterator[str]:
    """The client's lines until it is gone, read by a thread that may be left behind."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[bytes] = asyncio.Queue()
    room = threading.Semaphore(4)  # pieces that wait; a client that writes faster is held up

    def read() -> None:
        piece = b" "
        while piece:
            room.acquire()
            try:
                piece = os.read(given, _PIECE)
            except OSError:
                piece = b""
            with suppress(RuntimeError):  # the loop has just ended
                call_in(loop, lambda piece=piece: arrived.put_nowait(piece))  # type: ignore[misc]

    threading.Thread(target=read, daemon=True, name="kith-client").start()
    begun: list[bytes] = []  # a line without its end
    while piece := await arrived.get():
        room.release()
        *whole, rest = piece.split(b"\n")
        for line in whole:
            yield b"".join((*begun, line)).decode("utf-8", "replace")
            begun.clear()
        begun.append(rest)
    if last := b"".join(begun):
        yield last.decode("utf-8", "replace")


class _Output:
    """The client's side of stdout; what is told to one that is gone is lost."""

    def __init__(self, told: int) -> None:
        self._told = told

    async def write(self, text: str) -> None:
        await asyncio.to_thread(self._write, text.encode())

    async def flush(self) -> None:
        """Nothing is held back."""

    def _write(self, data: bytes) -> None:
        waiting = memoryview(data)
        with suppress(OSError):  # the end of the input follows
            while waiting:
                try:
                    waiting = waiting[os.write(self._told, waiting) :]
                except BlockingIOError:  # the client reads slowly, and its pipe does not wait
                    select.select((), (self._told,), ())
