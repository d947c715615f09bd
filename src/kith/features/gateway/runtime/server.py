"""The runtime's process: uvicorn around the door, ended by a signal only when the answers in progress are."""

import asyncio
import socket
import sys
from types import FrameType

from kith.core.events import Event, Notice
from kith.features.gateway.runtime.app import make_app, with_health
from kith.features.gateway.runtime.served_model import ServedModel
from kith.features.web.guard import Door, guard
from kith.features.web.listen import ListenAddress
from kith.features.web.server import HttpServer
from kith.view.lines import wrapped
from kith.view.printing import printable


class _Server(HttpServer):
    """A server that turns away who waits when it is told to end."""

    served: ServedModel

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.served.queue.close()


async def run_runtime(served: ServedModel, listener: socket.socket, place: ListenAddress, token: str) -> None:
    """Serve until SIGINT or SIGTERM. Raises what keeps the model from being loaded."""
    app = guard(make_app(served), Door(token, place.port, place.host, place.names))
    server = _Server(with_health(app, served))
    server.served = served
    loading = asyncio.create_task(_load(served, server))
    try:
        await server.serve(sockets=[listener])
    finally:
        loading.cancel()
        await asyncio.gather(loading, return_exceptions=True)
        await served.close()
    if not loading.cancelled():
        loading.result()


async def _load(served: ServedModel, server: HttpServer) -> None:
    """Load the model; without one there is nothing to serve."""
    try:
        await served.load(_tell)
    except BaseException:
        served.queue.close()
        server.should_exit = True
        raise
    _say(f"{served.name} is ready; {served.queue.parallel} at once, and {served.queue.room} may wait.")


def _tell(event: Event) -> None:
    if isinstance(event, Notice):
        _say(event.text)


def _say(text: str) -> None:
    print(wrapped(printable(text), sys.stderr), file=sys.stderr, flush=True)
