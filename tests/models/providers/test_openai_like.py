"""OpenAI's protocol: requests by flavour, streams cut anywhere, calls in pieces, counts and windows."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kith.core.errors import ModelError, NoModelError
from kith.core.events import Delta, Event, Notice, Progress
from kith.core.model import Prompt, Tool
from kith.core.values import Message, Reply, Sampling, Text, Thinking, ToolCall, ToolResult, say
from kith.features.demo.standin import serve
from kith.models.providers.faults import BrokenReplyError
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
HI = Prompt("", (say("hi"),))


async def nothing(args: object, run: object) -> ToolResult:
    return ToolResult("", "")


READ = Tool("read_file", "Read a file.", SCHEMA, "read", nothing)


class Pieces(httpx2.AsyncByteStream):
    """A body that arrives in these pieces."""

    def __init__(self, data: bytes, places: list[int]) -> None:
        edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
        self.pieces = [data[start:end] for start, end in itertools.pairwise(edges)]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


def sse(*chunks: object, done: bool = True) -> bytes:
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\r\n\r\n" for chunk in chunks]
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


def delta(finish: str | None = None, **fields: object) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def call(index: int | None, args: str, name: str = "", call_id: str = "") -> dict[str, Any]:
    function = {"arguments": args} | ({"name": name} if name else {})
    place = {} if index is None else {"index": index}
    return delta(tool_calls=[place | ({"id": call_id} if call_id else {}) | {"function": function}])


def play(data: bytes, places: list[int] | None = None, prompt: Prompt = HI, **options: Any) -> Reply:
    """The reply that a body becomes, cut at these places."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": options.pop("content_type", "text/event-stream")}
        return httpx2.Response(200, headers=headers, stream=Pieces(data, places or []))

    model = OpenAILike("m", Endpoint("http://127.0.0.1:1", transport=httpx2.MockTransport(answer)))
    return asyncio.run(model(prompt, options.pop("emit", lambda event: None)))


def send(flavour: Any, prompt: Prompt, key: str = "") -> tuple[httpx2.Request, list[Event]]:
    """The request that a flavour sends, and what was told meanwhile (two calls, the second one's request)."""
    requests: list[httpx2.Request] = []
    events: list[Event] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        return httpx2.Response(200, content=sse(delta("stop", content="ok")))

    async def run() -> None:
        endpoint = Endpoint("http://127.0.0.1:1", key=key, transport=httpx2.MockTransport(answer))
        model = OpenAILike("m", endpoint, flavour)
        await model(prompt, events.append)
        await model(prompt, events.append)

    asyncio.run(run())
    return requests[1], events


def test_llama_server_end_to_end() -> None:
    script = [
        {
            "thinking": "I think",
            "text": "I read.",
            "calls": [{"name": "read_file", "args": {"path": "ä.py"}}],
            "usage": {"input": 900, "output": 30, "cached": 850},
        }
    ]

    async def run() -> tuple[Reply, list[Event]]:
        events: list[Event] = []
        async with serve(script, "llama-server") as server:
            model = OpenAILike("standin", Endpoint(server.url), "llama-server")
            return await model(Prompt("Be brief.", (say("go"),), (READ,)), events.append), events

    reply, events = asyncio.run(run())
    thinking, text, tool_call = reply.message.parts
    assert (thinking, text) == (Thinking("I think"), Text("I read."))
    assert isinstance(tool_call, ToolCall) and tool_call.args == {"path": "ä.py"} and not tool_call.fault
    assert (reply.stop, reply.model) == ("tools", "llama-server/standin")
    assert (reply.usage.input, reply.usage.output, reply.usage.cached) == (900, 30, 850)
    assert reply.timing.prefill_s > 0 and reply.timing.decode_s > 0
    assert [event for event in events if isinstance(event, Progress)][-1] == Progress("reading", 900, 900)
    assert (
        "".join(event.text for event in events if isinstance(event, Delta) and event.kind == "text")
        == "I read."
    )


FULL = Sampling(0.2, 40, 0.9, 0.05, 100, 7, ("END",), 2, 5.0, 0.1)


def test_the_request_for_llama_server_is_exact() -> None:
    history = (
        say("look"),
        Message("assistant", (Thinking("hm"), ToolCall("c1", "read_file", {"path": "ä"})), "m"),
        Message("tool", (ToolResult("c1", "x = 1"),)),
    )
    request, events = send("llama-server", Prompt("Be brief.", history, (READ,), sampling=FULL), key="k")
    assert request.headers["authorization"] == "Bearer k"
    assert request.url.path == "/v1/chat/completions"
    assert json.loads(request.content) == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "cache_prompt": True,
        "return_progress": True,
        "temperature": 0.2,
        "top_k": 40,
        "top_p": 0.9,
        "min_p": 0.05,
        "max_tokens": 100,
        "seed": 7,
        "stop": ["END"],
        "mirostat": 2,
        "mirostat_tau": 5.0,
        "mirostat_eta": 0.1,
        "parallel_tool_calls": False,
        "tools": [
            {
                "type": "function",
                "function": {"name": "read_file", "description": "Read a file.", "parameters": SCHEMA},
            }
        ],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "look"},
            {
                "role": "assistant",
                "content": "",
                "reasoning_content": "hm",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "read_file", "arguments": '{"path": "ä"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "x = 1"},
        ],
    }
    assert not events or not any(isinstance(event, Notice) for event in events)


