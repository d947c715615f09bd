"""Ollama: the request's exact form, what a stream becomes, refusals, and the window."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kith.core.errors import ModelError, NoModelError
from kith.core.events import Delta, Event, Notice
from kith.core.model import Prompt, Tool
from kith.core.values import (
    Message,
    Reply,
    Sampling,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    say,
)
from kith.features.demo.standin import serve
from kith.features.demo.standin.http import Request
from kith.models.providers.faults import BrokenReplyError
from kith.models.providers.ollama import Ollama
from kith.models.providers.wire import Endpoint

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


async def nothing(args: object, run: object) -> ToolResult:
    return ToolResult("", "")


READ = Tool("read_file", "Read a file.", SCHEMA, "read", nothing)
HISTORY = (
    say("look at a.py"),
    Message(
        "assistant",
        (Thinking("hm"), Text("I look."), ToolCall("c1", "read_file", {"path": "ä.py", "line": 3})),
        "m",
    ),
    Message("tool", (ToolResult("c1", "x = 1"),)),
)


def ask(
    prompt: Prompt, script: Any, options: Mapping[str, Any] | None = None, **behaviour: Any
) -> tuple[Reply, list[Event], list[Request]]:
    async def run() -> tuple[Reply, list[Event], list[Request]]:
        events: list[Event] = []
        async with serve(script, **behaviour) as server:
            ollama = Ollama("standin", Endpoint(server.url), **(options or {}))
            return await ollama(prompt, events.append), events, server.requests

    return asyncio.run(run())


def lines(*objects: object) -> httpx2.MockTransport:
    """A server that answers each chat with these lines."""
    body = "".join(json.dumps(each) + "\n" for each in objects).encode()
    return httpx2.MockTransport(lambda request: httpx2.Response(200, content=body))


def ask_lines(*objects: object, prompt: Prompt | None = None) -> Reply:
    model = Ollama("m", Endpoint("http://127.0.0.1:1", transport=lines(*objects)))
    return asyncio.run(model(prompt or Prompt("", (say("hi"),)), lambda event: None))


def test_a_reply_is_thinking_text_and_calls_in_pieces() -> None:
    script = [
        {
            "thinking": "let me see",
            "text": "I read it.",
            "calls": [{"name": "read_file", "args": {"path": "a"}}],
        }
    ]
    reply, events, _ = ask(Prompt("Be brief.", (say("go"),), (READ,)), script)
    thinking, text, call = reply.message.parts
    assert thinking == Thinking("let me see") and text == Text("I read it.")
    assert isinstance(call, ToolCall) and (call.name, call.args, call.fault) == (
        "read_file",
        {"path": "a"},
        "",
    )
    assert (reply.stop, reply.model, reply.message.author) == ("tools", "ollama/standin", "ollama/standin")
    deltas = [event for event in events if isinstance(event, Delta)]
    assert "".join(each.text for each in deltas if each.kind == "text") == "I read it."
    assert "".join(each.text for each in deltas if each.kind == "thinking") == "let me see"
    assert "read_file" in "".join(each.text for each in deltas if each.kind == "tool")
    assert len(deltas) > 3


def test_the_request_is_exact() -> None:
    sampling = Sampling(temperature=0.2, max_tokens=100, stop=("END",))
    options = {"num_ctx": 8192, "think": False, "options": {"num_gpu": 0}}
    _, _, (request,) = ask(Prompt("Be brief.", HISTORY, (READ,), sampling=sampling), ["ok"], options)
    assert request.body == {
        "model": "standin",
        "stream": True,
        "truncate": False,
        "shift": False,
        "keep_alive": "30m",
        "think": False,
        "options": {
            "num_ctx": 8192,
            "num_gpu": 0,
            "temperature": 0.2,
            "num_predict": 100,
            "stop": ["END"],
        },
        "tools": [
            {
                "type": "function",
                "function": {"name": "read_file", "description": "Read a file.", "parameters": SCHEMA},
            }
        ],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "look at a.py"},
            {
                "role": "assistant",
                "content": "I look.",
                "thinking": "hm",
                "tool_calls": [
                    {"id": "c1", "function": {"name": "read_file", "arguments": {"path": "ä.py", "line": 3}}}
                ],
            },
            {"role": "tool", "tool_name": "read_file", "tool_call_id": "c1", "content": "x = 1"},
        ],
    }


words = st.text(st.characters(exclude_categories=[]), max_size=30)
messages = st.lists(
    st.one_of(
        words.map(say),
        st.tuples(words, words).map(lambda two: Message("assistant", (Thinking(two[0]), Text(two[1])))),
        st.dictionaries(words, words, max_size=3).map(
            lambda args: Message("assistant", (ToolCall("c", "run", args),))
        ),
        words.map(lambda text: Message("tool", (ToolResult("c", text),))),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=40, deadline=None)
@given(messages, st.integers(0, 8))
def test_a_growing_conversation_begins_with_the_same_bytes(said: list[Message], first: int) -> None:
    bodies: list[bytes] = []
    first = min(first, len(said))

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(request.content)
        return httpx2.Response(200, content=b'{"done":true}\n')

    async def run() -> None:
        model = Ollama("m", Endpoint("http://127.0.0.1:1", transport=httpx2.MockTransport(answer)))
        for end in (first, len(said)):
            await model(Prompt("You are kith.", tuple(said[:end]), (READ,)), lambda event: None)

    asyncio.run(run())
    assert bodies[1].startswith(bodies[0].removesuffix(b"]}"))


def test_all_durations_are_kept_and_nothing_is_guessed() -> None:
    reply = ask_lines(
        {"message": {"content": "hi"}},
        {
            "done": True,
            "done_reason": "stop",
            "total_duration": 5_000_000_000,
            "load_duration": 1_500_000_000,
            "prompt_eval_count": 400,
            "prompt_eval_duration": 250_000_000,
            "eval_count": 12,
            "eval_duration": 2_000_000_000,
        },
    )
    timing, usage = reply.timing, reply.usage
    assert (timing.load_s, timing.prefill_s, timing.decode_s, timing.total_s) == (1.5, 0.25, 2.0, 5.0)
    assert (usage.input, usage.output, usage.cached) == (400, 12, 0)
    assert timing.first_token_s == timing.queue_s == 0.0


def test_a_reply_cut_at_the_limit_says_so() -> None:
    assert ask_lines({"message": {"content": "hi"}}, {"done": True, "done_reason": "length"}).stop == "length"


def test_call_ids_are_unique_in_the_conversation() -> None:
    call = {"id": "c1", "function": {"name": "read_file", "arguments": {}}}
    bare = {"function": {"name": "read_file", "arguments": '{"path": "b"}'}}
    reply = ask_lines(
        {"message": {"tool_calls": [call, call, bare]}}, {"done": True}, prompt=Prompt("", HISTORY)
    )
    ids = {each.id for each in reply.message.calls}
    assert len(ids) == 3 and "c1" not in ids and "" not in ids
    assert reply.message.calls[2].args == {"path": "b"}


def test_mirostat_is_named_once_and_never_sent() -> None:
    async def run() -> tuple[list[Event], list[Request]]:
        events: list[Event] = []
        prompt = Prompt("", (say("hi"),), sampling=Sampling(mirostat=2, mirostat_tau=5.0))
        async with serve(["one", "two"]) as server:
            model = Ollama("standin", Endpoint(server.url))
            await model(prompt, events.append)
            await model(prompt, events.append)
            return events, server.requests

    events, requests = asyncio.run(run())
    notices = [event.text for event in events if isinstance(event, Notice)]
    assert notices == [
        "Ollama has no mirostat; the setting is not used.",
        "Ollama has no mirostat_tau; the setting is not used.",
    ]
    assert not any("mirostat" in str(request.body) for request in requests)


def test_a_prompt_that_does_not_fit_is_refused_by_size() -> None:
    with pytest.raises(ModelError, match=r"does not fit the model's window \(512 tokens\); start") as caught:
        ask(Prompt("", (say("word " * 2000),)), ["never"], {"num_ctx": 512})
    assert caught.value.overflow


def test_a_missing_model_names_those_that_are_there() -> None:
    with pytest.raises(NoModelError, match="has no model 'standin'; did you mean standing-stone:latest"):
        ask(Prompt("", (say("hi"),)), ["never"], model="standing-stone")


def test_an_error_in_the_middle_is_an_error() -> None:
    script = [{"text": "half a", "error": {"status": 200, "body": {"error": "runner died"}}}]
    with pytest.raises(ModelError, match="failed in the middle of its reply: runner died"):
        ask(Prompt("", (say("hi"),)), script)


@pytest.mark.parametrize(("bytes_sent", "begun"), [(0, False), (150, True)])
def test_a_stream_that_breaks_off_can_be_asked_again_and_tells_whether_it_had_begun(
    bytes_sent: int, begun: bool
) -> None:
    with pytest.raises(ModelError, match="broke off") as caught:
        ask(Prompt("", (say("hi"),)), ["some words to send"], cut_after=bytes_sent)
    assert caught.value.retryable and isinstance(caught.value, BrokenReplyError) is begun


def test_lines_that_are_no_objects_are_refused() -> None:
    with pytest.raises(ModelError, match="object"):
        ask_lines([1, 2])
