"""What is found on this machine, how addresses are read, and that nothing else is touched."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kith.core.errors import UsageError
from kith.features.demo.standin import serve
from kith.models.discovery.cards import Card
from kith.models.discovery.servers import (
    OFTEN,
    USUAL,
    NamedServer,
    Place,
    Places,
    Server,
    addresses,
    endpoint_of,
    find_servers,
    full_name,
    llama_url,
    ollama_url,
    servers_of,
)

NOWHERE = "http://127.0.0.1:1"  # for Ollama, which is always looked for


@asynccontextmanager
async def pages(answers: Mapping[str, Any], asked: list[str] | None = None) -> AsyncIterator[str]:
    """A server with these JSON answers by path, 404 for all else; `asked` notes each request."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        except asyncio.IncompleteReadError:  # somebody who only looks whether the port is open
            writer.close()
            return
        method, path, *_ = head.split()
        if asked is not None:
            asked.append(f"{method} {path}")
        found = answers.get(path)
        status = "404 Not Found" if found is None else "200 OK"
        body = json.dumps({"error": "no such page"} if found is None else found).encode()
        kind = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        writer.write(f"{kind}connection: close\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def look(answers: Mapping[str, Any], *, details: bool = False) -> tuple[Server, ...]:
    async def run() -> tuple[Server, ...]:
        async with pages(answers) as url:
            return await find_servers([Place(url)], details=details)

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
        ("https://me:secret@box:9000", "https://me:secret@box:9000"),
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
            return await find_servers(map(Place, (f"{two.url}/v1", two.url, ollama_url(host))))

    llama, ollama = asyncio.run(run())
    assert (llama.kind, ollama.kind) == ("llama-server", "ollama")
    assert [(card.name.split(":")[0], card.window) for card in llama.models] == [("nano", 4096)]
    assert [card.name for card in ollama.models] == ["qwen3:8b"]
    assert ollama.models[0].size > 0 and ollama.models[0].quantisation


def test_stand_ins_for_models_in_a_cloud_are_left_out() -> None:
    local = {"name": "qwen3:8b", "size": 5, "digest": "d1", "details": {"quantization_level": "Q4_K_M"}}
    answers = {
        "/api/version": {"version": "0.30"},
        "/api/tags": {"models": [local, {"name": "big:cloud", "remote_host": "https://ollama.com:443"}]},
        "/api/ps": {"models": [{"name": "qwen3:8b", "context_length": 16384}]},
    }
    (server,) = look(answers)
    card = Card("qwen3:8b", 5, 16384, "Q4_K_M", digest="d1", loaded=True)
    assert (server.kind, server.models) == ("ollama", (card,))
    hidden = {**answers, "/api/tags": {"models": [local]}, "/api/show": {"remote_host": "https://x"}}
    (server,) = look(hidden, details=True)
    assert server.models == ()


def test_ollama_is_asked_about_each_model_only_for_details() -> None:
    async def run(details: bool) -> tuple[tuple[Server, ...], list[str]]:
        async with serve(
            [], model="qwen3:8b", trained=40_960, capabilities=("completion", "tools")
        ) as server:
            return await find_servers([Place(server.url)], details=details), server.visits

    (server,), visits = asyncio.run(run(False))
    assert "POST /api/show" not in visits
    assert (server.models[0].trained, server.models[0].header) == (0, None)
    (server,), visits = asyncio.run(run(True))
    assert visits.count("POST /api/show") == 1
    card = server.models[0]
    assert (card.trained, card.tools, card.thinking, card.parameters) == (40_960, True, False, "7.6B")
    assert card.header and card.header.blocks == 28


def test_models_that_make_vectors_are_left_out() -> None:
    bert = {"name": "e", "details": {"families": ["nomic-bert"]}}
    newer = {"name": "f", "capabilities": ["embedding"]}
    models = [bert, newer, {"name": "g", "capabilities": ["completion", "tools"]}]
    (server,) = look({"/api/version": {"version": "1"}, "/api/tags": {"models": models}, "/api/ps": {}})
    assert server.models == (Card("g", tools=True, thinking=False),)


def test_a_llama_server_tells_its_template_and_both_windows() -> None:
    async def run() -> tuple[Server, ...]:
        async with serve([], "llama-server", model="nano", window=4096) as server:
            return await find_servers([Place(server.url)], details=True)

    (server,) = asyncio.run(run())
    card = server.models[0]
    assert (card.window, card.trained, card.tools, card.loaded) == (4096, 32_768, True, True)
    assert card.digest and card.parameters == "7.6B"


def test_a_router_has_many_models_and_the_loaded_come_first() -> None:
    states = {"a": "unloaded", "b": "loaded", "c": "sleeping", "d": "loading"}
    rows = [{"id": key, "owned_by": "llamacpp", "status": {"value": value}} for key, value in states.items()]
    (server,) = look({"/v1/models": {"data": rows}, "/props": {"role": "router"}}, details=True)
    assert server.kind == "llama-server"
    names = [(card.name, card.loaded) for card in server.models]
    assert names == [("b", True), ("c", True), ("a", False), ("d", False)]


def test_lm_studio_vllm_and_others_are_told_apart() -> None:
    lmstudio = {
        "type": "llm",
        "key": "qwen3-8b",
        "size_bytes": 9,
        "params_string": "8B",
        "quantization": {"name": "Q4_K_M"},
        "max_context_length": 40_960,
        "loaded_instances": [{"id": "a", "config": {"context_length": 8192}}],
        "capabilities": {"trained_for_tool_use": True},
    }
    (server,) = look({"/api/v1/models": {"models": [lmstudio, {"type": "embedding", "key": "e"}]}})
    (card,) = server.models
    assert (server.kind, card.name, card.size, card.quantisation) == ("lmstudio", "qwen3-8b", 9, "Q4_K_M")
    assert (card.window, card.trained, card.parameters) == (8192, 40_960, "8B")
    assert (card.tools, card.thinking, card.loaded) == (True, None, True)
    (server,) = look({"/v1/models": {"data": [{"id": "m", "max_model_len": 4096}]}})
    assert (server.kind, server.models[0].window, server.models[0].loaded) == ("vllm", 4096, True)
    (server,) = look({"/v1/models": {"data": [{"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx": 512}}]}})
    assert (server.kind, server.models) == ("llama-server", (Card("m", 0, 512, loaded=True),))
    (server,) = look({"/v1/models": {"data": [{"id": "m"}, {"id": ""}, {}, 7]}})
    assert (server.kind, server.models) == ("openai", (Card("m"),))


