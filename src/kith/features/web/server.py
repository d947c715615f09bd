"""The server's process: uvicorn around the door and the application."""

import socket
from collections.abc import Callable

from kith.core.loops import run_loop
from kith.features.web.app import make_app
from kith.features.web.desk import Desk
from kith.features.web.guard import Door, guard
from kith.features.web.http_server import Server
from kith.features.web.place import Place


def run_server(
    desk: Desk, listener: socket.socket, place: Place, token: str, ready: Callable[[], None]
) -> None:
    """Serve until SIGINT or SIGTERM; streams that are open then are cut, and their readers come again.

    `ready` is called when requests will be answered.
    """
    door = Door(token, place.port, place.host, place.names)
    server = Server(guard(make_app(desk), door), grace_s=0)

    async def serve() -> None:
        desk.take_up()
        ready()
        await server.serve(sockets=[listener])

    run_loop(serve())
