"""A real llama.cpp engine looked at, counted with, warmed up and left."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from kith.core.events import Delta, Event, Progress
from kith.core.model import Prompt, Tool
from kith.core.values import Reply, Sampling, ToolResult, say
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint
from waiting import until

pytestmark = pytest.mark.slow

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


async def nothing(args: object, run: object) -> ToolResult:
    return ToolResult("", "")


READ = Tool("read_file", "Read a file.", SCHEMA, "read", nothing)


def quiet(event: Event) -> None:
    pass


def tiny(url: str, **fields: Any) -> OpenAILike:
    return OpenAILike("tiny", Endpoint(url), "llama-server", fields)


def test_the_engine_tells_its_facts(engine_url: str) -> None:
    facts = asyncio.run(tiny(engine_url).facts())
    assert (facts.window, facts.trained, facts.slots) == (16_384, 32_768, 1)
    assert (facts.tools, facts.keeps_thinking, facts.counts_cache) == (True, False, True)
    assert len(facts.digest) == 64


def test_the_engine_counts_exactly_and_is_warmed(engine_url: str) -> None:
    async def run() -> tuple[int | None, int | None, Reply]:
        model, start = tiny(engine_url), Prompt("You are a warm engine. " * 100, (), (READ,))
        await model.warm(start)
        prompt = Prompt(start.system, (say("Go."),), (READ,), sampling=Sampling(max_tokens=4))
        return await model.count(start), await model.count(prompt), await model(prompt, quiet)

    start, whole, reply = asyncio.run(run())
    assert reply.usage.input == whole
    # The engine counts the opening of its answer too, which comes after the person's words.
    assert start and reply.usage.cached >= start - 4


def test_the_engine_takes_a_budget_a_switch_and_a_shape(engine_url: str) -> None:
    shape = {"type": "object", "properties": {"done": {"enum": [True]}}, "required": ["done"]}
    sampling = Sampling(max_tokens=400, seed=1, think=False, think_tokens=5)
    events: list[Event] = []
    prompt = Prompt("", (say("Done?"),), sampling=sampling, shape=shape)
    reply = asyncio.run(tiny(engine_url)(prompt, events.append))
    assert json.loads(reply.message.text) == {"done": True}
    assert all(isinstance(event, Delta | Progress) for event in events)


def test_leaving_frees_the_engines_slot(engine_url: str) -> None:
    def busy() -> bool:
        return bool(httpx2.get(f"{engine_url}/slots", trust_env=False).json()[0]["is_processing"])

    async def leave() -> None:
        heard = asyncio.Event()
        prompt = Prompt("", (say("Count."),), sampling=Sampling(max_tokens=16_000))

        def listen(event: Event) -> None:
            if isinstance(event, Delta):
                heard.set()

        task = asyncio.create_task(tiny(engine_url, ignore_eos=True)(prompt, listen))
        await asyncio.wait_for(heard.wait(), 60)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(leave())
    until(lambda: not busy(), "the slot is not freed")
