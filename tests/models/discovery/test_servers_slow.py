"""A server that the person named may be slow to be reached; guesses stay quick, and closed ports are said."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kith.core.errors import EXIT_TRY_LATER
from kith.core.events import Event, Notice, Progress
from kith.features.demo.standin import serve
from kith.features.engine.model_files import OwnEngine
from kith.models.choose import choose_provider
from kith.models.discovery.servers import (
    NamedServer,
    Place,
    Places,
    Wait,
    find_servers,
    wait_for_port,
)
from kith.models.providers.facts import ASKED
from kith.models.providers.faults import LostReplyError, UnreachableError
from kith.models.providers.waiting import TOLD_S, waiting_for
from kith.models.providers.wire import Endpoint

LATE = 0.6  # seconds for each look; more than one of them is beyond the patience with guesses


def places(url: str, dialect: str, **more: Any) -> Places:
    """One server, named by the variable that people already set."""
    nobody = Places(ollama_host="http://127.0.0.1:1", usual=(), **more)
    return replace(nobody, ollama_host=url) if dialect == "ollama" else replace(nobody, openai_base_url=url)


def find(
    name: str, dialect: Any, own: OwnEngine, stall_s: float = 60.0, **behaviour: Any
) -> tuple[str, list[Event]]:
    """Choose the model called `name`, and read what it is, of a server that behaves so."""
    events: list[Event] = []

    async def run() -> str:
        async with serve([], dialect, **behaviour) as server:
            where = places(server.url, dialect, stall_s=stall_s)
            provider = await choose_provider(name, where, {"file": lambda: own}, events.append)
            await provider.facts(events.append)
            await provider.close()
            return provider.name

    return asyncio.run(run()), events


@pytest.fixture
def own(tmp_path: Path) -> OwnEngine:
    return OwnEngine(tmp_path / "state", tmp_path / "cache", program="off")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dialect", "named"),
    [
        *((dialect, False) for dialect in ("ollama", "llama-server", "lmstudio", "vllm")),
        *((dialect, True) for dialect in ("ollama", "llama-server")),  # one of each protocol
    ],
)
def test_a_named_server_may_be_slow_to_tell_of_itself(dialect: str, named: bool, own: OwnEngine) -> None:
    provider = "ollama" if dialect == "ollama" else "openai"
    name, events = find(f"{provider}/standin" if named else "", dialect, own, delay_looks=1.2)
    assert name.removesuffix(":latest") == f"{dialect}/standin"
    waits = [event.what for event in events if isinstance(event, Progress)]
    assert any(what.startswith("waiting for http://127.0.0.1:") for what in waits)


@pytest.mark.slow
def test_guesses_stay_quick() -> None:
    async def run() -> tuple[int, int]:
        async with serve([], delay_looks=LATE) as server:
            guess, said = Place(server.url), Place(server.url, said="OLLAMA_HOST")
            wait = Wait(60, lambda event: None)
            return len(await find_servers([guess], wait=wait)), len(await find_servers([said], wait=wait))

    assert asyncio.run(run()) == (0, 1)


def test_one_named_server_that_answers_is_enough() -> None:
    async def run() -> list[str]:
        async with serve([], silent=True) as hung, serve([], model="here") as good:
            named = [Place(each.url, said="endpoints.x") for each in (hung, good)]
            found = await find_servers(named, wait=Wait(60, lambda event: None))
            return [server.models[0].name for server in found]

    assert asyncio.run(run()) == ["here:latest"]


def test_a_named_server_that_hangs_is_given_up_in_the_end(own: OwnEngine) -> None:
    with pytest.raises(LostReplyError, match=r"sent nothing for 1 s; .* raise the setting `stall`") as caught:
        find("openai/standin", "vllm", own, stall_s=1.0, silent=True)
    assert caught.value.code == EXIT_TRY_LATER


def test_a_model_that_loads_behind_slow_looks_is_waited_for(own: OwnEngine) -> None:
    name, _ = find("openai/standin", "llama-server", own, loading=0.6, delay_looks=0.2)
    assert name == "llama-server/standin"


# --- connections -----------------------------------------------------------------------------


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def test_a_server_that_is_just_starting_is_waited_for() -> None:
    async def run() -> int:
        port = free_port()

        waiting = asyncio.create_task(wait_for_port(f"http://127.0.0.1:{port}"))
        await asyncio.sleep(0.4)  # it was refused before
        async with serve([], port=port):
            await waiting
            return len(await find_servers([Place(f"http://127.0.0.1:{port}")]))

    assert asyncio.run(run()) == 1


@pytest.mark.slow
def test_a_closed_port_is_said(own: OwnEngine) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    where = places("", "vllm", named={"box": NamedServer("ollama", url)})
    with pytest.raises(UnreachableError, match=url):
        asyncio.run(choose_provider("box/m", where, {"file": lambda: own}, lambda event: None))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="only Linux lets connections wait")
def test_a_connection_that_is_accepted_late_is_no_missing_server() -> None:
    """A queue that is full drops connections until the server has time: the kernel tries for seconds."""

    async def run() -> Any:
        with socket.create_server(("127.0.0.1", 0), backlog=0) as busy:
            url = f"http://127.0.0.1:{busy.getsockname()[1]}"
            others = [socket.socket() for _ in range(3)]
            for other in others:
                other.setblocking(False)
                other.connect_ex(busy.getsockname())
            asking = asyncio.create_task(Endpoint(url).get("/v1/models"))
            await asyncio.sleep(2.5)
            assert not asking.done()

            async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                if await reader.read(4096):
                    writer.write(b"HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n{}")
                    await writer.drain()
                writer.close()

            for other in others:
                other.close()
            busy.setblocking(False)
            async with await asyncio.start_server(answer, sock=busy):
                return await asking

    assert asyncio.run(run()) == {}


# --- what is said meanwhile ------------------------------------------------------------------


def told(seconds: float, *says: Event) -> list[Event]:
    """What is said while a block takes so many seconds, and says this itself at its beginning."""
    events: list[Event] = []
    passed = 0.0

    async def sleep(wait: float) -> None:
        nonlocal passed
        if passed + wait > seconds:
            await asyncio.Event().wait()
        passed += wait

    async def run() -> None:
        async with waiting_for("http://box", events.append, 600, sleep=sleep) as emit:
            for event in says:
                emit(event)
            await asyncio.sleep(0.01)

    asyncio.run(run())
    return events


def test_a_wait_is_shown_then_told_and_then_over() -> None:
    shown = Progress("waiting for http://box", 0)
    assert told(0.5) == []
    assert told(2) == [shown, Progress(ASKED, 0)]
    words = f"Waiting for http://box: no answer for {TOLD_S:.0f} s (`stall`: at most 600 s)."
    assert told(9) == [shown, Notice(words), Progress(ASKED, 0)]


def test_what_the_server_says_itself_replaces_the_wait() -> None:
    loading = Progress("loading the model", 0)
    assert told(9, loading) == [loading]
