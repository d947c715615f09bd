"""What is found on this machine, how addresses are read, and that nothing else is touched."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kith.core.errors import UsageError
from kith.models.discovery.cards import Card
from kith.models.discovery.servers import Server, find_servers, ollama_url
from kith.models.standin import serve


@asynccontextmanager
async def pages(answers: dict[str, Any]) -> AsyncIterator[str]:
    """A server with these JSON answers by path, 404 for all else."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        status = "200 OK" if path in answers else "404 Not Found"
        body = json.dumps(answers.get(path, {"error": "no such page"})).encode()
        head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        writer.write(f"{head}connection: close\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def look(answers: dict[str, Any]) -> tuple[Server, ...]:
    async def run() -> tuple[Server, ...]:
        async with pages(answers) as url:
            return await find_servers("http://127.0.0.1:1", usual=(url,))

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:9000", "http://127.0.0.1:9000"),
        (":9000", "http://127.0.0.1:9000"),
        ("[::]:9000", "http://[::1]:9000"),
        ("::1", "http://[::1]:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("box", "http://box:11434"),
        ("box:9000", "http://box:9000"),
        ("http://box", "http://box:80"),
        ("https://box", "https://box:443"),
        ("https://box:9000/ollama/", "https://box:9000/ollama"),
        ("http://0.0.0.0:9000", "http://127.0.0.1:9000"),
        ("box:notaport", "http://box:11434"),
        ("box:99999", "http://box:11434"),
        (" 10.0.0.7 ", "http://10.0.0.7:11434"),
    ],
)
def test_ollama_host_is_read_as_ollama_reads_it(host: str, url: str) -> None:
    assert ollama_url(host) == url


def test_both_stand_ins_are_found_and_known_by_their_kind() -> None:
    async def run() -> tuple[Server, ...]:
        async with (
            serve([], model="qwen3:8b") as one,
            serve([], "llama-server", model="nano", window=4096) as two,
        ):
            host = one.url.removeprefix("http://")
            return await find_servers(host, f"{two.url}/v1", extra=(two.url,), usual=())

    llama, ollama = asyncio.run(run())
    assert (llama.kind, ollama.kind) == ("llama-server", "ollama")
    assert [(card.name.split(":")[0], card.window) for card in llama.models] == [("nano", 4096)]
    assert [card.name for card in ollama.models] == ["qwen3:8b"]
    assert ollama.models[0].size > 0 and ollama.models[0].quantisation


def test_stand_ins_for_models_in_a_cloud_are_left_out() -> None:
    local = {"name": "qwen3:8b", "size": 5, "details": {"quantization_level": "Q4_K_M"}}
    answers = {
        "/api/version": {"version": "0.30"},
        "/api/tags": {"models": [local, {"name": "big:cloud", "remote_host": "https://ollama.com:443"}]},
        "/api/ps": {"models": [{"name": "qwen3:8b", "context_length": 16384}]},
    }
    (server,) = look(answers)
    assert (server.kind, server.models) == ("ollama", (Card("qwen3:8b", 5, 16384, "Q4_K_M"),))


def test_lm_studio_vllm_and_others_are_told_apart() -> None:
    lmstudio = {
        "type": "llm",
        "key": "qwen3-8b",
        "size_bytes": 9,
        "quantization": {"name": "Q4_K_M"},
        "loaded_instances": [{"id": "a", "config": {"context_length": 8192}}],
    }
    (server,) = look({"/api/v1/models": {"models": [lmstudio, {"type": "embedding", "key": "e"}]}})
    assert (server.kind, server.models) == ("lmstudio", (Card("qwen3-8b", 9, 8192, "Q4_K_M"),))
    (server,) = look({"/v1/models": {"data": [{"id": "m", "max_model_len": 4096}]}})
    assert (server.kind, server.models) == ("vllm", (Card("m", 0, 4096),))
    (server,) = look({"/v1/models": {"data": [{"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx": 512}}]}})
    assert (server.kind, server.models) == ("llama-server", (Card("m", 0, 512),))
    (server,) = look({"/v1/models": {"data": [{"id": "m"}]}})
    assert (server.kind, server.models) == ("openai", (Card("m"),))


@pytest.mark.parametrize("answers", [{}, {"/v1/models": {"data": "?"}}, {"/props": [1]}])
def test_what_serves_no_models_is_not_a_server(answers: dict[str, Any]) -> None:
    assert look(answers) == ()


def test_a_web_server_on_a_usual_port_is_not_a_server() -> None:
    async def run() -> tuple[Server, ...]:
        async with serve([], html=True) as server:
            return await find_servers("http://127.0.0.1:1", usual=(server.url,))

    assert asyncio.run(run()) == ()


def test_only_what_was_configured_is_asked_and_each_address_once() -> None:
    async def run() -> list[str]:
        async with serve([], "llama-server") as server:
            await find_servers(
                "http://127.0.0.1:1", server.url, extra=(f"{server.url}/v1/",), usual=(server.url,)
            )
            return server.visits

    assert asyncio.run(run()).count("GET /props") == 1


def test_an_address_that_is_none_is_said() -> None:
    with pytest.raises(UsageError, match="no address of a model server"):
        asyncio.run(find_servers("", "not an address", usual=()))
