"""A real llama.cpp engine, asked through kith's provider, and the stand-in held against it."""

import asyncio
import json
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

import httpx2
import pytest

from kith.core.errors import ModelError
from kith.core.events import Delta, Event, Notice, Progress
from kith.core.model import Prompt, Tool
from kith.core.values import Message, Reply, Sampling, Text, ToolCall, ToolResult, say
from kith.features.demo.standin import serve
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint
from waiting import until

pytestmark = pytest.mark.slow

WINDOW, TRAINED = 16_384, 32_768
CHAT = "/v1/chat/completions"
SHORT = Sampling(temperature=0.0, max_tokens=8)
SCHEMA = {"type": "object", "properties": {"path": {"enum": ["a.py"]}}, "required": ["path"]}


async def nothing(args: object, run: object) -> ToolResult:
    return ToolResult("", "")


READ = Tool("read_file", "Read a file.", SCHEMA, "read", nothing)


def engine(url: str, **fields: Any) -> OpenAILike:
    return OpenAILike("tiny", Endpoint(url), "llama-server", fields)


def ask(model: OpenAILike, prompt: Prompt, emit: Callable[[Event], None] = lambda event: None) -> Reply:
    return asyncio.run(model(prompt, emit))


def slot(url: str) -> dict[str, Any]:
    found: dict[str, Any] = httpx2.get(f"{url}/slots", trust_env=False).json()[0]
    return found


def test_it_streams_and_counts(engine_url: str) -> None:
    events: list[Event] = []
    model = engine(engine_url)
    prompt = Prompt("Be brief.", (say("Tell me about streams."),), sampling=SHORT)
    reply = ask(model, prompt, events.append)
    deltas = [event.text for event in events if isinstance(event, Delta)]
    assert len(deltas) > 1 and "".join(deltas) == reply.message.text
    assert reply.stop == "length"
    assert reply.usage.output == 8
    assert reply.usage.input == asyncio.run(model.count(prompt))
    assert reply.timing.prefill_s > 0 and reply.timing.decode_s > 0
    assert [event.done for event in events if isinstance(event, Progress)][-1] == reply.usage.input


def test_the_beginning_of_a_conversation_is_cached(engine_url: str) -> None:
    model = engine(engine_url)
    messages = [say("What is a cache? " * 20)]
    first = ask(model, Prompt("Be brief.", tuple(messages), sampling=SHORT))
    again = ask(model, Prompt("Be brief.", tuple(messages), sampling=SHORT))
    assert again.usage.cached == first.usage.input - 1  # the last token is always computed again
    messages += [first.message, say("Go on.")]
    longer = ask(model, Prompt("Be brief.", tuple(messages), sampling=SHORT))
    # Noise that begins with a line break makes one token with the line break before it.
    assert first.usage.input - 2 <= longer.usage.cached < longer.usage.input
    changed = ask(model, Prompt("Today is Monday. Be brief.", tuple(messages), sampling=SHORT))
    assert changed.usage.cached < 20


def test_it_tells_its_window(engine_url: str) -> None:
    facts = asyncio.run(engine(engine_url).facts())
    assert (facts.window, facts.trained, facts.slots) == (WINDOW, TRAINED, 1)


def test_leaving_frees_the_slot(engine_url: str) -> None:
    async def leave() -> None:
        heard = asyncio.Event()
        model = engine(engine_url, ignore_eos=True)
        prompt = Prompt("", (say("Count."),), sampling=Sampling(max_tokens=WINDOW - 100))
        talk = asyncio.create_task(
            model(prompt, lambda event: heard.set() if isinstance(event, Delta) else None)
        )
        await asyncio.wait_for(heard.wait(), 60)
        assert slot(engine_url)["is_processing"]
        talk.cancel()
        with pytest.raises(asyncio.CancelledError):
            await talk

    asyncio.run(leave())
    until(lambda: not slot(engine_url)["is_processing"])
    after = slot(engine_url)
    assert not after["is_processing"]
    assert after["n_prompt_tokens"] < WINDOW // 2  # it stopped, it did not just finish


def test_a_prompt_that_does_not_fit_is_refused(engine_url: str) -> None:
    with pytest.raises(ModelError, match=r"does not fit the model's window \(16,384 tokens\)") as caught:
        ask(engine(engine_url), Prompt("", (say("hello " * WINDOW),), sampling=SHORT))
    assert caught.value.overflow and not caught.value.retryable


def test_a_grammar_says_it_word_for_word(engine_url: str) -> None:
    words = "def mean(numbers):\n    return sum(numbers)  # ä"
    model = engine(engine_url, grammar=f"root ::= {json.dumps(words, ensure_ascii=False)}")
    reply = ask(model, Prompt("", (say("Write it."),), sampling=Sampling(max_tokens=200)))
    assert (reply.message.text, reply.stop) == (words, "end")


def test_a_forced_call_arrives_as_a_call(engine_url: str) -> None:
    opening = Message("assistant", (Text("<tool_call>\n"),))
    prompt = Prompt("", (say("Read it."), opening), (READ,), sampling=Sampling(max_tokens=2000, seed=1))
    reply = ask(engine(engine_url, tool_choice="required"), prompt)
    (call,) = reply.message.calls
    assert (call.name, call.args, call.fault, reply.stop) == ("read_file", {"path": "a.py"}, "", "tools")


