"""What is outside of the person's own network: which addresses are, and that nobody goes there unasked."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from kith.agent.models import cloud_protocols
from kith.core.errors import ModelError, NoModelError, UsageError
from kith.core.events import Event
from kith.core.model import Prompt
from kith.core.values import Message, Sampling, Text, ToolCall, ToolResult, say
from kith.features.clouds.anthropic import Anthropic, AnthropicModel, anthropic_endpoint, as_strict
from kith.features.clouds.gemini import gemini_endpoint
from kith.features.demo.standin import serve
from kith.features.engine.model_files import OwnEngine
from kith.models.choose import choose_provider, first_model
from kith.models.discovery.cards import Card
from kith.models.discovery.servers import NamedServer, Places, Server, addresses
from kith.models.providers.wire import Endpoint, is_cloud, leads_out

NOBODY = Places(cloud_protocols(), ollama_host="http://127.0.0.1:1", usual=())
FAR = "http://models.example.org"
HOME_NAMES = ("gpu.internal", "box.lan", "nobody")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8080", False),
        ("http://localhost.:1", False),
        ("http://[::1]:1", False),
        ("http://10.0.0.7:1", False),
        ("http://192.168.1.4", False),
        ("http://172.20.0.2", False),
        ("http://169.254.1.1", False),
        ("http://100.64.3.2", False),  # a carrier's or a VPN's own range
        ("http://[fd00::7]:1", False),
        ("http://[fe80::1%25eth0]:1", False),
        ("http://workstation:8080", False),
        ("http://box.local:8080", False),
        ("http://box.lan", False),
        ("http://172.32.0.1", True),
        ("http://8.8.8.8", True),
        ("http://134744072", True),  # 8.8.8.8, written as one number
        ("http://0x08080808", True),
        ("http://[2001:4860:4860::8888]", True),
        ("http://[::ffff:8.8.8.8]", True),
        ("http://[::ffff:10.0.0.1]", False),
        ("http://[64:ff9b::8.8.8.8]", True),  # through a gateway to any IPv4 address
        ("http://[64:ff9b:1::8.8.8.8]", True),
        ("http://[2002:808:808::1]", True),
        ("http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]", True),
        ("https://api.anthropic.com", True),
        ("https://local.example.org", True),
        ("https://localhost.example.org", True),
        ("http://[broken", True),
        ("", True),
    ],
)
def test_an_address_is_outside_or_not(url: str, expected: bool) -> None:
    assert is_cloud(url) is expected


def test_a_name_from_home_may_stand_for_an_address_elsewhere() -> None:
    async def look_up(host: str) -> list[str]:
        if host == "nobody":
            raise OSError("no such name")
        return {"gpu.internal": ["10.0.0.7", "203.0.114.9"], "box.lan": ["192.168.1.4", "fe80::1%2"]}[host]

    found = {host: asyncio.run(leads_out(f"http://{host}:1", look_up)) for host in HOME_NAMES}
    assert found == {"gpu.internal": True, "box.lan": False, "nobody": False}


def test_the_setting_knows_better_than_the_address() -> None:
    assert not Endpoint("http://gpu.example.org", cloud=False).is_cloud
    assert Endpoint("http://127.0.0.1:9", cloud=True).is_cloud  # a tunnel


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnEngine:
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path))
    return OwnEngine(tmp_path / "state", tmp_path / "cache", program="off")


def choose(name: str, places: Places, own: OwnEngine) -> Any:
    events: list[Event] = []
    return asyncio.run(choose_provider(name, places, {"file": lambda: own}, events.append))


def test_a_key_or_a_far_server_alone_chooses_nothing(own: OwnEngine) -> None:
    keyed = replace(
        NOBODY, anthropic=NamedServer("anthropic", key="k" * 20), gemini=NamedServer("gemini", key="k" * 20)
    )
    with pytest.raises(NoModelError):
        choose("", keyed, own)
    far = Server("openai", FAR, (Card("big", loaded=True),), cloud=True)
    assert first_model([far]) is None
    assert FAR in [place.url for place in addresses(replace(NOBODY, openai_base_url=FAR)) if place.cloud]
    assert FAR not in [place.url for place in addresses(replace(NOBODY, openai_base_url=FAR, cloud="never"))]


@pytest.mark.parametrize("name", ["anthropic/claude-x", "gemini/gemini-x", "openai/x", "far/x", "theirs/x"])
def test_what_is_outside_can_be_closed_in_two_ways(own: OwnEngine, name: str) -> None:
    named = {
        "far": NamedServer("vllm", FAR),
        "theirs": NamedServer("anthropic", "http://127.0.0.1:1", cloud=True),
    }
    places = replace(NOBODY, named=named, openai_base_url="https://api.openai.com/v1")
    with pytest.raises(NoModelError, match=r'^[^.]+(\.[^. ]+)* is outside .* cloud = "never" is set\.$'):
        choose(name, replace(places, cloud="never"), own)
    if not name.startswith("theirs"):
        with pytest.raises(NoModelError, match=r"is not on this machine, and --offline is set\.$"):
            choose(name, replace(places, offline=True), own)


def test_a_key_that_is_missing_is_asked_for_by_its_name(own: OwnEngine) -> None:
    named = {"work": NamedServer("gemini", key_env="WORK_KEY"), "other": NamedServer("anthropic")}
    places = replace(NOBODY, named=named)
    for name, words in {
        "anthropic/claude-x": "set ANTHROPIC_API_KEY.",
        "gemini/gemini-x": "set GEMINI_API_KEY.",
        "work/gemini-x": "set WORK_KEY.",
        "other/claude-x": "set endpoints.other.key_env.",
    }.items():
        with pytest.raises(NoModelError, match=words):
            choose(name, places, own)


def test_a_server_nearby_that_speaks_like_claude_needs_no_key(own: OwnEngine) -> None:
    assert choose(
        "anthropic/x", replace(NOBODY, anthropic=NamedServer("anthropic", "http://127.0.0.1:1")), own
    ).name


@pytest.mark.parametrize("make", [anthropic_endpoint, gemini_endpoint])
def test_a_key_is_in_no_error_whatever_the_server_answers(make: Any) -> None:
    key = "sk-nobody-reads-this"

    def answer(request: httpx2.Request) -> httpx2.Response:
        assert key not in str(request.url)
        return httpx2.Response(400, json={"error": {"message": f"{key} is no key, {key}!"}})

    endpoint = make("", f" {key}\n")
    endpoint.transport = httpx2.MockTransport(answer)
    with pytest.raises(ModelError) as caught:
        asyncio.run(endpoint.get("/v1/models"))
    assert "*** is no key" in str(caught.value) and key not in f"{caught.value!r} {endpoint!r}"
    with pytest.raises(UsageError) as refused:
        make("", f"{key}\u2013x")
    assert key not in str(refused.value)
    named = replace(
        NOBODY, named={"a": NamedServer("anthropic", key=key)}, anthropic=NamedServer("anthropic", key=key)
    )
    assert key not in repr(named)


def test_thoughts_that_are_bound_to_what_was_compacted_are_left_out() -> None:
    async def run() -> list[list[str]]:
        script = [{"thinking": f"thought {n}", "text": f"word {n}"} for n in range(4)]
        async with serve(script, "anthropic", model="m", binds=True) as server:
            model = Anthropic("m", anthropic_endpoint(server.url, ""))
            said = [say("one")]
            for text in ("two", "three"):
                reply = await model(Prompt("", tuple(said)), lambda event: None)
                said += [reply.message, say(text)]
            compacted = (say("in short: one and two"), *said[3:])
            reply = await model(Prompt("", compacted), lambda event: None)
            await model(Prompt("", (*compacted, reply.message, say("four"))), lambda event: None)
            bodies = [request.body["messages"] for request in server.requests]
            return [
                [b.get("thinking", "") for m in each for b in m["content"] if "thinking" in b]
                for each in bodies
            ]

    asked = asyncio.run(run())
    assert asked == [[], ["thought 0"], ["thought 1"], [], ["thought 2"]]


def test_a_long_turn_leaves_the_cache_in_reach() -> None:
    """A server looks 20 blocks back from a mark; this reply and its answers are 50."""

    async def run() -> tuple[int, int]:
        calls = [{"name": "read", "args": {"path": f"{number}.py"}} for number in range(25)]
        async with serve([{"calls": calls}, "done"], "anthropic", model="m") as server:
            model = Anthropic("m", anthropic_endpoint(server.url, ""))
            first = await model(Prompt("", (say("read " * 2000),)), lambda event: None)
            results = (Message("tool", (ToolResult(call.id, "x"),), "kith") for call in first.message.calls)
            second = await model(
                Prompt("", (say("read " * 2000), first.message, *results)), lambda event: None
            )
            return first.usage.written, second.usage.cached

    written, cached = asyncio.run(run())
    assert cached == written > 2000


def test_a_shape_that_cannot_be_held_to_becomes_a_tool() -> None:
    free = {"type": "object", "properties": {"args": {"type": "object"}}, "required": ["args"]}
    assert as_strict(free) is None
    one_of = {"oneOf": [{"const": "a"}, {"type": "integer", "minimum": 3}]}
    assert as_strict(one_of) == {"anyOf": [{"const": "a"}, {"type": "integer"}]}

    async def run() -> tuple[Any, Any]:
        script = [{"calls": [{"name": "give_answer", "args": {"answer": {"args": {"x": 1}}}}]}]
        async with serve(script, "anthropic", model="m", capabilities=("shape",)) as server:
            model = Anthropic("m", anthropic_endpoint(server.url, ""))
            reply = await model(Prompt("", (say("hi"),), shape=free), lambda event: None)
            return reply, server.requests[0].body

    reply, body = asyncio.run(run())
    assert (reply.message.parts, reply.stop) == ((Text('{"args": {"x": 1}}'),), "end")
    assert body["tool_choice"] == {"type": "tool", "name": "give_answer"}
    assert body["thinking"] == {"type": "disabled"}


def test_thinking_does_not_begin_in_the_middle_of_anothers_turn() -> None:
    made = Message("assistant", (ToolCall("a", "read", {}),), "ollama/qwen")
    history = (say("hi"), made, Message("tool", (ToolResult("a", "text"),), "kith"))
    model = Anthropic("m", anthropic_endpoint("http://127.0.0.1:1", ""))
    wish = Sampling(think=True, think_tokens=100, max_tokens=500)
    older = AnthropicModel("m", 200_000, 64_000, frozenset({"enabled", "disabled"}))
    assert "thinking" not in model._body(Prompt("", history, sampling=wish), older)[0]
    body, _ = model._body(Prompt("", history[:1], sampling=wish), older)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 1024} and body["max_tokens"] == 1524
    newer = replace(older, modes=frozenset({"adaptive"}))
    assert model._body(Prompt("", history, sampling=wish), newer)[0]["thinking"]["type"] == "adaptive"
    _, (told,) = model._body(Prompt("", history, sampling=Sampling(think=False)), newer)
    assert told == "anthropic/m always thinks; the setting is not used."
