"""What is known of a model before it is asked: the window that really runs, abilities, a digest."""

import asyncio
from typing import Any

import httpx2
import pytest

from kith.core.errors import ModelError, NoModelError
from kith.core.events import Event, Progress
from kith.core.model import Prompt, Tool
from kith.core.values import Message, Reply, Sampling, ServerKind, Text, Thinking, ToolResult, say
from kith.features.demo.standin import Server, serve
from kith.features.demo.standin.http import Request
from kith.models.providers.facts import ASKED, LOADING, Facts, Provider
from kith.models.providers.faults import UnsupportedError
from kith.models.providers.ollama import Ollama, Shape, shape_of
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


async def nothing(args: object, run: object) -> ToolResult:
    return ToolResult("", "")


READ = Tool("read_file", "Read a file.", SCHEMA, "read", nothing)
HI = Prompt("You are kith. " * 40, (say("hi"),), (READ,))


def quiet(event: Event) -> None:
    pass


def provider(server: Server, dialect: str, **options: Any) -> Provider:
    endpoint = Endpoint(server.url)
    if dialect == "ollama":
        return Ollama("standin", endpoint, **options)
    return OpenAILike(options.pop("model", "standin"), endpoint, dialect, **options)  # type: ignore[arg-type]


def look(dialect: Any, options: dict[str, Any] | None = None, **behaviour: Any) -> tuple[Facts, list[Event]]:
    """The facts that a stand-in gives, and what was told meanwhile."""

    async def run() -> tuple[Facts, list[Event]]:
        events: list[Event] = []
        async with serve([], dialect, **behaviour) as server:
            return await provider(server, dialect, **(options or {})).facts(events.append), events

    return asyncio.run(run())


# --- Ollama ----------------------------------------------------------------------------------


def test_ollama_is_loaded_and_its_window_read_back() -> None:
    facts, events = look("ollama", {"num_ctx": 16_384}, trained=32_768)
    assert (facts.name, facts.window, facts.trained, facts.slots) == ("ollama/standin", 16_384, 32_768, 1)
    assert (facts.tools, facts.thinking, facts.counts_cache) == (True, True, False)
    assert len(facts.digest) == 64 and facts.server.startswith("http://127.0.0.1:")
    assert events == [Progress(LOADING, 0)]


def test_a_window_that_ollama_caps_is_the_one_that_counts() -> None:
    assert look("ollama", {"num_ctx": 16_384}, ceiling=4096)[0].window == 4096
    assert look("ollama", {}, window=4096)[0].window == 4096


def test_an_old_ollama_that_does_not_tell_runs_what_it_is_asked_for() -> None:
    assert look("ollama", {"num_ctx": 65_536}, tells_window=False, trained=32_768)[0].window == 32_768


def test_ollama_tells_what_the_model_cannot() -> None:
    facts, _ = look("ollama", capabilities=("completion",))
    assert (facts.tools, facts.thinking) == (False, False)


def test_a_model_that_ollama_lacks_is_named_with_the_nearest() -> None:
    with pytest.raises(NoModelError, match="did you mean standing-stone:latest"):
        look("ollama", model="standing-stone")


def settings_of(request: Request) -> dict[str, Any]:
    """What could make Ollama load a model anew."""
    body, runner = request.body, ("num_ctx", "num_gpu")
    options = {key: value for key, value in body["options"].items() if key in runner}
    return {"options": options, **{key: body[key] for key in ("model", "truncate", "shift", "keep_alive")}}


def test_every_call_has_the_same_options_and_nothing_is_loaded_twice() -> None:
    async def run() -> tuple[list[Request], list[Reply], list[str]]:
        async with serve(["one", "two"]) as server:
            model = Ollama("standin", Endpoint(server.url), 16_384, options={"num_gpu": 0})
            await model.facts()
            await model.warm(HI)
            replies = [await model(HI, quiet), await model(HI, quiet)]
            await model.facts()
            return server.requests, replies, server.visits

    requests, replies, visits = asyncio.run(run())
    assert visits.count("POST /api/generate") == 2  # the second one finds it loaded
    first, second = requests
    assert settings_of(first) == settings_of(second)
    assert all("num_predict" in each.body["options"] for each in requests)
    assert all(reply.timing.load_s < 0.1 for reply in replies)


def test_the_shape_of_a_model_is_read_without_loading_it() -> None:
    async def run() -> tuple[Shape, Shape, list[str]]:
        async with serve([], trained=32_768) as server:
            endpoint = Endpoint(server.url)
            before = await shape_of(endpoint, "standin")
            visits = list(server.visits)
            await Ollama("standin", endpoint, 8192).facts()
            return before, await shape_of(endpoint, "standin:latest"), visits

    before, after, visits = asyncio.run(run())
    assert "POST /api/chat" not in visits
    assert (before.running, after.running, before.trained) == (0, 8192, 32_768)
    assert before.info["qwen2.attention.head_count_kv"] == 4 and before.info["qwen2.block_count"] == 28
    assert (before.size, before.quantisation, before.digest) == (4_683_087_332, "Q4_K_M", after.digest)
    assert before.can("tools") is True and Shape().can("tools") is None


