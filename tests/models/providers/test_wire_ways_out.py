"""Ways out of the person's own network that no address shows, and keys in what is said of an address."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from kith.agent.models import cloud_protocols
from kith.core.errors import KithError, ModelError, NoModelError, UsageError
from kith.core.events import Event, Notice
from kith.core.model import Emit
from kith.core.values import Reply
from kith.features.clouds.anthropic import anthropic_endpoint
from kith.features.engine.model_files import OwnEngine
from kith.features.pools.pool import Member, Pool
from kith.models.choose import choose_provider
from kith.models.discovery.servers import NamedServer, Places
from kith.models.providers.facts import Facts
from kith.models.providers.wire import Endpoint
from kith.settings.files import KeyPlace
from kith.settings.read import read_named

KEY = "sk-very-much-mine-0123456789"
PLACES = Places(ollama_host="http://127.0.0.1:1", usual=())


@dataclass
class Listener:
    """A server that remembers what it was sent, and answers each path with what it was given."""

    answers: dict[str, object] = field(default_factory=dict)
    head: bytes = b"HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n"
    got: list[bytes] = field(default_factory=list)
    url: str = ""

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.got.append(head)
        writer.write(self.head + json.dumps(self.answers.get(head.split()[1].decode(), {})).encode())
        writer.close()


@asynccontextmanager
async def listen(listener: Listener) -> AsyncIterator[Listener]:
    async with await asyncio.start_server(listener.talk, "127.0.0.1", 0) as server:
        listener.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield listener


def test_a_redirect_takes_neither_the_prompt_nor_the_key_along() -> None:
    async def run() -> list[bytes]:
        async with listen(Listener()) as other, listen(Listener()) as first:
            for code in (301, 302, 307, 308):
                first.head = f"HTTP/1.0 {code} X\r\nlocation: {other.url}/v1/messages\r\n\r\n".encode()
                for endpoint in (Endpoint(first.url, KEY), anthropic_endpoint(first.url, KEY)):
                    with pytest.raises(ModelError):
                        await endpoint.post("/v1/messages", {"secret": "words"})
                    await endpoint.close()
            return other.got

    assert asyncio.run(run()) == []


def test_no_proxy_gets_what_stays_in_the_own_network(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> list[bytes]:
        async with listen(Listener()) as proxy:
            for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
                monkeypatch.setenv(name, proxy.url)
            near = Endpoint("http://10.255.255.1:9", KEY, connect_s=0.2)
            with pytest.raises(ModelError):
                await near.post("/api/chat", {"secret": "words"})
            await near.close()
            return proxy.got

    assert asyncio.run(run()) == []


REMOTE = {
    "/api/version": {"version": "0.15"},
    "/v1/models": {"data": [{"id": "big", "owned_by": "library"}]},
    "/api/tags": {"models": [{"name": "big"}]},
    "/api/show": {"model_info": {}, "details": {}, "remote_host": "https://ollama.com:443"},
    "/api/ps": {"models": []},
}


@pytest.mark.parametrize("kind", ["ollama", "openai", "anthropic", "lmstudio"])
def test_ollama_sends_on_to_its_cloud_in_no_protocol_unsaid(kind: str, tmp_path: Path) -> None:
    """It speaks those of others, and its stand-ins for models in a cloud look like any model in them."""
    own, events = OwnEngine(tmp_path / "state", tmp_path / "cache", program="off"), list[Event]()

    async def run() -> Facts:
        async with listen(Listener(dict(REMOTE))) as server:
            near = {"near": NamedServer(kind, server.url)}  # type: ignore[arg-type]
            places = Places(cloud_protocols(), near, usual=())
            provider = await choose_provider("near/big", places, {"file": lambda: own}, events.append)
            try:
                never = replace(places, cloud="never")
                with pytest.raises(NoModelError, match='"never"'):
                    await choose_provider("near/big", never, {"file": lambda: own}, events.append)
                return await provider.facts(events.append)
            finally:
                await provider.close()

    assert asyncio.run(run()).cloud
    assert any("this machine" in event.text for event in events if isinstance(event, Notice))


@dataclass
class Machine:
    """A server of a pool, as it says what it is."""

    name: str
    cloud: bool

    async def facts(self, emit: Emit = lambda event: None) -> Facts:
        return Facts(self.name, f"http://{self.name}", cloud=self.cloud)

    async def __call__(self, prompt: object, emit: Emit) -> Reply:
        raise NotImplementedError

    async def count(self, prompt: object) -> int | None:
        return None

    async def warm(self, prompt: object) -> None: ...

    async def close(self) -> None: ...


def test_a_pool_goes_on_without_a_server_that_sends_on_to_a_cloud() -> None:
    for machines in ([Machine("near", False), Machine("far", True)], [Machine("far", True)] * 2):
        pool, told = Pool("home/m", [Member(each) for each in machines]), list[Event]()
        if machines[0].cloud:
            with pytest.raises(NoModelError):
                asyncio.run(pool.facts(told.append))
        else:
            assert not asyncio.run(pool.facts(told.append)).cloud
            assert [member.facts.name for member in pool.members] == ["near"]
        assert any("own network" in event.text for event in told if isinstance(event, Notice))


@pytest.mark.parametrize(
    "url",
    [
        f"https://host/v1?key={KEY}",
        f"https://host/v1#{KEY}",
        f"ftp://me:{KEY}@host/v1",
        f"me:{KEY}@host",
        f"http://me:{KEY}@:99999/",
    ],
)
def test_no_word_about_a_wrong_address_has_its_key(url: str) -> None:
    for read in (
        lambda: Endpoint(url),
        lambda: read_named("endpoints", "x", {"url": url}, KeyPlace("config.toml")),
    ):
        try:
            read()
        except KithError as error:
            assert isinstance(error, UsageError) and KEY not in str(error)
    with pytest.raises(UsageError):
        Endpoint(url)


def test_a_server_that_repeats_the_key_in_a_broken_stream_is_not_quoted() -> None:
    async def run() -> str:
        async with listen(Listener()) as server:
            server.head = b"HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
            server.head += f'data: ["{KEY}"]\n\n'.encode()
            endpoint = Endpoint(server.url, KEY)
            with pytest.raises(ModelError) as refused:
                async with endpoint.stream_events("/v1/chat/completions", {}) as events:
                    async for _ in events:
                        pass
            await endpoint.close()
            return str(refused.value)

    assert KEY not in asyncio.run(run())


def test_a_key_with_a_line_break_goes_into_no_header() -> None:
    for key in (f"{KEY}\nx: y", f"{KEY}:a\nb"):
        with pytest.raises(UsageError) as refused:
            anthropic_endpoint("https://api.example.org", key)
        assert KEY not in str(refused.value)