def test_a_server_that_loads_is_there_and_has_no_models_yet() -> None:
    async def run() -> tuple[Server, ...]:
        async with serve([], "llama-server", loading=60) as server:
            return await find_servers([Place(server.url)], details=True)

    (server,) = asyncio.run(run())
    assert (server.kind, server.models, server.loading) == ("llama-server", (), True)


# --- whoever else listens on these ports -------------------------------------------------------


@pytest.mark.parametrize(
    "answers", [{}, {"/v1/models": {"data": "?"}}, {"/props": [1]}, {"/api/version": {"version": "2"}}]
)
def test_what_serves_no_models_is_not_a_server(answers: dict[str, Any]) -> None:
    assert look(answers) == ()


def test_a_web_server_on_a_usual_port_is_asked_one_thing() -> None:
    async def run() -> tuple[tuple[Server, ...], list[str]]:
        async with serve([], html=True) as server:
            return await find_servers([Place(server.url)]), server.visits

    assert asyncio.run(run()) == ((), ["GET /v1/models"])


def test_a_stranger_is_only_ever_read_from() -> None:
    asked: list[str] = []

    async def run() -> tuple[Server, ...]:
        async with pages({}, asked) as url:
            return await find_servers([Place(url)], details=True)

    assert asyncio.run(run()) == ()
    assert 0 < len(asked) <= 4 and all(each.startswith("GET ") for each in asked)


@pytest.mark.slow
def test_silence_and_nonsense_are_given_up() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.05)
        except ConnectionError:
            writer.close()

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.9\r\n")
        writer.close()

    async def run() -> tuple[Server, ...]:
        one = await asyncio.start_server(drip, "127.0.0.1", 0)
        two = await asyncio.start_server(greet, "127.0.0.1", 0)
        async with serve([], silent=True) as quiet, serve([], model="here") as good:
            urls = [f"http://127.0.0.1:{each.sockets[0].getsockname()[1]}" for each in (one, two)]
            found = await asyncio.wait_for(find_servers(map(Place, (good.url, quiet.url, *urls))), 60)
        one.close()
        two.close()
        return found

    assert [server.models[0].name for server in asyncio.run(run())] == ["here:latest"]