# --- llama-server ----------------------------------------------------------------------------


def test_llama_server_tells_what_one_slot_holds() -> None:
    facts, events = look("llama-server", window=16_384, slots=4)
    assert (facts.window, facts.trained, facts.slots) == (4096, 32_768, 4)
    assert (facts.tools, facts.thinking, facts.keeps_thinking, facts.counts_cache) == (True, True, True, True)
    assert facts.name == "llama-server/standin" and events == []


def test_llama_server_digests_tell_models_apart() -> None:
    async def run(name: str) -> str:
        async with serve([], "llama-server", model=name) as server:
            return (await OpenAILike(name, Endpoint(server.url), "llama-server").facts()).digest

    one, again, other = (asyncio.run(run(name)) for name in ("a", "a", "b"))
    assert one == again != other


def test_whether_thinking_is_kept_is_tried_and_not_believed() -> None:
    assert not look("llama-server", keeps_thinking=False)[0].keeps_thinking
    assert not look("llama-server", capabilities=("completion",))[0].keeps_thinking


def test_a_server_that_loads_is_waited_for() -> None:
    facts, events = look("llama-server", loading=0.2, window=4096)
    assert facts.window == 4096
    assert events == [Progress(LOADING, 0), Progress(ASKED, 0)]


def test_a_call_waits_for_the_load_too() -> None:
    async def run() -> tuple[Reply, list[Event]]:
        events: list[Event] = []
        async with serve(["hi"], "llama-server", loading=0.2) as server:
            return await provider(server, "llama-server")(HI, events.append), events

    reply, events = asyncio.run(run())
    assert reply.message.text == "hi"
    assert events[:2] == [Progress(LOADING, 0), Progress(ASKED, 0)]


@pytest.mark.parametrize("autoload", [True, False])
def test_a_router_is_made_to_load_the_model(autoload: bool) -> None:
    async def run() -> tuple[Facts, list[Event], list[str], str]:
        events: list[Event] = []
        behaviour = {"router": ("coder", "chat"), "autoload": autoload, "loading": 0.1, "window": 4096}
        async with serve(["hi"], "llama-server", **behaviour) as server:
            model = OpenAILike("chat", Endpoint(server.url), "llama-server")
            facts = await model.facts(events.append)
            return facts, events, server.visits, (await model(HI, quiet)).message.text

    facts, events, visits, said = asyncio.run(run())
    assert (facts.window, facts.slots, said) == (4096, 1, "hi")
    assert Progress(LOADING, 0) in events and "POST /models/load" in visits


def test_a_router_without_the_model_or_unable_to_load_it_says_so() -> None:
    router = {"router": ("coder", "chat")}
    with pytest.raises(NoModelError, match="did you mean chat"):
        look("llama-server", {"model": "chatt"}, **router)
    with pytest.raises(ModelError, match=r"could not load chat \(exit code 1\)"):
        look("llama-server", {"model": "chat"}, **router, unloadable=True)


# --- the others ------------------------------------------------------------------------------


def test_lm_studio_loads_the_model_when_it_is_looked_at() -> None:
    facts, events = look("lmstudio", window=4096, trained=32_768, slots=2)
    assert (facts.window, facts.trained, facts.slots) == (4096, 32_768, 2)
    assert (facts.tools, facts.thinking) == (True, True) and len(facts.digest) == 64
    assert events == [Progress(LOADING, 0)]
    with pytest.raises(NoModelError):
        look("lmstudio", {"model": "other"})


def test_an_older_lm_studio_is_asked_the_older_way() -> None:
    row = {
        "id": "m",
        "max_context_length": 32_768,
        "loaded_context_length": 4096,
        "capabilities": ["tool_use"],
    }

    def answer(request: httpx2.Request) -> httpx2.Response:
        older = request.url.path == "/api/v0/models"
        return httpx2.Response(200, json={"data": [row]} if older else {"error": "Unexpected endpoint."})

    endpoint = Endpoint("http://127.0.0.1:1", transport=httpx2.MockTransport(answer))
    facts = asyncio.run(OpenAILike("m", endpoint, "lmstudio").facts())
    assert (facts.window, facts.trained, facts.tools) == (4096, 32_768, True)


def test_vllm_tells_its_window_and_nothing_else_is_guessed() -> None:
    facts, _ = look("vllm", window=4096)
    assert (facts.window, facts.trained, facts.tools, facts.thinking) == (4096, 0, None, None)
    with pytest.raises(NoModelError, match="did you mean standin"):
        look("vllm", {"model": "stand-in"})


