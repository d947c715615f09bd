"""Servers by the protocol's own package, over standard streams and over HTTP."""

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from places import SUPPORT

pytest.importorskip("mcp")

from kith.features.mcp.connection import Address, Connection, ServerError, ServerPlace, ServerProgram
from kith.features.mcp.schemas import plain_schema
from waiting import until

HERE = SUPPORT
COMMAND = (sys.executable, str(HERE / "sdk_server.py"))


@pytest.fixture
def address() -> Iterator[Address]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([*COMMAND, "http", str(port)], stderr=subprocess.DEVNULL)

    def answers() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    until(answers)
    yield Address(f"http://127.0.0.1:{port}/mcp", here=True)
    server.terminate()
    server.wait(60)


async def exercise(place: ServerPlace) -> None:
    """Everything that a session does with a server."""
    connection = Connection(place, HERE, "0", 30)
    steps: list[tuple[int, int]] = []
    try:
        listed = {each.name: each for each in await connection.list_tools()}
        assert set(listed) == {"locate", "count", "fail", "draw"}
        schema = plain_schema(listed["locate"].schema)
        assert schema["required"] == ["place"]
        assert schema["properties"]["place"]["properties"]["line"] == {
            "type": "integer",
            "description": "at least 1",
        }
        assert schema["properties"]["kind"]["enum"] == ["file", "symbol"]

        def note(done: int, total: int) -> None:
            steps.append((done, total))

        found = await connection.call("locate", {"place": {"path": "a.py", "line": 7}}, 30, note)
        assert found.ok and '"number": 7' in found.text
        assert (await connection.call("count", {"up_to": 3}, 30, note)).text == "counted"
        assert steps and steps[-1] == (3, 3)
        assert not (await connection.call("fail", {}, 30, note)).ok
        assert not (await connection.call("locate", {"place": "nowhere"}, 30, note)).ok
        assert (await connection.call("draw", {}, 30, note)).text == "[image left out: image/png, 9 bytes]"
        both = await asyncio.gather(*(connection.call("count", {"up_to": 1}, 30, note) for _ in range(5)))
        assert [each.text for each in both] == ["counted"] * 5
    finally:
        await connection.aclose()


@pytest.mark.slow
def test_a_program(tmp_path: Path) -> None:
    asyncio.run(exercise(ServerProgram((*COMMAND, "stdio"), str(tmp_path))))


@pytest.mark.slow
def test_an_address(address: Address) -> None:
    asyncio.run(exercise(address))


def test_a_key_goes_to_its_address_and_a_refusal_is_said() -> None:
    seen: list[str | None] = []

    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(self.headers["Authorization"])
            self.send_error(401)

        def log_message(self, *args: object) -> None:
            """Nothing on the screen."""

    door = HTTPServer(("127.0.0.1", 0), Door)
    threading.Thread(target=door.serve_forever, args=(0.01,), daemon=True).start()
    place = Address(f"http://127.0.0.1:{door.server_port}/mcp", {"Authorization": "Bearer k-1"}, here=True)

    async def ask() -> str:
        connection = Connection(place, HERE, "0", 10)
        try:
            await connection.list_tools()
        except ServerError as error:
            return str(error)
        finally:
            await connection.aclose()
        return ""

    said = asyncio.run(ask())
    door.shutdown()
    assert seen and set(seen) == {"Bearer k-1"}
    assert said == "it answers 401 Unauthorized"
