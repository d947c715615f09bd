"""Trained models on kith's own engine: real templates, real vocabularies, and replies of little use."""

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from engines import ignore
from kith.core.events import Called, Compacted, Delta, Event, Notice
from kith.core.model import Prompt
from kith.core.non_answers import is_answer
from kith.core.values import CacheUse, Message, Sampling, Text, Thinking, ToolCall, ToolResult, say
from kith.features.doctor.check import Check, run_all
from kith.features.doctor.examine import deep_examinations
from kith.features.doctor.servers import Ward, check_server
from kith.features.engine.gguf import read_header
from kith.features.engine.model_files import OwnEngine
from kith.features.engine.options import EngineOptions
from kith.features.engine.running import EngineAddress, open_engine, stop_engines
from kith.features.measure.probe.probe import probe
from kith.models.account import Account
from kith.models.discovery.servers import Place
from kith.models.discovery.stored import Stored
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint
from kith.models.stack import Opened, look
from kith.models.wrappers.tool_calling import Ladder, Rung
from kith.settings import Settings
from kith.tools import standard_tools
from trained import GEMMA_TEMPLATE, gemma, smollm2
from waiting import until

pytestmark = pytest.mark.slow

WINDOW = 4096
SHORT = Sampling(temperature=0.0, max_tokens=8)
SYSTEM = "You are a careful programmer. Answer in one short sentence."
TOOLS = standard_tools(powershell="")[:2]
FILE = "def mean(numbers):\n    return sum(numbers) / len(numbers)\n"


@pytest.fixture(scope="module", params=["smollm2", "gemma"])
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EngineAddress]:
    """An engine with a trained model, a window of 4,096 tokens, and its own counts."""
    folder = tmp_path_factory.mktemp("trained")
    flags = ["--no-warmup", "--metrics", "--cache-ram", "64"]
    if request.param == "smollm2":
        model = smollm2()
    else:
        model, template = gemma(folder), folder / "gemma.jinja"
        template.write_text(GEMMA_TEMPLATE)
        # Of a sliding window, llama.cpp keeps too little to go back into a reply: without this flag, it
        # processes each reply again that is not sent back token for token.
        flags += ["--chat-template-file", str(template), "--swa-full"]
    options = EngineOptions(WINDOW, threads=1, extra=tuple(flags))
    name = request.param
    yield asyncio.run(open_engine(model, options, folder, ignore, name=name, prefer="xllamacpp", idle_s=60))
    stop_engines(folder)


def provider(engine: EngineAddress, **fields: Any) -> OpenAILike:
    return OpenAILike(engine.name, Endpoint(engine.url, engine.key), "llama-server", fields)


async def opened(engine: EngineAddress) -> Opened:
    return await look(provider(engine), lambda digest: {}, 0, ignore)


def get(engine: EngineAddress, path: str) -> httpx2.Response:
    return httpx2.get(engine.url + path, headers={"Authorization": f"Bearer {engine.key}"}, trust_env=False)


def evaluated(engine: EngineAddress) -> int:
    """The prompt tokens that the engine has processed so far, by its own count."""
    (count,) = re.findall(r"^llamacpp:prompt_tokens_total (\d+)", get(engine, "/metrics").text, re.M)
    return int(count)


def efficiency(uses: Sequence[CacheUse]) -> float:
    return sum(use.unavoidable for use in uses) / sum(use.evaluated for use in uses)


def test_fifteen_turns_cost_what_the_engine_counts(engine: EngineAddress) -> None:
    events: list[Event] = []

    async def talk() -> None:
        model = await opened(engine)
        asked = Prompt(SYSTEM, (say(f"What is 0 + 0?\n{FILE * 2}"),), sampling=SHORT, thread="talk")
        for turn in range(1, 16):
            counted = await model.count(asked)
            reply = await model.wrap(Account())(asked, events.append)
            assert reply.usage.input == counted
            asked = replace(
                asked, messages=(*asked.messages, reply.message, say(f"What is {turn} + {turn}?"))
            )

    before = evaluated(engine)
    asyncio.run(talk())
    calls = [event for event in events if isinstance(event, Called)]
    assert len(calls) == 15
    assert sum(each.usage.input - each.usage.cached for each in calls) == evaluated(engine) - before
    uses = [each.cache for each in calls if each.cache]
    assert len(uses) == 15 and efficiency(uses) >= 0.95
    assert not [event for event in events if isinstance(event, Notice)]


