"""What the doctor says of model servers, healthy and broken, and of what there is to ask."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from clinic import Checks, answering, of, row, visit
from kith.agent.models import places_of
from kith.features.demo.standin import serve
from kith.features.doctor.check import Check
from kith.features.doctor.servers import Ward, check_choice
from kith.models.discovery.cards import Card
from kith.models.discovery.servers import Place, Server, addresses
from kith.models.providers.wire import Endpoint as Wire
from kith.settings import NamedEndpoint, Settings


def test_a_window_that_is_too_small_comes_with_the_command() -> None:
    async def run() -> tuple[Checks, str]:
        async with serve(["hello"], "ollama", window=4096, trained=40_960) as server:
            await post(server.url, "/api/chat", {"model": "standin", "messages": []})  # loads it
            return await visit(server.url), server.url

    checks, url = asyncio.run(run())
    small = of(checks, f"port {url.rpartition(':')[2]}")
    assert small.level == "yellow"
    assert small.text == (
        "standin:latest runs with a window of 4,096 tokens of the 40,960 it was trained for; "
        "less than 8,192 leave little room to work."
    )
    assert small.fix == "OLLAMA_CONTEXT_LENGTH=16384 ollama serve"


async def post(url: str, path: str, body: Mapping[str, Any]) -> None:
    await Wire(url).post(path, body)


@pytest.mark.parametrize(
    ("routes", "fix"),
    [
        (
            {
                "/v1/models": row("a b.gguf", n_ctx=16_384, n_ctx_train=32_768),
                "/props": {"default_generation_settings": {"n_ctx": 4096}, "model_path": "/m/a b.gguf"},
            },
            "llama-server -m '/m/a b.gguf' -c 16384",
        ),
        (
            {"/v1/models": row("a", n_ctx=4096, n_ctx_train=4096), "/props": {}},
            "kith models recommend",
        ),
        (
            {"/v1/models": {"data": [{"id": "a/b", "max_model_len": 2048}]}},
            "vllm serve a/b --max-model-len 16384",
        ),
        (
            {
                "/v1/models": {"data": []},
                "/api/v1/models": {
                    "models": [
                        {
                            "key": "q",
                            "max_context_length": 12_000,
                            "loaded_instances": [{"config": {"context_length": 4096}}],
                        }
                    ]
                },
            },
            "lms load q --context-length 12000",
        ),
    ],
)
def test_each_kind_of_server_has_its_own_command(routes: Mapping[str, Any], fix: str) -> None:
    async def run() -> Checks:
        async with answering(routes) as url:
            return await visit(url)

    assert [check.fix for check in asyncio.run(run()) if check.level == "yellow"] == [fix]


def test_a_model_without_tools_is_said() -> None:
    async def run() -> Checks:
        async with serve(["hello"], "ollama", capabilities=("completion",)) as server:
            return await visit(server.url, settings=Settings(model="ollama/standin"))

    assert Check(
        "",
        "yellow",
        "The template of standin:latest takes no tools; calls come as text, less reliably.",
        "kith models recommend",
    ) in [replace(check, name="") for check in asyncio.run(run())]


@pytest.mark.parametrize(
    ("said", "level", "fix"), [("OPENAI_BASE_URL", "yellow", "correct OPENAI_BASE_URL"), ("", "green", "")]
)
def test_a_web_page_is_no_model_server(said: str, level: str, fix: str) -> None:
    async def run() -> Checks:
        async with serve(["hello"], html=True) as server:
            return await visit(server.url, said)

    (check,) = asyncio.run(run())
    assert (check.level, check.fix) == (level, fix)
    assert check.text.endswith(" is not a model server.")


def test_only_a_server_that_was_configured_is_missed() -> None:
    url = "http://127.0.0.1:1"
    assert asyncio.run(visit(url)) == []
    (check,) = asyncio.run(visit(url, "endpoints.box"))
    assert (check.level, check.text) == ("yellow", f"Nothing answers at {url}, which endpoints.box names.")
    assert check.fix == "start that server, or remove endpoints.box"


def test_a_server_that_is_loading_is_waited_for() -> None:
    async def run() -> Checks:
        async with serve(["hello"], "llama-server", loading=60) as server:
            return await visit(server.url)

    (check,) = asyncio.run(run())
    assert (check.level, check.fix) == ("yellow", "wait a moment")
    assert check.text.endswith("is still loading its model.")


def test_a_server_without_a_model_says_how_to_get_one() -> None:
    async def run() -> Checks:
        routes = {"/api/version": {"version": "1"}, "/api/ps": {"models": []}, "/api/tags": {"models": []}}
        async with answering(routes) as url:
            return await visit(url)

    (check,) = asyncio.run(run())
    assert (check.level, check.fix) == ("yellow", "ollama pull qwen3:8b")


def test_offline_no_other_machine_is_asked() -> None:
    far = {
        "box": NamedEndpoint("openai", "http://box.invalid:8080"),
        "here": NamedEndpoint("openai", "http://[::1]:1"),
    }
    settings = Settings(endpoints=far, ollama_host="far.invalid", openai_base_url="https://api.invalid/v1")
    everywhere = [place.url for place in addresses(places_of(settings), {})]
    assert {"http://box.invalid:8080", "http://far.invalid:11434", "https://api.invalid"} <= {*everywhere}
    here = addresses(places_of(replace(settings, offline=True)), {"LLAMA_ARG_PORT": "9999"})
    assert not [place for place in here if "invalid" in place.url]
    assert {"http://[::1]:1", "http://127.0.0.1:9999", "http://127.0.0.1:8080"} <= {
        place.url for place in here
    }


def ward_of(*models: str, files: Sequence[str] = ()) -> Ward:
    cards = tuple(Card(name) for name in models)
    servers = {Place("http://127.0.0.1:1"): Server("ollama", "http://127.0.0.1:1", cards)} if models else {}
    return Ward(servers, list(files))


@pytest.mark.parametrize(
    ("chosen", "ward", "level", "fix"),
    [
        ("", ward_of("a"), "green", ""),
        ("", ward_of(files=["f"]), "green", ""),
        ("", ward_of(), "red", "kith models recommend"),
        ("ollama/a", ward_of("a:latest"), "green", ""),
        ("file/f", ward_of(files=["f"]), "green", ""),
        ("replay/x.json", ward_of(), "green", ""),
        ("ollama/b", ward_of("a"), "red", "kith models"),
    ],
)
def test_there_must_be_a_model_to_ask(chosen: str, ward: Ward, level: str, fix: str) -> None:
    check = check_choice(Settings(model=chosen), ward)
    assert (check.level, check.fix) == (level, fix)
