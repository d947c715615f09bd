"""The server's process: uvicorn around the door and the application."""

import asyncio
import socket
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn

from kith.faces.serve.app import make_app
from kith.faces.serve.desk import Desk
from kith.faces.serve.guard import Door, guard
from kith.faces.serve.timely import Timely

if TYPE_CHECKING:
    from kith.faces.serve.command import Place


class _Server(uvicorn.Server):
    """uvicorn, ended by a signal without raising it once more."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit  # asked twice
        self.should_exit = True


def run_server(
    desk: Desk, listener: socket.socket, place: "Place", token: str, ready: Callable[[], None]
) -> None:
    """Serve until SIGINT or SIGTERM; streams that are open then are cut, and their readers come again.

    `ready` is called when requests will be answered.
    """
    door = Door(token, place.port, place.host, place.names)
    config = uvicorn.Config(
        guard(make_app(desk), door),
        http=Timely,  # strict about what a request may look like
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",  # the door tells of bugs
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=0,
        timeout_keep_alive=30,
    )

    async def serve() -> None:
        desk.take_up()
        ready()
        await _Server(config).serve(sockets=[listener])

    asyncio.run(serve())