@pytest.mark.parametrize(
    ("flavour", "left_out"),
    [
        ("openai", {"top_k", "min_p", "mirostat", "mirostat_tau", "mirostat_eta"}),
        ("lmstudio", {"min_p", "mirostat", "mirostat_tau", "mirostat_eta"}),
        ("vllm", {"mirostat", "mirostat_tau", "mirostat_eta"}),
    ],
)
def test_what_a_flavour_does_not_take_is_said_once_and_not_sent(flavour: str, left_out: set[str]) -> None:
    request, events = send(flavour, Prompt("", (say("hi"),), sampling=FULL))
    body = json.loads(request.content)
    assert not (left_out | {"cache_prompt", "return_progress"}) & body.keys()
    told = [event.text for event in events if isinstance(event, Notice)]
    assert sorted(text.split(" has no ")[1].split(";")[0] for text in told) == sorted(left_out)


def test_a_limit_is_always_sent_and_no_tools_means_no_tool_fields() -> None:
    request, _ = send("openai", HI)
    body = json.loads(request.content)
    assert body["max_tokens"] == 4096
    assert "tools" not in body and "parallel_tool_calls" not in body
    assert "authorization" not in request.headers


def test_the_beginning_of_the_conversation_keeps_its_bytes() -> None:
    first = (say("one"), Message("assistant", (ToolCall("c", "run", {"b": 1, "a": "\ud800"}),)))
    short, _ = send("llama-server", Prompt("You are kith.", first, (READ,)))
    longer, _ = send("llama-server", Prompt("You are kith.", (*first, say("two")), (READ,)))
    assert longer.content.startswith(short.content.removesuffix(b"]}"))


said = st.text(st.characters(exclude_categories=[]), max_size=20)
spoken = st.one_of(
    said.map(say),
    st.tuples(said, said).map(lambda two: Message("assistant", (Thinking(two[0]), Text(two[1])))),
    st.dictionaries(said, said, max_size=3).map(
        lambda args: Message("assistant", (ToolCall("c", "run", args),))
    ),
    said.map(lambda text: Message("tool", (ToolResult("c", text),))),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(spoken, min_size=1, max_size=8), st.integers(0, 8))
def test_a_growing_conversation_begins_with_the_same_bytes(messages: list[Message], first: int) -> None:
    bodies: list[bytes] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(request.content)
        return httpx2.Response(200, content=sse(delta("stop", content="ok")))

    async def run() -> None:
        endpoint = Endpoint("http://127.0.0.1:1", transport=httpx2.MockTransport(answer))
        model = OpenAILike("m", endpoint, "llama-server")
        for end in (min(first, len(messages)), len(messages), len(messages)):
            await model(Prompt("You are kith.", tuple(messages[:end]), (READ,)), lambda event: None)

    asyncio.run(run())
    assert bodies[1].startswith(bodies[0].removesuffix(b"]}")) and bodies[2] == bodies[1]


STREAM = sse(
    delta(role="assistant", content=None),
    delta(reasoning="Überlegung "),
    delta(reasoning_content="zwei"),
    delta(content="Größe: 日"),
    delta(content="本"),
    call(0, '{"pa', "read_file", "id-0"),
    call(0, 'th": "ä'),
    call(1, '{"path":', "read_file", "id-1"),
    call(0, '.py"}'),
    call(1, '"b"}'),
    delta("tool_calls"),
    {
        "choices": [],
        "usage": {
            "prompt_tokens": 50,
            "completion_tokens": 9,
            "prompt_tokens_details": {"cached_tokens": 40},
        },
    },
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5000), max_size=40))
def test_a_stream_may_be_cut_anywhere(places: list[int]) -> None:
    reply = play(b": ping\n\n" + STREAM, places)
    assert reply.message.parts == (
        Thinking("Überlegung zwei"),
        Text("Größe: 日本"),
        ToolCall("id-0", "read_file", {"path": "ä.py"}),
        ToolCall("id-1", "read_file", {"path": "b"}),
    )
    assert reply.stop == "tools"
    assert (reply.usage.input, reply.usage.output, reply.usage.cached) == (50, 9, 40)


def test_calls_without_an_index_follow_each_other() -> None:
    data = sse(
        call(None, '{"path":', "read_file", "x"),
        call(None, '"a"}'),
        call(None, '{"path":"b"}', "read_file", "y"),
        delta("tool_calls"),
    )
    assert [(each.id, each.args) for each in play(data).message.calls] == [
        ("x", {"path": "a"}),
        ("y", {"path": "b"}),
    ]


