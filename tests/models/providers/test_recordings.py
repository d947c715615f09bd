"""Conversations of Claude and Gemini in their documented wire formats, read byte for byte, and sent back."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kith.core.errors import ModelError
from kith.core.events import Delta, Event, Notice
from kith.core.model import Prompt, Tool
from kith.core.values import Message, Reply, Text, Thinking, ToolCall, ToolResult, Usage, say
from kith.features.clouds.anthropic import Anthropic, anthropic_endpoint
from kith.features.clouds.gemini import Gemini, gemini_endpoint
from kith.models.providers.facts import Provider
from kith.models.providers.faults import BrokenReplyError

RECORDINGS = Path(__file__).parent / "recordings"
CLAUDE, GEMINI = "claude-opus-5-5", "gemini-3.8-flash"
ABOUT: dict[str, Any] = {
    f"/v1/models/{CLAUDE}": {
        "id": CLAUDE,
        "max_input_tokens": 1_000_000,
        "max_tokens": 128_000,
        "capabilities": {"thinking": {"supported": True, "types": {"adaptive": {"supported": True}}}},
    },
    f"/v1beta/models/{GEMINI}": {
        "name": f"models/{GEMINI}",
        "version": "3.8",
        "inputTokenLimit": 1_048_576,
        "outputTokenLimit": 65_536,
        "thinking": True,
    },
}


async def nothing(args: object, run: object) -> ToolResult:
    return ToolResult("", "")


TOOLS = tuple(Tool(name, name, {"type": "object"}, "read", nothing) for name in ("list_files", "read_file"))
HI = Prompt("Be brief.", (say("hi"),), TOOLS)


class Pieces(httpx2.AsyncByteStream):
    """A body that arrives in these pieces."""

    def __init__(self, data: bytes, places: list[int]) -> None:
        edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
        self.pieces = [data[start:end] for start, end in itertools.pairwise(edges)]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


def play(
    *names: str, places: tuple[int, ...] = (), key: str = "k" * 20
) -> tuple[list[Reply], list[Event], list[Any]]:
    """What recordings become, one call after the other, what was told, and what was sent."""
    sent: list[Any] = []
    events: list[Event] = []
    left = iter(names)

    def answer(request: httpx2.Request) -> httpx2.Response:
        if about := ABOUT.get(request.url.path):
            return httpx2.Response(200, json=about)
        sent.append((request, json.loads(request.content)))
        name = next(left)
        data = (RECORDINGS / name).read_bytes()
        if name.endswith(".json"):
            return httpx2.Response(429, content=data)
        head = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=head, stream=Pieces(data, list(places)))

    async def run() -> list[Reply]:
        messages, replies = HI.messages, []
        make = anthropic_endpoint if names[0].startswith("anthropic") else gemini_endpoint
        endpoint = make("", key)
        endpoint.transport = httpx2.MockTransport(answer)
        kind: Any = Anthropic if make is anthropic_endpoint else Gemini
        model: Provider = kind(CLAUDE if kind is Anthropic else GEMINI, endpoint)
        for _ in names:
            reply = await model(Prompt(HI.system, messages, HI.tools), events.append)
            replies.append(reply)
            answers = (ToolResult(call.id, "ok") for call in reply.message.calls)
            heard = (Message("tool", (each,), "kith") for each in answers)
            messages = (*messages, reply.message, *heard, say("go on"))
        return replies

    return asyncio.run(run()), events, sent


cuts = st.lists(st.integers(0, 5000), max_size=8).map(tuple)
few = settings(max_examples=15, deadline=None)


@few
@given(cuts)
def test_claude_speaks(places: tuple[int, ...]) -> None:
    (reply,), _, (sent,) = play("anthropic-text.sse", places=places)
    assert reply.message.parts == (Text("Hello!"),)
    assert (reply.stop, reply.usage) == ("end", Usage(25, 15))
    request, body = sent
    assert str(request.url) == "https://api.anthropic.com/v1/messages"
    assert request.headers["x-api-key"] == "k" * 20 and "authorization" not in request.headers
    assert request.headers["anthropic-version"] == "2026-10-21"
    assert (body["max_tokens"], body["stream"]) == (16_384, True)


@few
@given(cuts)
def test_claude_thinks_calls_and_gets_its_signatures_back(places: tuple[int, ...]) -> None:
    (reply, _), _, (_, (_, body)) = play("anthropic-thinking.sse", "anthropic-text.sse", places=places)
    thought, hidden, text, silent, read, listed = reply.message.parts
    assert isinstance(thought, Thinking) and thought.text.endswith("I read the file first.")
    assert isinstance(hidden, Thinking) and isinstance(silent, Thinking) and not hidden.text + silent.text
    assert text == Text("I look at `utils.py`.")
    assert isinstance(read, ToolCall) and (read.name, read.args) == (
        "read_file",
        {"path": "utils.py", "line": 3},
    )
    assert isinstance(listed, ToolCall) and (listed.name, listed.args, listed.fault) == ("list_files", {}, "")
    assert (reply.stop, reply.usage) == ("tools", Usage(2069, 112, 1800, 248))
    assert body["messages"][1]["content"] == claude_blocks("anthropic-thinking.sse")
    assert [block["type"] for block in body["messages"][2]["content"]] == ["tool_result"] * 2 + ["text"]


def claude_blocks(name: str) -> list[dict[str, Any]]:
    """The blocks of a recording, put together without kith."""
    blocks: list[dict[str, Any]] = []
    for line in (RECORDINGS / name).read_text().splitlines():
        event = json.loads(line[6:]) if line.startswith("data: ") else {}
        if event.get("type") == "content_block_start":
            blocks.append(event["content_block"])
        elif event.get("type") == "content_block_delta":
            delta = event["delta"]
            for key in ("text", "thinking", "signature"):
                if key in delta:
                    blocks[event["index"]][key] += delta[key]
            blocks[event["index"]]["json"] = blocks[event["index"]].get("json", "") + delta.get(
                "partial_json", ""
            )
    for block in blocks:
        arguments = block.pop("json", "")
        if block["type"] == "tool_use":
            block["input"] = json.loads(arguments or "{}")
    return blocks


def test_claude_is_cached_up_to_four_marks() -> None:
    _, _, sent = play("anthropic-thinking.sse", "anthropic-text.sse", "anthropic-text.sse")
    first, second, third = (body for _, body in sent)
    long = {"type": "ephemeral", "ttl": "1h"}
    for body in (first, second, third):
        assert body["system"][-1]["cache_control"] == body["tools"][-1]["cache_control"] == long
        assert ["cache_control" in tool for tool in body["tools"]] == [False, True]
    marked = [
        [at for at, message in enumerate(body["messages"]) if "cache_control" in message["content"][-1]]
        for body in (first, second, third)
    ]
    assert marked == [[0], [0, 2], [2, 4]]


def test_claude_overloaded_in_its_reply_is_retryable() -> None:
    with pytest.raises(BrokenReplyError, match="failed in the middle of its reply: Overloaded") as caught:
        play("anthropic-overloaded.sse")
    assert caught.value.retryable


def test_claude_refuses_in_words() -> None:
    with pytest.raises(
        ModelError, match=r"declined to answer: This request could enable cyber harm\."
    ) as caught:
        play("anthropic-refusal.sse")
    assert not caught.value.retryable


def test_a_full_window_cuts_the_reply_and_is_said() -> None:
    (reply,), events, _ = play("anthropic-window.sse")
    assert reply.stop == "length"
    (notice,) = (each.text for each in events if isinstance(each, Notice))
    assert CLAUDE in notice and "window" in notice


@few
@given(cuts)
def test_gemini_thinks_and_speaks(places: tuple[int, ...]) -> None:
    (reply, _), events, sent = play("gemini-text.sse", "gemini-text.sse", places=places)
    thought, text, sealed = reply.message.parts
    assert isinstance(thought, Thinking) and thought.text.startswith("**Reading the test**")
    assert text == Text("The mean is wrong.")
    signature = "EtgKCtUKAb4+9vtWcRYaS1nLMyHi3Zr0Q1C7Wg=="
    assert sealed == Thinking("", signature)
    assert (reply.stop, reply.usage) == ("end", Usage(1200, 82, 1024))
    assert {each.kind for each in events if isinstance(each, Delta)} == {"thinking", "text"}
    request, body = sent[1]
    assert request.url.path == f"/v1beta/models/{GEMINI}:streamGenerateContent"
    assert request.url.query == b"alt=sse" and request.headers["x-goog-api-key"] == "k" * 20
    said = {"role": "model", "parts": [{"text": "The mean is wrong.", "thoughtSignature": signature}]}
    assert body["contents"][1] == said


@few
@given(cuts)
def test_gemini_calls_and_gets_its_signature_back_on_the_very_part(places: tuple[int, ...]) -> None:
    (reply, _), _, (_, (_, body)) = play("gemini-calls.sse", "gemini-text.sse", places=places)
    assert [call.args for call in reply.message.calls] == [{"path": "utils.py", "line": 3}, {}]
    assert (reply.stop, [bool(call.opaque) for call in reply.message.calls]) == ("tools", [True, False])
    lines = (RECORDINGS / "gemini-calls.sse").read_text().splitlines()
    recorded = [json.loads(line[6:]) for line in lines if line]
    parts = [part for each in recorded for part in each["candidates"][0]["content"]["parts"]]
    assert body["contents"][1]["parts"] == [part for part in parts if "functionCall" in part]
    answered = [part["functionResponse"] for part in body["contents"][2]["parts"][:-1]]
    assert [(each["id"], each["name"]) for each in answered] == [
        ("8f2b1a3c", "read_file"),
        ("9e0d4477", "list_files"),
    ]


def test_gemini_calls_in_pieces() -> None:
    (reply,), _, _ = play("gemini-pieces.sse")
    first, second = reply.message.calls
    edits = [{"text": "def f():\n    pass", "line": 3}, {"is last": True}]
    assert first.args == {"path": "a.py", "edits": edits, "why": None}
    assert (first.id, first.opaque, second.id, second.args) == (
        "77aa",
        "Cr4BAdHtim8=",
        "78aa",
        {"path": "b.py"},
    )


def test_a_call_that_gemini_could_not_read_is_a_call_with_a_fault() -> None:
    (reply,), _, _ = play("gemini-malformed.sse")
    (call,) = reply.message.calls
    assert (call.name, call.args, reply.stop) == ("read_file", {}, "tools")
    assert "print(default_api.read_file" in call.fault and "again" in call.fault


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "gemini-blocked.sse",
            r"did not take the prompt \(PROHIBITED_CONTENT\): the content may be prohibited",
        ),
        ("gemini-recitation.sse", r"stopped its answer \(RECITATION\): the answer would have repeated"),
    ],
)
def test_gemini_refuses_in_words(name: str, words: str) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        play(name)
    assert not caught.value.retryable


def test_gemini_says_how_long_it_wants_to_be_left_alone() -> None:
    with pytest.raises(ModelError, match="quota") as caught:
        play("gemini-quota.json")
    assert (caught.value.retryable, caught.value.after_s) == (True, 34.5)
