"""What every provider keeps to, whichever protocol it speaks: one set of tests, a stand-in for each."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from kith.core.errors import KithError, ModelError, NoModelError
from kith.core.events import Delta, Event
from kith.core.model import Prompt, Tool
from kith.core.values import Message, Reply, Sampling, Text, Thinking, ToolResult, say
from kith.features.clouds.anthropic import Anthropic, anthropic_endpoint
from kith.features.clouds.gemini import Gemini, gemini_endpoint
from kith.features.demo.standin import Server, serve
from kith.models.providers.facts import Provider
from kith.models.providers.ollama import Ollama
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint
from kith.models.wrappers.retry import Retrying

T = TypeVar("T")
KEY = "the-key-that-nobody-sees"
MODEL = "gemini-standin-3"
MAKE: dict[str, Callable[[str, str], Provider]] = {
    "ollama": lambda url, model: Ollama(model, Endpoint(url, KEY), num_ctx=8192),
    "llama-server": lambda url, model: OpenAILike(model, Endpoint(url, KEY), "llama-server"),
    "openai": lambda url, model: OpenAILike(model, Endpoint(url, KEY), "openai"),
    "lmstudio": lambda url, model: OpenAILike(model, Endpoint(url, KEY), "lmstudio"),
    "vllm": lambda url, model: OpenAILike(model, Endpoint(url, KEY), "vllm"),
    "anthropic": lambda url, model: Anthropic(model, anthropic_endpoint(url, KEY)),
    "gemini": lambda url, model: Gemini(model, gemini_endpoint(url, KEY)),
}
COUNTS_CACHE = ("llama-server", "openai", "anthropic", "gemini")

every = pytest.mark.parametrize("dialect", MAKE)


async def nothing(args: object, run: object) -> ToolResult:
    return ToolResult("", "")


SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = Tool("read_file", "Read a file.", SCHEMA, "read", nothing)
HI = Prompt("Be brief.", (say("hi"),), (READ,))
Talk = Callable[[Provider, Server, list[Event]], Awaitable[T]]


def meet(
    dialect: str, script: Any, talk: Talk[T], asked: str = MODEL, **behaviour: Any
) -> tuple[T, list[Event]]:
    """Let a provider talk to its stand-in; nothing that is told may have the key in it."""

    async def run() -> tuple[T, list[Event]]:
        events: list[Event] = []
        spoken: Any = "llama-server" if dialect == "openai" else dialect
        async with serve(script, spoken, **{"model": MODEL, "window": 64_000, **behaviour}) as server:
            provider = MAKE[dialect](server.url, asked)
            assert KEY not in repr(provider)
            try:
                return await talk(provider, server, events), events
            finally:
                await provider.close()

    told = asyncio.run(run())
    assert KEY not in repr(told)
    return told


def ask(dialect: str, script: Any, prompt: Prompt = HI, **behaviour: Any) -> tuple[Reply, list[Event]]:
    async def talk(provider: Provider, server: Server, events: list[Event]) -> Reply:
        return await provider(prompt, events.append)

    return meet(dialect, script, talk, **behaviour)


def fail(dialect: str, script: Any, prompt: Prompt = HI, **behaviour: Any) -> KithError:
    """The error that a call ends in."""
    with pytest.raises((ModelError, NoModelError)) as caught:
        ask(dialect, script, prompt, **behaviour)
    assert KEY not in f"{caught.value!r} {caught.value}"
    return caught.value


@every
def test_words_are_streamed_in_their_order(dialect: str) -> None:
    reply, events = ask(dialect, [{"text": "I read ä and €."}])
    assert (reply.message.text, reply.stop, reply.message.role) == ("I read ä and €.", "end", "assistant")
    assert reply.message.author == reply.model
    assert "".join(each.text for each in events if isinstance(each, Delta)) == "I read ä and €."


@every
def test_thoughts_are_told_apart_from_words(dialect: str) -> None:
    reply, events = ask(dialect, [{"thinking": "Let me see.", "text": "Yes."}])
    thoughts = [part.text for part in reply.message.parts if isinstance(part, Thinking)]
    assert ("".join(thoughts), reply.message.text) == ("Let me see.", "Yes.")
    assert next(each.kind for each in events if isinstance(each, Delta)) == "thinking"


CALLS = {
    "thinking": "I need both.",
    "text": "I read.",
    "calls": [
        {"name": "read_file", "args": {"path": "sub/ä.py"}},
        {"name": "read_file", "args": {"path": "b.py"}},
    ],
}


@every
def test_calls_and_their_results_go_round(dialect: str) -> None:
    async def talk(provider: Provider, server: Server, events: list[Event]) -> Reply:
        first = await provider(HI, events.append)
        one, two = first.message.calls
        assert [one.args, two.args] == [{"path": "sub/ä.py"}, {"path": "b.py"}]
        assert one.id != two.id and not one.fault and first.stop == "tools"
        results = tuple(
            Message("tool", (ToolResult(call.id, f"the text of {call.args['path']}"),), "kith")
            for call in (one, two)
        )
        said = (*HI.messages, first.message, *results)
        return await provider(replace(HI, messages=said), events.append)

    script = [CALLS, {"text": "Done.", "expect": "b.py"}]
    reply, _ = meet(dialect, script, talk)
    assert (reply.message.text, reply.stop) == ("Done.", "end")


@every
def test_a_reply_that_was_cut_says_so_and_its_call_is_not_mended(dialect: str) -> None:
    cut = {"calls": [{"name": "read_file", "args": {"path": "a/long/path.py"}}], "stop": "length"}
    # Where calls come whole, one that was cut does not come at all.
    whole = dialect in ("ollama", "gemini")
    reply, _ = ask(dialect, [{"text": "I be", "stop": "length"} if whole else cut])
    assert reply.stop == "length"
    assert all(call.fault and not call.args for call in reply.message.calls)


@every
def test_who_leaves_closes_the_connection(dialect: str) -> None:
    async def talk(provider: Provider, server: Server, events: list[Event]) -> None:
        await provider.facts()
        asking = asyncio.create_task(provider(HI, events.append))
        while not any(isinstance(each, Delta) for each in events):
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.wait_for(server.disconnected.wait(), 60)

    meet(dialect, [{"text": "one two three " * 300}], talk, pause=0.02)


@every
def test_a_failure_is_one_sentence_in_the_servers_words(dialect: str) -> None:
    told = fail(dialect, [{"error": {"status": 400, "text": "this cannot be read"}}])
    assert "this cannot be read" in str(told) and "\n" not in str(told)
    assert isinstance(told, ModelError) and not told.retryable


@every
def test_a_missing_model_is_named_with_the_one_that_is_there(dialect: str) -> None:
    if dialect in ("llama-server", "openai", "lmstudio"):
        pytest.skip("it answers to any name")
    told = fail(dialect, [], asked="gemini-standin-4")
    assert isinstance(told, NoModelError) and MODEL in str(told)


@every
def test_an_overload_passes(dialect: str) -> None:
    async def talk(provider: Provider, server: Server, events: list[Event]) -> Reply:
        waits: list[float] = []

        async def sleep(seconds: float) -> None:
            waits.append(seconds)

        reply = await Retrying(provider, sleep=sleep)(HI, events.append)
        assert len(waits) == 2 and waits[0] == 7.0
        return reply

    busy = {"error": {"status": 429, "text": "slow down", "after_s": 7}}
    again = {"error": {"status": 503, "text": "busy"}}
    assert meet(dialect, [busy, again, {"text": "ok"}], talk)[0].message.text == "ok"


@every
def test_an_overload_in_the_middle_of_a_reply_passes_too(dialect: str) -> None:
    async def talk(provider: Provider, server: Server, events: list[Event]) -> Reply:
        return await Retrying(provider, first_s=0.0, accepted=True)(HI, events.append)

    broken = {"text": "I beg", "error": {"status": 200, "text": "Overloaded"}}
    assert meet(dialect, [broken, {"text": "ok"}], talk)[0].message.text == "ok"


@every
def test_a_reply_that_breaks_off_is_no_reply(dialect: str) -> None:
    told = fail(dialect, [{"text": "one two three four"}], cut_after=700)
    assert isinstance(told, ModelError) and told.retryable and "broke off" in str(told)


@every
def test_a_prompt_above_the_window_overflows(dialect: str) -> None:
    told = fail(dialect, [], replace(HI, messages=(say("word " * 40_000),)), window=8192)
    assert isinstance(told, ModelError) and told.overflow


@every
def test_tokens_are_counted_and_a_grown_prompt_is_cached(dialect: str) -> None:
    async def talk(provider: Provider, server: Server, events: list[Event]) -> list[Reply]:
        first = await provider(replace(HI, system="Be brief. " * 600), events.append)
        messages = (*HI.messages, first.message, say("go on"))
        grown = replace(HI, system="Be brief. " * 600, messages=messages)
        return [first, await provider(grown, events.append)]

    one, two = meet(dialect, [{"text": "first"}, {"text": "second"}], talk)[0]
    assert two.usage.input > one.usage.input > 1500 and one.usage.output and two.usage.output
    if dialect in COUNTS_CACHE:
        assert one.usage.cached == 0
        assert one.usage.input - 30 <= two.usage.cached <= two.usage.input
    if dialect == "anthropic":
        assert one.usage.written > 1500 and two.usage.written < 100


@every
def test_what_runs_is_known(dialect: str) -> None:
    async def talk(provider: Provider, server: Server, events: list[Event]) -> None:
        facts = await provider.facts()
        assert facts.name == provider.name and facts.server == server.url and not facts.cloud
        assert dialect == "openai" or facts.digest
        if dialect in ("llama-server", "anthropic", "gemini"):
            assert facts.window == 64_000 and await provider.count(HI)
        if dialect in ("ollama", "llama-server", "lmstudio"):
            assert facts.quantisation == "Q4_K_M" and facts.parameters.endswith("B")
        await provider.warm(HI)

    meet(dialect, [{"text": "warm"}], talk)


@every
def test_a_shape_is_asked_for(dialect: str) -> None:
    shape = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}

    async def talk(provider: Provider, server: Server, events: list[Event]) -> bytes:
        reply = await provider(replace(HI, tools=(), shape=shape), events.append)
        assert reply.message.parts == (Text('{"ok": true}'),)
        return server.requests[-1].raw

    able = ("completion", "tools", "thinking", "shape")
    assert b'"boolean"' in meet(dialect, [{"text": '{"ok": true}'}], talk, capabilities=able)[0]


@every
def test_a_wish_to_think_or_not_is_taken_by_all(dialect: str) -> None:
    for wish in (Sampling(think=True), Sampling(think=True, think_tokens=2000), Sampling(think=False)):
        assert ask(dialect, [{"text": "ok"}], replace(HI, sampling=wish))[0].message.text == "ok"
