"""Requests that come drop by drop, or never end, hold no place for long; the end of a server is quick."""

import asyncio
import os
import resource
import signal
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("uvicorn")

import uvicorn

from kith.features.web.server import HttpServer, Timely
from waiting import soon

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"


class Hasty(Timely):
    """The same protocol with less patience."""

    patience_s = 0.3


class Patient(Timely):
    """Patience enough for a busy machine, and for no answer of `slow_app`."""

    patience_s = 2.0


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
        await asyncio.sleep(1.1)


async def talk(*pieces: bytes, http: type[Timely] = Hasty) -> bytes:
    """What a server says to these pieces, sent one after another, until it hangs up."""
    server = uvicorn.Server(uvicorn.Config(slow_app, http=http, ws="none", lifespan="off", log_config=None))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(0.2)
        said = await asyncio.wait_for(reader.read(), 60)
        writer.close()
        server.should_exit = True
        await serving
    return said


@pytest.mark.parametrize(
    "pieces",
    [(), (b"GET / HT",), (b"G", b"E", b"T"), (HEAD, b"X-A: b\r\n", b"X-C: d\r\n"), (HEAD + b"\r\nhalf",)],
    ids=["nothing", "half a line", "drops", "a head without end", "half a body"],
)
def test_who_does_not_come_to_an_end_is_cut_off(pieces: tuple[bytes, ...]) -> None:
    assert asyncio.run(talk(*pieces)) == b""


@pytest.mark.slow
def test_what_was_asked_in_time_is_answered_for_as_long_as_it_takes() -> None:
    said = asyncio.run(talk(HEAD + b"Connection: close\r\n\r\nwhole", b" end", http=Patient))
    assert said.startswith(b"HTTP/1.1 200") and b"one" in said and b"two" in said


GET = b"GET /answer HTTP/1.1\r\nHost: localhost\r\n\r\n"
OK = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]}


def test_requests_that_wait_for_their_turn_do_not_delay_the_end() -> None:
    async def main() -> int:
        gate, all_here, here, ran = asyncio.Event(), asyncio.Event(), list[int](), list[int]()

        async def app(scope: Any, receive: object, send: object) -> None:
            here.append(1)
            if len(here) == len(clients):
                all_here.set()
            await gate.wait()
            ran.append(1)
            server.handle_exit(signal.SIGTERM, None)

        server = HttpServer(app, grace_s=0)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            clients = [socket.create_connection(listener.getsockname()) for _ in range(9)]
            for client in clients:
                client.sendall(GET)
            serving = asyncio.ensure_future(server.serve(sockets=[listener]))
            await all_here.wait()
            gate.set()
            await serving
        for client in clients:
            client.close()
        return len(ran)

    assert asyncio.run(main()) == 1


def test_the_end_waits_for_answers_that_somebody_reads_and_for_nothing_else() -> None:
    finish = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Callable[[Any], Awaitable[None]]) -> None:
        if scope["method"] == "POST":
            await receive()
            await receive()
        elif scope["path"] == "/answer":
            await finish.wait()
            await send(OK)
            await send({"type": "http.response.body", "body": b"whole"})
        else:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for _ in range(64):
                await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})

    async def main() -> bytes:
        server = HttpServer(app)
        server.look_s = 0.05
        with socket.create_server(("127.0.0.1", 0)) as listener:
            place = listener.getsockname()
            serving = asyncio.ensure_future(server.serve(sockets=[listener]))
            reader, answered = await asyncio.open_connection(*place)
            answered.write(GET)
            others = [socket.create_connection(place) for _ in range(3)]
            others[0].sendall(HEAD + b"\r\nhalf")
            others[1].sendall(GET.replace(b"/answer", b"/stream"))  # and never reads it
            await soon(
                lambda: len(server.server_state.tasks) == 3 and len(server.server_state.connections) == 4
            )
            server.handle_exit(signal.SIGTERM, None)
            await soon(lambda: len(server.server_state.connections) == 1)
            finish.set()
            said = await reader.read()
            await serving
        for each in (*others, answered):
            each.close()
        return said

    assert asyncio.run(main()).endswith(b"whole")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors as Linux does")  # noqa: PTH112
def test_a_server_without_descriptors_goes_on_when_there_are_some(capsys: pytest.CaptureFixture[str]) -> None:
    async def app(scope: Any, receive: object, send: Callable[[Any], Awaitable[None]]) -> None:
        await send(OK)
        await send({"type": "http.response.body", "body": b"whole"})

    async def main() -> None:
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        server = HttpServer(app, grace_s=0, ready=ready.set)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            serving = asyncio.ensure_future(server.serve(sockets=[listener]))
            await ready.wait()
            clients = [socket.create_connection(listener.getsockname()) for _ in range(9)]
            limits, free = resource.getrlimit(resource.RLIMIT_NOFILE), os.dup(0)
            os.close(free)
            resource.setrlimit(resource.RLIMIT_NOFILE, (free + 2, limits[1]))
            try:
                for client in clients:
                    client.setblocking(False)
                    client.sendall(GET)
                for client in clients:  # the next is let in when this one has gone
                    assert (await loop.sock_recv(client, 9999)).startswith(b"HTTP/1.1 200")
                    client.close()
                    await asyncio.sleep(0)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            server.handle_exit(signal.SIGTERM, None)
            await serving

    asyncio.run(main())
    assert capsys.readouterr().err.count("\n") == 1