def test_an_unknown_server_is_not_asked_at_all() -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise AssertionError("it may ask money for it")

    endpoint = Endpoint("http://127.0.0.1:1", transport=httpx2.MockTransport(refuse))
    model = OpenAILike("m", endpoint)
    assert asyncio.run(model.facts()) == Facts("openai/m", "http://127.0.0.1:1")
    assert asyncio.run(model.count(HI)) is None
    asyncio.run(model.warm(HI))


# --- what is asked for, and cannot be had ----------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "prompt", "what"),
    [
        ("ollama", HI, "tools"),
        ("ollama", Prompt("", (say("hi"),), sampling=Sampling(think=True)), "thinking"),
        ("vllm", HI, "tools"),
    ],
)
def test_what_a_model_cannot_do_is_a_typed_error(dialect: Any, prompt: Prompt, what: str) -> None:
    async def run() -> None:
        async with serve(["never"], dialect, capabilities=("completion",)) as server:
            await provider(server, dialect)(prompt, quiet)

    with pytest.raises(UnsupportedError) as caught:
        asyncio.run(run())
    assert caught.value.what == what and not caught.value.retryable


@pytest.mark.parametrize(("shape", "what"), [(SCHEMA, "shape"), (None, "tools")])
def test_a_grammar_that_fails_is_the_fault_of_what_was_asked(shape: Any, what: str) -> None:
    error = {"error": {"code": 400, "message": "Failed to initialize samplers: failed to parse grammar"}}

    async def run() -> None:
        async with serve([], "llama-server", fail_first=(400, {}, error, 1)) as server:
            await provider(server, "llama-server")(Prompt("", HI.messages, (READ,), shape=shape), quiet)

    with pytest.raises(UnsupportedError) as caught:
        asyncio.run(run())
    assert caught.value.what == what


def sent(dialect: Any, prompt: Prompt, **options: Any) -> dict[str, Any]:
    """The body of one call."""

    async def run() -> dict[str, Any]:
        async with serve(["ok"], dialect) as server:
            await provider(server, dialect, **options)(prompt, quiet)
            body: dict[str, Any] = server.requests[0].body
            return body

    return asyncio.run(run())


SHAPED = Prompt("", (say("hi"),), shape=SCHEMA, sampling=Sampling(think=False, think_tokens=100))
FORMAT = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA}}


def test_a_shape_and_the_switch_for_thinking_are_worded_for_each_server() -> None:
    body = sent("ollama", SHAPED, think="high")
    assert (body["format"], body["think"]) == (SCHEMA, False)
    fields = {"chat_template_kwargs": {"enable_thinking": True, "other": 1}}
    body = sent("llama-server", SHAPED, fields=fields)
    assert body["response_format"] == FORMAT
    assert body["chat_template_kwargs"] == {"enable_thinking": False, "other": 1}
    assert body["thinking_budget_tokens"] == body["reasoning_budget_tokens"] == 100
    body = sent("vllm", SHAPED)
    assert body["response_format"] == FORMAT and "thinking_budget_tokens" not in body
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert "chat_template_kwargs" not in sent("lmstudio", SHAPED)


def test_an_effort_is_a_way_of_saying_yes() -> None:
    yes = Prompt("", (say("hi"),), sampling=Sampling(think=True))
    assert sent("ollama", yes, think="high")["think"] == "high"
    assert sent("ollama", yes)["think"] is True
    assert sent("ollama", Prompt("", (say("hi"),)), think="low")["think"] == "low"
    assert "think" not in sent("ollama", Prompt("", (say("hi"),)))


@pytest.mark.parametrize(("dialect", "key"), [("ollama", "thinking"), ("llama-server", "reasoning_content")])
def test_thinking_goes_back_under_the_servers_own_key(dialect: str, key: str) -> None:
    thought = Message("assistant", (Thinking("let me "), Thinking("see"), Text("I see.")))
    prompt = Prompt("", (say("look"), thought, say("and?")))
    kept = sent(dialect, prompt)["messages"][1]
    assert (kept[key], kept["content"]) == ("let me see", "I see.")


# --- warming up ------------------------------------------------------------------------------


def test_warming_reads_the_prompt_and_takes_no_reply() -> None:
    async def run() -> tuple[Reply, int | None]:
        async with serve(["hi"], "llama-server") as server:
            model = provider(server, "llama-server")
            start = Prompt(HI.system, (), HI.tools)
            await model.warm(start)
            return await model(HI, quiet), await model.count(start)

    reply, start = asyncio.run(run())
    assert start and reply.message.text == "hi"
    assert reply.usage.cached >= start - 10 > 100


def test_every_flavour_is_a_provider() -> None:
    flavours: tuple[ServerKind, ...] = ("llama-server", "lmstudio", "vllm", "openai")
    endpoint = Endpoint("http://127.0.0.1:1")
    models: list[Provider] = [Ollama("m", endpoint), *(OpenAILike("m", endpoint, each) for each in flavours)]
    assert [model.name.partition("/")[0] for model in models] == ["ollama", *flavours]
