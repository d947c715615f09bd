"""Servers of tools as they are: started, asked, lost, started again, and gone when kith is."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from places import SUPPORT
from waiting import until

pytest.importorskip("mcp")

from kith.features.mcp.connection import Address, Connection, ServerError, ServerPlace, ServerProgram

HERE = SUPPORT
T = TypeVar("T")


def plain(*words: str, folder: Path = HERE, **env: str) -> ServerProgram:
    """The server beside this test."""
    return ServerProgram((sys.executable, str(HERE / "plain_server.py"), *words), str(folder), env)


def connected(
    place: ServerPlace, use: Callable[[Connection], Awaitable[T]], seconds: float = 60, root: Path = HERE
) -> T:
    """What comes of using a connection, which is closed afterwards."""

    async def whole() -> T:
        connection = Connection(place, root, "0", seconds)
        try:
            return await use(connection)
        finally:
            await connection.aclose()

    return asyncio.run(whole())


async def call(connection: Connection, name: str, seconds: float = 60, **args: Any) -> str:
    said = await connection.call(name, args, seconds, lambda done, total: None)
    return said.text


def why(place: ServerPlace, seconds: float = 60) -> str:
    """Why a server has no tools, in a sentence."""
    with pytest.raises(ServerError) as caught:
        connected(place, lambda connection: connection.list_tools(), seconds)
    words = str(caught.value)
    assert words.isprintable()
    return words


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def pid_in(text: str) -> int:
    return int(text.rpartition("pid ")[2])


def test_a_server_without_the_protocols_package_is_asked_and_ends() -> None:
    async def use(connection: Connection) -> tuple[list[str], str]:
        listed = await connection.list_tools()
        return [each.name for each in listed], await call(connection, "greet", who="Ada")

    names, text = connected(plain("chatty"), use)
    assert names[:3] == ["greet", "end", "picture"] and text.startswith("Hello Ada")
    until(lambda: not is_alive(pid_in(text)))


def test_a_server_that_ended_is_told_of_and_started_again() -> None:
    async def use(connection: Connection) -> tuple[str, str]:
        await connection.list_tools()
        with pytest.raises(ServerError) as caught:
            await call(connection, "end")
        return str(caught.value), await call(connection, "greet", who="Bo")

    lost, text = connected(plain(), use)
    assert lost == "it has ended; it says: Fatal: told to end"
    assert text.startswith("Hello Bo")


def test_what_is_wrong_is_said_in_one_sentence(tmp_path: Path) -> None:
    assert why(plain("broken")) == "it ended at once; it says: Cannot find module 'left-pad'"
    assert (
        why(ServerProgram(("no-such-program",), "/"))
        == "there is no program 'no-such-program' on this machine"
    )
    assert why(plain(folder=tmp_path / "gone")) == f"there is no folder {tmp_path / 'gone'}"
    assert why(plain("silent"), 0.5) == "no answer within 0.5 s"
    assert why(Address("http://127.0.0.1:1/mcp", here=True)) == "All connection attempts failed"


@pytest.mark.slow
def test_a_call_that_takes_too_long_ends_the_call_and_not_the_server() -> None:
    async def use(connection: Connection) -> str:
        with pytest.raises(ServerError) as caught:
            await call(connection, "wait", 0.3)
        return str(caught.value)

    assert "timed out" in connected(plain(), use)


@pytest.mark.slow
def test_how_far_a_server_says_it_is_stays_within_bounds() -> None:
    told: list[tuple[int, int]] = []

    async def use(connection: Connection) -> None:
        await connection.call("greet", {"who": "Ada"}, 30, lambda done, total: told.append((done, total)))

    connected(plain("boastful"), use)
    assert told == [(0, 1), (0, 1), (0, 1), (0, 0), (4, 4)]


@pytest.mark.slow
@pytest.mark.parametrize("word", ["strict", "modern"])
def test_old_and_new_servers_are_understood(word: str) -> None:
    async def use(connection: Connection) -> str:
        assert len(await connection.list_tools()) == 6
        return await call(connection, "greet", who="Ada")

    assert connected(plain(word), use).startswith("Hello Ada")


@pytest.mark.slow
def test_lists_without_end_end() -> None:
    listed = connected(plain("pages"), lambda connection: connection.list_tools())
    assert len(listed) == 6


@pytest.mark.slow
def test_a_program_knows_little_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-person")
    monkeypatch.setenv("LANG", "de_DE.UTF-8")

    async def use(connection: Connection) -> list[str]:
        return [
            await call(connection, "environment", variable=each)
            for each in ("OPENAI_API_KEY", "LANG", "MINE")
        ]

    secret, language, mine = connected(plain(folder=tmp_path, MINE="yes"), use)
    assert (secret, language, mine) == tuple(
        f"{each} in {tmp_path}" for each in ("(not set)", "de_DE.UTF-8", "yes")
    )


@pytest.mark.slow
def test_only_a_program_is_told_the_folder(tmp_path: Path) -> None:
    log = tmp_path / "log"
    connected(plain(PLAIN_SERVER_LOG=str(log)), lambda connection: connection.list_tools())
    begin = next(
        each for each in map(json.loads, log.read_text().splitlines()) if each["method"] == "initialize"
    )
    assert begin["params"]["clientInfo"]["name"] == "kith"
    assert set(begin["params"]["capabilities"]) == {
        "roots"
    }  # no model is lent, and nobody is asked questions


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own leash")
def test_a_server_does_not_outlive_a_kith_that_is_killed(tmp_path: Path) -> None:
    script = f"""
import asyncio, sys
sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(HERE)!r}]
from test_connection import Connection, call, plain, HERE

async def main():
    connection = Connection(plain("deaf"), HERE, "0", 30)
    print(await call(connection, "greet", who="Cy"), flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""
    kith = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert kith.stdout
    pid = pid_in(kith.stdout.readline())
    assert is_alive(pid)
    kith.send_signal(signal.SIGKILL)
    kith.wait()
    until(lambda: not is_alive(pid))