def test_call_ids_are_unique_in_the_conversation() -> None:
    before = (
        Message("assistant", (ToolCall("call_0", "run", {}),)),
        Message("tool", (ToolResult("call_0", "ok"),)),
    )
    data = sse(
        call(0, "{}", "run", "call_0"), call(1, "{}", "run"), call(2, "{}", "run", "own"), delta("tool_calls")
    )
    ids = [each.id for each in play(data, prompt=Prompt("", before)).message.calls]
    assert len(set(ids)) == 3 and ids[2] == "own" and "call_0" not in ids and "" not in ids


@pytest.mark.parametrize(
    ("sent", "args"),
    [
        ("", {}),
        ("null", {}),
        ('{"path": "a"', {"path": "a"}),
        ('{"path": "one\ntwo"}', {"path": "one\ntwo"}),
        ('"{\\"path\\": \\"a\\"}"', {"path": "a"}),
        ("{'path': 'a',}", {"path": "a"}),
    ],
)
def test_slips_in_arguments_are_repaired(sent: str, args: dict[str, str]) -> None:
    (found,) = play(sse(call(0, sent, "read_file", "c"), delta("tool_calls"))).message.calls
    assert (found.args, found.fault) == (args, "")


@pytest.mark.parametrize(
    "sent", ["what is it", "[1, 2]", '{"path": NaN}', "7", "[" * 20_000, '{"a":1}{"b":2}']
)
def test_what_is_no_object_is_a_fault_in_words(sent: str) -> None:
    (found,) = play(sse(call(0, sent, "read_file", "c"), delta("tool_calls"))).message.calls
    assert found.args == {} and "one object" in found.fault


def test_arguments_that_come_as_an_object_are_taken_as_they_are() -> None:
    piece = {"index": 0, "id": "c", "function": {"name": "read_file", "arguments": {"path": "a"}}}
    assert play(sse(delta("tool_calls", tool_calls=[piece]))).message.calls[0].args == {"path": "a"}


def test_a_call_cut_at_the_limit_is_not_completed() -> None:
    reply = play(sse(call(0, '{"path": "a.py", "text": "half', "write_file", "c"), delta("length")))
    assert reply.stop == "length"
    assert reply.message.calls[0].args == {} and reply.message.calls[0].fault


def test_a_reason_to_stop_is_end_mark_enough() -> None:
    assert play(sse(delta(content="hi"), delta("stop"), done=False)).message.text == "hi"


def test_a_stream_without_its_end_is_an_error() -> None:
    with pytest.raises(ModelError, match="broke off") as caught:
        play(sse(delta(content="hi"), done=False))
    assert isinstance(caught.value, BrokenReplyError)
    with pytest.raises(ModelError, match="broke off") as caught:
        play(b"")
    assert caught.value.retryable and not isinstance(caught.value, BrokenReplyError)


def test_an_error_in_the_stream_and_a_refusal_with_200_are_errors() -> None:
    with pytest.raises(ModelError, match="failed in the middle of its reply: out of memory"):
        play(sse(delta(content="hi"), {"error": {"code": 500, "message": "out of memory"}}))
    with pytest.raises(ModelError, match="Unexpected endpoint"):
        play(b'{"error":"Unexpected endpoint or method."}', content_type="application/json")
    with pytest.raises(ModelError, match="JSON"):
        play(b"data: oops\n\n")
    with pytest.raises(BrokenReplyError):
        play(b'data: {"choices": [')


def test_a_prompt_that_does_not_fit_names_both_sizes() -> None:
    async def run() -> None:
        async with serve(["never"], "llama-server", window=256) as server:
            model = OpenAILike("standin", Endpoint(server.url), "llama-server")
            await model(Prompt("", (say("word " * 1000),)), lambda event: None)

    with pytest.raises(
        ModelError, match=r"The prompt \(1,\d{3} tokens\) does not fit the model's window \(256 tok"
    ):
        asyncio.run(run())


def test_tokens_are_counted_by_the_server() -> None:
    async def run() -> tuple[int | None, int | None]:
        async with serve([], "llama-server") as server:
            model = OpenAILike("standin", Endpoint(server.url), "llama-server")
            more = Prompt("You are kith.", HI.messages, (READ,))
            return await model.count(HI), await model.count(more)

    plain, more = asyncio.run(run())
    assert plain and more and more > plain


def test_a_missing_model_names_those_that_are_there() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/v1/models":
            rows = [{"id": "qwen3-8b", "max_model_len": 4096}]
            return httpx2.Response(200, json={"data": rows})
        return httpx2.Response(404, json={"message": "The model `qwen3` does not exist."})

    model = OpenAILike(
        "qwen3", Endpoint("http://127.0.0.1:1", transport=httpx2.MockTransport(answer)), "vllm"
    )
    with pytest.raises(NoModelError, match="did you mean qwen3-8b"):
        asyncio.run(model(HI, lambda event: None))
    assert asyncio.run(model.count(HI)) is None
