"""The server's process: uvicorn as kith runs it, around the door and the application."""

import asyncio
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from kith.core.event_loop import hangups, run_loop
from kith.features.web.app import make_app, page_names
from kith.features.web.desk import Desk
from kith.features.web.guard import NO_ROOM, Door, guard
from kith.features.web.listen import ListenAddress

# uvicorn as kith runs it: strict, silent, patient for a while only, and ended by a signal.

_CONFIG: Final[dict[str, Any]] = {
    "ws": "none",
    "lifespan": "off",
    "log_config": None,
    "log_level": "critical",  # the door tells of bugs
    "access_log": False,
    "server_header": False,
    "proxy_headers": False,
    "timeout_keep_alive": 30,
    "backlog": 128,  # asyncio tries so often to accept where the process has no more descriptors
}
LAST_S: Final = 0.3  # at the end, for tasks and threads that nobody needs any more
_SAY_AGAIN_S: Final = 60.0


class HttpServer(uvicorn.Server):
    """One application's server; told twice to end, it ends at once, and no signal is raised once more."""

    look_s = 0.3  # at the end, between two looks at the connections that are left

    def __init__(
        self, app: Any, *, grace_s: int | None = None, ready: Callable[[], None] = lambda: None
    ) -> None:
        """`grace_s`: for answers in progress when it is told to end; None: until they are whole.

        `ready` is called when requests are answered and signals are handled.
        """
        config = uvicorn.Config(app, http=Timely, timeout_graceful_shutdown=grace_s, **_CONFIG)
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(_Complaints())
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        with super().capture_signals():
            if threading.current_thread() is threading.main_thread():
                for number in hangups():
                    signal.signal(number, self.handle_exit)
            yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # A terminal that closes sends two hang-ups: that is no second wish.
        self.force_exit = self.force_exit or (self.should_exit and sig not in hangups())
        self.should_exit = True
        if self.force_exit or self.config.timeout_graceful_shutdown == 0:
            # Now, and not when the loop has come round: requests that wait for their turn do not begin.
            for task in tuple(self.server_state.tasks):
                task.cancel()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        cutting = asyncio.create_task(self._cut_off())
        try:
            await super().shutdown(sockets)
        finally:
            cutting.cancel()

    async def _cut_off(self) -> None:
        """Hang up on clients that neither get an answer nor read one; the others are waited for."""
        while True:
            for connection in tuple(self.server_state.connections):
                if isinstance(connection, Timely):
                    connection.cut_off()
            await asyncio.sleep(self.look_s)


class _Complaints:
    """Words for errors of the event loop: one line now and then while there is no room for connections."""

    _said = -_SAY_AGAIN_S

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in NO_ROOM):
            loop.default_exception_handler(context)
        elif loop.time() - self._said >= _SAY_AGAIN_S:
            self._said = loop.time()
            words = f"No room for more connections ({error.strerror}); new ones wait."
            print(f"{words} Raise the limit: ulimit -n", file=sys.stderr, flush=True)


class Timely(H11Protocol):
    """A connection is cut when a request does not come whole in time: one sent drop by drop holds no place.

    uvicorn's protocol by h11, strict about what a request may look like, waits for its end for good.
    """

    patience_s = 20.0  # from a request's first byte to its last; and for the first one of a connection
    _coming = False
    _unread = 0
    _end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        if not self._coming:
            self._coming = True
            self._wait()
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):  # it is whole, or refused
            self._coming = False
            self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def cut_off(self) -> None:
        """Hang up, unless an answer is on its way to a client that has read since the last call."""
        cycle, unread = self.cycle, self.transport.get_write_buffer_size()
        answering = cycle is not None and not (cycle.response_complete or cycle.more_body)
        if (unread and unread == self._unread) or not (unread or answering):
            self.transport.abort()
        self._unread = unread

    def _wait(self) -> None:
        self._forget()
        self._end = self.loop.call_later(self.patience_s, self.transport.close)

    def _forget(self) -> None:
        if self._end is not None:
            self._end.cancel()
            self._end = None


def run_server(
    desk: Desk, listener: socket.socket, place: ListenAddress, token: str, ready: Callable[[], None]
) -> None:
    """Serve until SIGINT or SIGTERM; streams that are open then are cut, and their readers come again.

    `ready` is called when requests are answered.
    """
    door = Door(token, place.port, place.host, place.names, page_names())
    server = HttpServer(guard(make_app(desk), door), grace_s=0, ready=ready)

    async def serve() -> None:
        desk.take_up()
        await server.serve(sockets=[listener])

    run_loop(serve(), LAST_S)
