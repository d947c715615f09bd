"""The Messages protocol on a real llama.cpp engine, which speaks it too."""

import asyncio

import pytest
from msgspec.structs import replace

from kith.core.errors import ModelError
from kith.core.events import Delta, Event
from kith.core.model import Prompt
from kith.core.values import Message, Reply, Sampling, Text, Thinking, ToolCall, ToolResult, say
from kith.features.clouds.anthropic import Anthropic, anthropic_endpoint

pytestmark = pytest.mark.slow
PROMPT = Prompt("Be brief. " * 40, (say("hi"),), sampling=Sampling(max_tokens=8))


def test_a_conversation_with_the_engine(engine_url: str) -> None:
    async def run() -> None:
        events: list[Event] = []
        model = Anthropic("tiny", anthropic_endpoint(engine_url, ""))
        facts = await model.facts()
        assert (facts.window, facts.cloud, facts.slots) == (16_384, False, 1)

        async def ask(prompt: Prompt) -> Reply:
            """Of a model that knows nothing: one that begins with half a character comes without counts."""
            for _ in range(40):
                events.clear()
                reply = await model(prompt, events.append)
                if reply.usage.input:
                    return reply
            raise AssertionError("no reply was counted")

        first = await ask(PROMPT)
        assert first.message.author == "anthropic/tiny"
        assert 0 < first.usage.output <= 8, "a model that knows nothing may end at once"
        assert first.usage.input == await model.count(PROMPT)
        assert first.message.text == "".join(each.text for each in events if isinstance(each, Delta))
        second = await ask(replace(PROMPT, messages=(say("hi"), first.message, say("go on"))))
        assert first.usage.input - 20 <= second.usage.cached < second.usage.input

    asyncio.run(run())


def test_the_engine_takes_calls_thoughts_and_their_answers(engine_url: str) -> None:
    said = Message(
        "assistant",
        (Thinking("I see.", "c2ln"), Text("I read."), ToolCall("call:1", "read", {})),
        "anthropic/tiny",
    )
    history = (say("hi"), said, Message("tool", (ToolResult("call:1", "the text", ok=False),), "kith"))

    async def run() -> None:
        model = Anthropic("tiny", anthropic_endpoint(engine_url, ""))
        reply = await model(replace(PROMPT, messages=history), lambda event: None)
        assert 0 < reply.usage.output <= 8  # a random model may end early
        with pytest.raises(ModelError) as caught:
            await model(replace(PROMPT, messages=(say("word " * 20_000),)), lambda event: None)
        assert caught.value.overflow

    asyncio.run(run())


def test_who_leaves_frees_the_engine(engine_url: str) -> None:
    async def run() -> None:
        events: list[Event] = []
        model = Anthropic("tiny", anthropic_endpoint(engine_url, ""))
        endless = replace(PROMPT, sampling=Sampling(max_tokens=8000))
        asking = asyncio.create_task(model(endless, events.append))
        while not any(isinstance(each, Delta) for each in events) and not asking.done():
            await asyncio.sleep(0.01)
        asking.cancel()
        assert (await asyncio.wait_for(model(PROMPT, events.append), 60)).usage.output > 0

    asyncio.run(run())
