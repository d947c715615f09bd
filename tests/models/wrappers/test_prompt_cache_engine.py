"""The cache meter on a real llama.cpp engine: how much of a tool session is read again, and why."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from kith.core.events import Called, Event, Notice
from kith.core.model import Prompt, Tool
from kith.core.values import CacheUse, Message, Sampling, Text, ToolCall, ToolResult, say
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint
from kith.models.wrappers.metered import Metered
from kith.models.wrappers.prompt_cache import CacheMeter

pytestmark = pytest.mark.slow

SHORT = Sampling(temperature=0.0, max_tokens=2)
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
WORDS = "I look at the file, and then at the test."
FILE = "def mean(numbers):\n    return sum(numbers) / len(numbers)\n" * 8


async def nothing(args: object, run: object) -> ToolResult:
    return ToolResult("", "")


def tools(*names: str) -> tuple[Tool, ...]:
    return tuple(Tool(name, f"{name} a file of the project.", SCHEMA, "read", nothing) for name in names)


class Session:
    """A conversation with the real engine, metered, whose every call is kept."""

    def __init__(self, url: str, **fields: Any) -> None:
        self.provider = OpenAILike("tiny", Endpoint(url), "llama-server", fields)
        self.meter = CacheMeter(counts_cache=True)
        self.events: list[Event] = []

    async def ask(self, prompt: Prompt) -> Message:
        metered = Metered(self.provider, window=16_384, meter=self.meter)
        return (await metered(prompt, self.events.append)).message

    def play(self, *prompts: Prompt) -> None:
        async def play() -> None:
            for prompt in prompts:
                await self.ask(prompt)

        asyncio.run(play())

    @property
    def uses(self) -> list[CacheUse]:
        return [event.cache for event in self.events if isinstance(event, Called) and event.cache]

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]


def start(name: str) -> Prompt:
    """The first prompt of a session, with words of its own, so that no test profits from another."""
    system = f"{name}: you are a careful programmer. " + "Read before you write. " * 20
    return Prompt(system, (say("Mend mean()."),), tools("read", "edit"), sampling=SHORT, thread=name)


def turn(number: int) -> Sequence[Message]:
    """A call of a tool, and its answer."""
    call = ToolCall(f"c{number}", "read", {"path": f"src/file_{number}.py"})
    answer = ToolResult(call.id, f"# file {number}\n{FILE}")
    return Message("assistant", (Text("I read it."), call)), Message("tool", (answer,))


def session(name: str, turns: int) -> list[Prompt]:
    """The prompts of a session that only grows."""
    prompt = start(name)
    prompts = [prompt]
    for number in range(turns - 1):
        prompt = replace(prompt, messages=(*prompt.messages, *turn(number)))
        prompts.append(prompt)
    return prompts


def efficiency(uses: Sequence[CacheUse]) -> float:
    return sum(use.unavoidable for use in uses) / sum(use.evaluated for use in uses)


def test_a_tool_session_reads_nothing_twice(engine_url: str) -> None:
    talk = Session(engine_url)
    talk.play(*session("tools", 20))
    assert len(talk.uses) == 20 and not talk.notices
    assert efficiency(talk.uses[:15]) >= 0.95
    # Against the least that any client could do: what the last prompt holds, read once.
    called = [event for event in talk.events if isinstance(event, Called)]
    assert sum(use.evaluated for use in talk.uses) <= 1.1 * called[-1].usage.input


def test_replies_that_go_back_as_they_came_are_not_read_again(engine_url: str) -> None:
    talk = Session(engine_url, grammar=f"root ::= {json.dumps(WORDS)}")
    prompt = replace(start("replies"), tools=(), sampling=Sampling(max_tokens=100))

    async def play() -> None:
        asked = prompt
        for number in range(6):
            reply = await talk.ask(asked)
            assert reply.text == WORDS
            asked = replace(asked, messages=(*asked.messages, reply, say(f"And file {number}? {FILE}")))

    asyncio.run(play())
    # Noise picks other tokens for the same words than the tokenizer does: the replies are read again.
    assert efficiency(talk.uses) >= 0.9 and not talk.notices


def test_a_compaction_costs_what_it_must(engine_url: str) -> None:
    talk = Session(engine_url)
    grown = session("compacted", 10)
    asked = replace(grown[-1], messages=(*grown[-1].messages, say("Sum up what you did.")))
    first, *_, call, answer = grown[-1].messages
    shorter = replace(asked, messages=(first, say(f"So far: {FILE}"), call, answer))
    after = [shorter]
    for number in range(20, 25):
        after.append(replace(shorter, messages=(*after[-1].messages, *turn(number))))
    talk.play(*grown, asked, *after)
    assert efficiency(talk.uses) >= 0.85 and not talk.notices


def test_each_way_to_lose_the_cache_is_named(engine_url: str) -> None:
    talk = Session(engine_url)
    *_, before, last = session("named", 8)
    clock = replace(before, system=f"It is 12:01. {before.system}")
    shuffled = replace(before, tools=before.tools[::-1])
    elided = Message("tool", (ToolResult("c0", "(left out)"),))
    masked = replace(last, messages=(*last.messages[:2], elided, *last.messages[3:]))
    other = start("other thread")
    other = replace(other, messages=(*other.messages, say(FILE * 12)))
    talk.play(before, clock, before, shuffled, before, last, masked, other)
    # Twice it goes back to what the engine had kept aside: nothing is lost, and nothing is blamed.
    causes = ["", "system", "", "tools", "", "", "message 3 (tool)", ""]
    assert [use.cause for use in talk.uses] == causes
    assert all(use.efficiency < 0.9 for use in talk.uses if use.cause)
    assert len(talk.notices) == 3


def test_what_another_client_pushed_out_is_named(engine_url: str) -> None:
    # A request that asks for no cache stands for a server that was restarted, or has another client.
    talk = Session(engine_url)
    prompts = session("evicted", 6)
    talk.play(*prompts[:-1])
    talk.provider = replace(talk.provider, fields={"cache_prompt": False})
    talk.play(prompts[-1])
    assert talk.uses[-1].cause == "evicted" and talk.notices