@pytest.mark.parametrize("rung", ["native", "constrained", "text"])
def test_every_rung_is_accepted_and_a_schema_always_calls(engine: EngineAddress, rung: Rung) -> None:
    prompt = Prompt(SYSTEM, (say("Read utils.py."),), TOOLS, sampling=replace(SHORT, max_tokens=24))
    reply = asyncio.run(Ladder(provider(engine), {}, engine.digest, rung)(prompt, ignore))
    assert 0 < reply.usage.output <= 24
    if rung == "constrained":
        (call,) = reply.message.calls
        assert call.name in ("list", "read") and bool(call.fault) == (reply.stop == "length")
    elif not reply.message.calls:
        assert is_answer(reply.message.text, "")


def test_a_shape_is_kept(engine: EngineAddress) -> None:
    shape = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    prompt = Prompt(SYSTEM, (say("Is 2 + 2 = 4?"),), sampling=replace(SHORT, max_tokens=40), shape=shape)
    reply = asyncio.run(provider(engine)(prompt, ignore))
    assert (reply.stop, type(json.loads(reply.message.text)["ok"])) == ("end", bool)


def test_a_full_window_is_compacted(engine: EngineAddress) -> None:
    events: list[Event] = []
    messages: list[Message] = [say("Mend mean().")]
    for number in range(10):
        call = ToolCall(f"c{number}", "read", {"paths": [f"file_{number}.py"]})
        messages += [
            Message("assistant", (Text("I read it."), call)),
            Message("tool", (ToolResult(call.id, f"# {number}\n{FILE * 24}"),)),
        ]
    prompt = Prompt(SYSTEM, tuple(messages), TOOLS, sampling=SHORT, thread="full")

    async def ask() -> None:
        await (await opened(engine)).wrap(Account())(prompt, events.append)

    asyncio.run(ask())
    assert any(isinstance(event, Compacted) for event in events)
    calls = [event for event in events if isinstance(event, Called)]
    assert calls and all(each.usage.input + each.usage.output <= WINDOW for each in calls)


def test_gemma_runs_with_all_of_its_sliding_window(tmp_path: Path) -> None:
    path = gemma(tmp_path)
    stored = Stored("gemma", path, path.stat().st_size, "your folder", read_header(path))
    own = OwnEngine(tmp_path / "state", tmp_path / "cache", program="xllamacpp")
    (first, *others) = asyncio.run(own.options_of(stored, ignore))
    assert first.swa_full and first.window >= WINDOW
    assert any(not each.swa_full for each in others)


def test_leaving_frees_the_slot(engine: EngineAddress) -> None:
    def busy() -> bool:
        return bool(get(engine, "/slots").json()[0]["is_processing"])

    async def leave() -> None:
        heard = asyncio.Event()
        prompt = Prompt("", (say("Count."),), sampling=Sampling(max_tokens=2000))
        model = provider(engine, ignore_eos=True)
        task = asyncio.create_task(model(prompt, lambda e: heard.set() if isinstance(e, Delta) else None))
        await asyncio.wait_for(heard.wait(), 60)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(leave())
    until(lambda: not busy())


def test_switches_of_thinking_do_no_harm(engine: EngineAddress) -> None:
    for sampling in (replace(SHORT, think=False), replace(SHORT, think=True, think_tokens=4)):
        reply = asyncio.run(provider(engine)(Prompt(SYSTEM, (say("Hi"),), sampling=sampling), ignore))
        assert reply.message.text and not any(isinstance(part, Thinking) for part in reply.message.parts)


def test_a_probe_finds_it_unfit_for_agents(engine: EngineAddress) -> None:
    result = asyncio.run(probe(ignore, provider(engine), window=WINDOW, budget_s=10.0))
    assert not {"agent work", "edits"} & set(result.good_for)
    assert all(speed.by == "server" for speed in result.speeds)


def test_the_doctor_reads_both_templates(engine: EngineAddress) -> None:
    async def examine() -> list[Check]:
        ward, found = Ward(), list[Check]()
        await check_server(Place(engine.url, engine.key), Settings(), ward, found.append)
        return [*found, *await run_all(deep_examinations(ward, deep=False))]

    levels = [(check.level, check.text.partition(":")[0]) for check in asyncio.run(examine())]
    complaint = ("yellow", "Its template does not take tool results, and a question after a tool call")
    assert (complaint in levels) == (engine.name == "gemma")
