"""Any conversation of kith, whoever spoke in it, becomes a request that each protocol takes."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kith.core.model import Prompt, Tool
from kith.core.values import Message, Part, Sampling, Text, Thinking, ToolCall, ToolResult, say
from kith.features.clouds import anthropic, gemini
from kith.features.clouds.anthropic import Anthropic
from kith.features.clouds.gemini import Gemini
from kith.features.clouds.turns import take_turns
from kith.features.demo.standin import anthropic as anthropic_server
from kith.features.demo.standin import gemini as gemini_server
from kith.features.demo.standin.engine import Behaviour
from kith.models.providers.ollama import Ollama
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint

HERE = "http://127.0.0.1:1"
CLAUDE, GEMINI = Anthropic("claude-x", Endpoint(HERE)), Gemini("gemini-3-x", Endpoint(HERE))
A_CLAUDE, A_GEMINI = Behaviour(model="claude-x"), Behaviour(model="gemini-3-x")
ABOUT = anthropic.AnthropicModel("claude-x", 200_000, 64_000, frozenset(A_CLAUDE.modes), shapes=True)
ABOUT_GEMINI = gemini.GeminiModel("gemini-3-x", "1", 1_000_000, 64_000, thinks=True)


async def nothing(args: object, run: object) -> ToolResult:
    return ToolResult("", "")


TOOL = Tool("read_file", "Read.", {"type": "object", "properties": {}}, "read", nothing)

texts = st.sampled_from(["", " ", "\n\n", "hello", "wörds €", "\ud800 lone"])
ids = st.sampled_from(["a", "b", "call:1", "ä/ö", "", "x" * 90, "toolu_01"])
names = st.sampled_from(["read_file", "no such tool", "ünï", "", "9lives", "a" * 200])
some_args = [{}, {"path": "a.py"}, {"deep": {"list": [1, None, "ä"]}}]
args: st.SearchStrategy[dict[str, Any]] = st.sampled_from(some_args)
foreign = st.sampled_from(["", "c2lnbmVk", "redacted:ZGF0YQ=="])


@st.composite
def parts(draw: st.DrawFn, author: str) -> Part:
    """One part; what the model `author` signed has a signature that holds."""
    text, name = draw(texts), draw(names)
    kind = draw(st.sampled_from(["text", "thinking", "call", "result"]))
    if kind == "text":
        return Text(text)
    if kind == "result":
        return ToolResult(draw(ids), text, draw(st.booleans()))
    if kind == "thinking" and author == CLAUDE.name:
        good = anthropic_server.sign(text, {}, 0, A_CLAUDE)
        return Thinking(text, draw(st.sampled_from(["", good, "redacted:ZGF0YQ=="])))
    if kind == "thinking" and author == GEMINI.name:
        return Thinking(text, draw(st.sampled_from(["", gemini_server.sign(A_GEMINI, "text")])))
    if kind == "thinking":
        return Thinking(text, draw(foreign))
    if author == GEMINI.name:
        return ToolCall(draw(ids), "read_file", draw(args), "", gemini_server.sign(A_GEMINI, "read_file"))
    return ToolCall(draw(ids), name, draw(args), draw(texts), draw(foreign) if author != CLAUDE.name else "")


@st.composite
def messages(draw: st.DrawFn) -> Message:
    role: Any = draw(st.sampled_from(["user", "assistant", "assistant", "tool", "system"]))
    author = draw(
        st.sampled_from([CLAUDE.name, GEMINI.name, "anthropic/claude-y", "ollama/qwen", "kith", ""])
    )
    return Message(role, tuple(draw(st.lists(parts(author), max_size=4))), author, draw(st.booleans()))


histories = st.lists(messages(), max_size=9).map(tuple)
wishes = st.sampled_from([Sampling(), Sampling(think=True), Sampling(think=False), Sampling(think_tokens=9)])


def prompt_of(history: tuple[Message, ...], wish: Sampling) -> Prompt:
    return Prompt("Be brief.", history, (TOOL,), sampling=wish)


@pytest.mark.slow
@settings(deadline=None)
@given(histories, wishes, st.sets(st.sampled_from(["adaptive", "enabled", "disabled"])))
def test_claude_takes_any_history(history: tuple[Message, ...], wish: Sampling, modes: set[str]) -> None:
    about = replace(ABOUT, modes=frozenset(modes))
    body, _ = CLAUDE._body(prompt_of(history, wish), about)
    assert anthropic_server.find_fault(body, replace(A_CLAUDE, modes=tuple(modes))) == ""


@pytest.mark.slow
@settings(deadline=None)
@given(histories, wishes)
def test_gemini_takes_any_history(history: tuple[Message, ...], wish: Sampling) -> None:
    body, _ = GEMINI._body(prompt_of(history, wish), ABOUT_GEMINI)
    assert gemini_server.find_fault(body, A_GEMINI) == ""


@pytest.mark.slow
@settings(deadline=None)
@given(histories)
def test_local_servers_take_any_history(history: tuple[Message, ...]) -> None:
    prompt = prompt_of(history, Sampling())
    for provider in (OpenAILike("m", Endpoint(HERE), "llama-server"), Ollama("m", Endpoint(HERE))):
        body, _ = provider._body(prompt)
        for row in json.loads(json.dumps(body))["messages"]:
            assert row["role"] in ("system", "user", "assistant", "tool") and isinstance(row["content"], str)
            for call in row.get("tool_calls", ()):
                arguments = call["function"]["arguments"]
                known = json.loads(arguments) if isinstance(arguments, str) else arguments
                assert isinstance(known, dict)


@settings(deadline=None)
@given(histories, st.integers(0, 9))
def test_what_was_sent_once_stays_as_the_conversation_grows(history: tuple[Message, ...], at: int) -> None:
    before, after = take_turns(history[:at], CLAUDE.name), take_turns(history, CLAUDE.name)
    settled = before[:-2]  # the last ones may still be joined by what follows
    assert after[: len(settled)] == settled


SIGNED = Message(
    "assistant",
    (Thinking("I see.", "c2ln"), Text("Yes."), ToolCall("toolu_1", "read_file", {}, "", "Y2FsbA==")),
    CLAUDE.name,
)


def test_a_signature_goes_back_to_its_own_model_only() -> None:
    history = (say("hi"), SIGNED, Message("tool", (ToolResult("toolu_1", "text"),), "kith"))
    own = json.dumps(CLAUDE._body(prompt_of(history, Sampling()), ABOUT)[0])
    assert '"thinking": "I see.", "signature": "c2ln"' in own
    for other in ("anthropic/claude-y", "gemini/claude-x"):
        switched = (history[0], replace(SIGNED, author=other), history[2])
        assert "I see." not in json.dumps(CLAUDE._body(prompt_of(switched, Sampling()), ABOUT)[0])
    gemini, _ = GEMINI._body(prompt_of(history, Sampling()), ABOUT_GEMINI)
    assert "I see." not in json.dumps(gemini)
    calls = [part for part in gemini["contents"][1]["parts"] if "functionCall" in part]
    assert [part["thoughtSignature"] for part in calls] == ["skip_thought_signature_validator"]


def test_a_signature_without_words_goes_back_on_the_words_before_it() -> None:
    said = Message("assistant", (Text("Yes."), Thinking("", "c2ln")), GEMINI.name)
    body, _ = GEMINI._body(prompt_of((say("hi"), said, say("why?")), Sampling()), ABOUT_GEMINI)
    assert body["contents"][1]["parts"] == [{"text": "Yes.", "thoughtSignature": "c2ln"}]
