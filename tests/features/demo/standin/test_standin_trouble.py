"""Each thing that model servers are known to do wrong: a call ends well, or with one clear sentence."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kith.core.errors import ModelError
from kith.core.events import Event
from kith.core.model import Emit, Prompt, Tool
from kith.core.values import Message, Reply, Text, Thinking, ToolCall, ToolResult, say
from kith.features.demo.standin import serve
from kith.features.demo.standin.engine import estimate
from kith.models.providers.faults import BrokenReplyError, GarbledReplyError, UnreachableError
from kith.models.providers.ollama import Ollama
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint

DIALECTS = ("ollama", "llama-server", "lmstudio", "vllm")
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


async def nothing(args: object, run: object) -> ToolResult:
    return ToolResult("", "")


READ = Tool("read_file", "Read a file.", SCHEMA, "read", nothing)
PROMPT = Prompt("You are kith.", (say("go"),), (READ,))

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def ask(
    script: list[Any],
    dialect: Any,
    prompt: Prompt = PROMPT,
    window: int = 8192,
    emit: Emit = lambda event: None,
    **behaviour: Any,
) -> Reply:
    """One call to a stand-in, in five seconds at most."""

    async def run() -> Reply:
        async with serve(script, dialect, window=window, **behaviour) as server:
            endpoint = Endpoint(server.url)
            model = (
                Ollama("standin", endpoint, window)
                if dialect == "ollama"
                else OpenAILike("standin", endpoint, dialect)
            )
            return await asyncio.wait_for(model(prompt, emit), 60)

    return asyncio.run(run())


def refuse(script: list[Any], dialect: str, words: str, **behaviour: Any) -> ModelError:
    """A call that must end with one sentence of these words."""
    with pytest.raises(ModelError, match=words) as caught:
        ask(script, dialect, **behaviour)
    sentence = str(caught.value)
    assert "\n" not in sentence and len(sentence) < 400
    return caught.value


HERMES = '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>'
QWEN = "<function=read_file>\n<parameter=path>\na.py\n</parameter>\n</function>"


@every_dialect
@pytest.mark.parametrize("text", [HERMES, QWEN, '[TOOL_CALLS]read_file{"path": "a.py"}', "{}</s>"])
def test_a_call_that_comes_as_text_is_text(dialect: str, text: str) -> None:
    reply = ask([text], dialect)
    assert reply.message.parts == (Text(text),) and reply.stop == "end"


@every_dialect
@pytest.mark.parametrize(
    ("raw", "args"),
    [('{"path": "a.py"', {"path": "a.py"}), ("{'path': 'a.py',}", {"path": "a.py"}), ("broken", {})],
)
def test_broken_arguments_are_mended_or_are_a_fault(dialect: str, raw: str, args: dict[str, str]) -> None:
    (call,) = ask([{"calls": [{"name": "read_file", "raw": raw}]}], dialect).message.calls
    assert (call.name, call.args, bool(call.fault)) == ("read_file", args, not args)


@every_dialect
def test_a_broken_call_can_be_sent_back_as_history(dialect: str) -> None:
    broken = ask([{"calls": [{"name": "read_file", "raw": "broken"}]}], dialect).message
    history = (say("go"), broken, Message("tool", (ToolResult(broken.calls[0].id, "again", ok=False),)))
    assert ask(["ok"], dialect, Prompt("", history, (READ,))).message.text == "ok"


def test_a_call_that_the_server_cannot_read_is_a_garbled_reply() -> None:
    for dialect in ("llama-server", "ollama"):
        failures: dict[str, Any] = {
            "llama-server": {"status": 500},
            "ollama": {"status": 500, "text": "error parsing tool call: raw='{', err=unexpected end"},
        }
        error = refuse([{"error": failures[dialect]}], dialect, "could not read the model's tool call")
        assert isinstance(error, GarbledReplyError) and error.retryable
    inside = refuse(
        [{"text": "I am", "error": {"status": 200}}], "llama-server", "could not read the model's"
    )
    assert isinstance(inside, GarbledReplyError)


@every_dialect
def test_an_error_in_the_middle_of_a_stream_is_told(dialect: str) -> None:
    script = [{"text": "half a", "error": {"status": 200, "text": "CUDA out of memory"}}]
    error = refuse(script, dialect, "failed in the middle of its reply: CUDA out of memory")
    assert isinstance(error, BrokenReplyError)


WORDS = "Größe: 日本語 – 🦊 ende"


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(DIALECTS), st.integers(1, 11))
def test_characters_may_be_cut_at_any_border(dialect: str, chunk: int) -> None:
    script = [{"thinking": "überlegt", "text": WORDS, "calls": [{"name": "f", "args": {"p": "ä"}}]}]
    thinking, text, call = ask(script, dialect, chunk=chunk).message.parts
    assert (thinking, text) == (Thinking("überlegt"), Text(WORDS))
    assert isinstance(call, ToolCall) and call.args == {"p": "ä"}


@every_dialect
@pytest.mark.parametrize("cut", ["close", "reset", "end"])
def test_a_stream_that_breaks_off_anywhere_is_one_sentence(dialect: str, cut: str) -> None:
    for place in (0, 1, 130, 131, 300, 700):  # in the head, in a character, in an object, between two
        told: list[Event] = []
        broken = {"cut": cut, "cut_after": place, "emit": told.append}
        error = refuse([{"text": "ä" * 400}], dialect, "broke off its reply", **broken)
        assert error.retryable and (isinstance(error, BrokenReplyError) or not told)


@every_dialect
def test_a_web_page_is_no_model_server(dialect: str) -> None:
    refuse(["never"], dialect, "answered with a web page", html=True)


@every_dialect
def test_a_prompt_that_does_not_fit_is_named_as_such(dialect: str) -> None:
    long = Prompt("", (say("word " * 4000),))
    words = r"does not fit the model's window \(1,000 tokens\); start"
    error = refuse(["never"], dialect, words, prompt=long, window=1000)
    assert error.overflow and not error.retryable


def test_an_old_ollama_cuts_whatever_it_is_told_and_its_count_shows_it() -> None:
    rows = (say("word " * 400), Message("assistant", (Text("ok"),)), say("word " * 400))
    reply = ask(["ok"], "ollama", Prompt("Be brief.", rows), window=800, heeds_truncate=False)
    assert reply.message.text == "ok"
    assert 0 < reply.usage.input < estimate("word " * 800)


def test_nobody_at_the_address_is_a_sentence() -> None:
    with pytest.raises(UnreachableError, match=r"no model server answers at .*; is it running"):
        asyncio.run(OpenAILike("m", Endpoint("http://127.0.0.1:9"))(PROMPT, lambda event: None))