def test_calls_and_results_go_back_into_the_prompt(engine_url: str) -> None:
    called = Message("assistant", (ToolCall("c1", "read_file", {"path": "a.py"}),))
    answered = Message("tool", (ToolResult("c1", "x = 1\n" * 50),))
    model, before = engine(engine_url), (say("Read it."), called)
    short = asyncio.run(model.count(Prompt("", before[:1], (READ,))))
    reply = ask(model, Prompt("", (*before, answered), (READ,), sampling=SHORT))
    assert short is not None and reply.usage.input > short + 50


def test_seeds_make_noise_repeatable(engine_url: str) -> None:
    def noise(seed: int) -> str:
        sampling = Sampling(temperature=2.0, max_tokens=24, seed=seed)
        return ask(engine(engine_url), Prompt("", (say("Surprise me."),), sampling=sampling)).message.text

    assert noise(1) == noise(1) != noise(2)


def test_mirostat_reaches_the_sampler(engine_url: str) -> None:
    events: list[Event] = []
    sampling = Sampling(max_tokens=4, mirostat=2, mirostat_tau=4.0, mirostat_eta=0.25)
    ask(engine(engine_url), Prompt("", (say("hi"),), sampling=sampling), events.append)
    used = slot(engine_url)["params"]
    assert (used["mirostat"], used["mirostat_tau"], used["mirostat_eta"]) == (2, 4.0, 0.25)
    assert not any(isinstance(event, Notice) for event in events)


# --- the stand-in against the engine -----------------------------------------------------------


def shape(value: Any) -> Any:
    """A JSON value with only its keys, in their order, and the kinds of its leaves."""
    if isinstance(value, Mapping):
        return [(key, shape(item)) for key, item in value.items()]
    if isinstance(value, list):
        return [shape(item) for item in value[:1]]
    return "number" if type(value) in (int, float) else type(value).__name__


def chunks(text: str) -> list[Any]:
    """The shapes of a stream's chunks, each run of equal ones once."""
    *events, done, _ = text.split("\n\n")
    assert done == "data: [DONE]"
    found = [shape(json.loads(event.removeprefix("data: "))) for event in events]
    return [each for each, _ in groupby(found)]


Answers = tuple[httpx2.Response, httpx2.Response]


def both(url: str, script: list[Any], path: str, body: dict[str, Any]) -> Answers:
    """What the engine and the stand-in answer to the same request."""

    async def ask_both() -> Answers:
        async with (
            serve(script, "llama-server", window=WINDOW) as server,
            httpx2.AsyncClient(trust_env=False, verify=False, timeout=60) as client,
        ):
            return await client.post(url + path, json=body), await client.post(server.url + path, json=body)

    return asyncio.run(ask_both())


HI = [{"role": "user", "content": "hi"}]
USAGE = {"stream_options": {"include_usage": True}, "return_progress": True}
FORCED = {
    "messages": [*HI, {"role": "assistant", "content": "<tool_call>\n"}],
    "tools": [{"type": "function", "function": {"name": "read_file", "parameters": SCHEMA}}],
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "max_tokens": 2000,
    "seed": 1,
}
WORDS = {"messages": HI, "grammar": 'root ::= "one two"', "max_tokens": 20}
BROKEN = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}
CALL = {"calls": [{"name": "read_file", "args": {"path": "a.py"}}]}


@pytest.mark.parametrize(
    ("body", "reply"), [(WORDS, "one two"), ({**WORDS, **USAGE}, "one two"), ({**FORCED, **USAGE}, CALL)]
)
def test_the_stand_in_streams_like_the_engine(engine_url: str, body: dict[str, Any], reply: Any) -> None:
    real, played = both(engine_url, [reply], CHAT, {**body, "stream": True})
    assert chunks(played.text) == chunks(real.text)
    for header in ("content-type", "transfer-encoding"):
        assert played.headers[header] == real.headers[header]


@pytest.mark.parametrize(("body", "reply"), [(WORDS, "one two"), (FORCED, CALL)])
def test_the_stand_in_answers_like_the_engine(engine_url: str, body: dict[str, Any], reply: Any) -> None:
    real, played = both(engine_url, [reply], CHAT, body)
    assert shape(played.json()) == shape(real.json())


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, {}),
        (CHAT, {"messages": [{"role": "user", "content": "hello " * 40_000}]}),
        (CHAT, {"messages": [*HI, BROKEN]}),
        ("/v1/nowhere", {}),
        (f"{CHAT}/input_tokens", {"messages": HI}),
        ("/tokenize", {"content": "one two"}),
    ],
)
def test_the_stand_in_refuses_and_counts_like_the_engine(
    engine_url: str, path: str, body: dict[str, Any]
) -> None:
    real, played = both(engine_url, [], path, body)
    assert played.status_code == real.status_code
    assert shape(played.json()) == shape(real.json())
    if "error" in real.json():
        assert played.json()["error"]["type"] == real.json()["error"]["type"]


@pytest.mark.parametrize("path", ["/health", "/props", "/v1/models", "/slots"])
def test_the_stand_in_has_nothing_the_engine_lacks(engine_url: str, path: str) -> None:
    async def ask_both() -> tuple[Any, Any]:
        async with serve([], "llama-server") as server, httpx2.AsyncClient(trust_env=False) as client:
            return (await client.get(engine_url + path)).json(), (await client.get(server.url + path)).json()

    real, played = asyncio.run(ask_both())
    assert _paths(played) <= _paths(real)


def _paths(value: Any, at: str = "") -> set[str]:
    """Every place of a JSON value, as "data.meta.n_ctx"."""
    if isinstance(value, Mapping):
        return {at}.union(*(_paths(item, f"{at}.{key}") for key, item in value.items()))
    if isinstance(value, list):
        return {at}.union(*(_paths(item, at) for item in value))
    return {at}