KEYS = ("data", "models", "id", "name", "key", "details", "families", "status", "value", "capabilities")
KEYS += ("meta", "loaded_instances", "owned_by", "max_model_len", "model_info", "general.architecture")
PATHS = ("/v1/models", "/props", "/api/version", "/api/v1/models", "/api/tags", "/api/ps", "/api/show")
KINDS = ("ollama", "lmstudio", "")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
@given(answers=st.dictionaries(st.sampled_from(PATHS), JSON, max_size=6), kind=st.sampled_from(KINDS))
@settings(max_examples=60, deadline=None)
def test_whatever_a_server_says_is_taken(answers: dict[str, Any], kind: str) -> None:
    known = {"ollama": {"/api/version": {"version": "1"}}, "lmstudio": {"/api/v1/models": {"models": []}}}
    for server in look({**answers, **known.get(kind, {})}, details=True):
        assert all(card.name and card.name.isprintable() for card in server.models)
        assert all(isinstance(card.window, int) for card in server.models)


# --- where is looked ---------------------------------------------------------------------------


def test_only_what_was_configured_is_asked_and_each_address_once() -> None:
    async def run() -> list[str]:
        async with serve([], "llama-server") as server:
            await find_servers(map(Place, (server.url, f"{server.url}/v1/")))
            return server.visits

    # Once for what it is, once for what it has.
    assert asyncio.run(run()) == ["GET /v1/models"] * 2


def test_an_address_that_is_none_is_said() -> None:
    with pytest.raises(UsageError, match="address"):
        asyncio.run(find_servers([Place("not an address")]))


@pytest.mark.parametrize(
    ("host", "port", "url"),
    [
        ("", "", ""),
        ("", "9090", "http://127.0.0.1:9090"),
        ("0.0.0.0", "", "http://127.0.0.1:8080"),
        ("::", "9", "http://[::1]:9"),
        ("box", "1", "http://box:1"),
        ("/run/llama.sock", "", ""),
        ("", "many", ""),
        ("", "99999", ""),
        ("two words", "", ""),
    ],
)
def test_llama_servers_own_variables_are_read(host: str, port: str, url: str) -> None:
    assert llama_url(host, port) == url


def test_llama_server_is_found_where_its_variables_put_it() -> None:
    async def run() -> tuple[Server, ...]:
        async with serve([], "llama-server", model="nano") as server:
            own = {"LLAMA_ARG_PORT": server.url.rpartition(":")[2]}
            return await servers_of(Places(ollama_host=NOWHERE, offline=True), environ=own)

    assert "nano" in [card.name for server in asyncio.run(run()) for card in server.models]


def test_the_usual_places_are_all_of_this_machine() -> None:
    assert all(url.startswith("http://127.0.0.1:") for url in (*USUAL, *OFTEN))
    ports = [int(url.rpartition(":")[2]) for url in (*USUAL, *OFTEN)]
    assert ports == [8080, 1234, 8000, 8081, 8888, 1337, 4891, 5000, 5001]


def test_a_password_in_an_address_becomes_a_key_and_is_not_shown() -> None:
    found = addresses(Places(ollama_host="me:s%40crets@box", openai_base_url="https://a:b@c/v1"), {})
    keys = {place.url: place.key for place in found}
    assert (keys["http://box:11434"], keys["https://c"]) == ("me:s@crets", "a:b")
    assert "crets" not in repr(found)


def test_an_address_that_is_none_is_named_by_its_setting() -> None:
    with pytest.raises(UsageError, match="OPENAI_BASE_URL: 'nowhere' is not the address"):
        addresses(Places(openai_base_url="nowhere"), {})


def test_a_full_name_is_one_that_can_be_given_back() -> None:
    places = Places(
        named={"box": NamedServer("vllm", "http://10.0.0.7:9/v1")}, openai_base_url="http://h:1/v1"
    )
    assert full_name(Server("ollama", "http://127.0.0.1:11434", ()), "q", places) == "ollama/q"
    assert full_name(Server("llama-server", USUAL[0], ()), "q", places) == "llama-server/q"
    assert full_name(Server("llama-server", OFTEN[0], ()), "q", places) == "q"
    assert full_name(Server("openai", USUAL[0], ()), "q", places) == "q"
    assert full_name(Server("vllm", "http://10.0.0.7:9", ()), "q", places) == "box/q"
    assert full_name(Server("openai", "http://h:1", ()), "q", places) == "openai/q"


def test_a_cloud_needs_the_feature_that_speaks_its_protocol() -> None:
    places = Places(lacks={"gemini": "Gemini needs the feature clouds, which is off."})
    with pytest.raises(UsageError, match="Gemini needs the feature clouds"):
        endpoint_of(NamedServer("gemini"), places)
