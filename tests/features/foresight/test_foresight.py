"""Each call says how long it was foreseen to take, and a slow one why: by evidence, with a slow server."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kith.core.events import Called, Event, Notice
from kith.core.model import Emit, Prompt
from kith.core.values import Message, Reply, Text, Timing, Usage, say
from kith.features.foresight.foresight import LearnedForesight, foresight_of
from kith.models.discovery.machine import machine_name
from kith.models.providers.facts import Facts
from kith.models.stack import look
from kith.models.wrappers.metered import Metered
from kith.models.wrappers.prompt_cache import CacheMeter

WORDS = "one two three four five six seven eight nine ten " * 80  # 1,000 tokens of four letters
FIRST = Prompt("You are kith.", (say(WORDS),), thread="task")
READ, WRITE = 1000.0, 20.0  # tokens a second


def size(prompt: Prompt) -> int:
    return sum(len(message.text) for message in prompt.messages) // 4


@dataclass
class Server:
    """Takes a second for 1,000 new tokens and for 20 written ones; `next_call` changes the next reply."""

    name: str = "server"
    seen: int = 0
    changes: dict[str, Any] = field(default_factory=dict)

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        how = {"out": 40, "cached": self.seen, "load_s": 0.0, "queue_s": 0.0, "rest_s": 0.05, "factor": 1.0}
        how |= {"refused_s": 0.0, **self.changes}
        self.changes = {}
        whole, out = size(prompt), how["out"]
        self.seen = whole
        read, write = how["factor"] * (whole - how["cached"]) / READ, how["factor"] * (out - 1) / WRITE
        waited = how["queue_s"] + how["refused_s"]
        total = how["load_s"] + waited + read + write + how["rest_s"]
        timing = Timing(how["load_s"], waited, read, write, read, total, how["refused_s"])
        usage = Usage(whole, out, how["cached"])
        return Reply(Message("assistant", (Text("ok " * out),)), "end", self.name, usage, timing)


@dataclass
class Talk:
    """A conversation of a metered model that learns how long its calls take."""

    server: Server = field(default_factory=Server)
    events: list[Event] = field(default_factory=list)
    prompt: Prompt = FIRST
    busy: float = 0.3
    short: bool = False

    def __post_init__(self) -> None:
        meter = CacheMeter(counts_cache=True)
        foresight = LearnedForesight(
            "server", "here", size, meter.expect, busy=lambda: self.busy, short_of_memory=lambda: self.short
        )
        self.model = Metered(self.server, meter=meter, foresight=foresight)

    def ask(self, **changes: Any) -> Called:
        """One more turn; `changes` as the server takes them."""
        self.server.changes = changes
        reply = asyncio.run(self.model(self.prompt, self.events.append))
        self.prompt = replace(self.prompt, messages=(*self.prompt.messages, reply.message, say(WORDS)))
        (*_, last) = (event for event in self.events if isinstance(event, Called))
        return last

    def learn(self, turns: int = 6) -> None:
        for turn in range(turns):
            self.ask(out=30 + 5 * (turn % 4))

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]


def test_a_call_says_how_long_it_was_foreseen_to_take() -> None:
    talk = Talk()
    assert talk.ask().expected_s == 0.0  # nobody knows yet
    talk.learn()
    called = talk.ask(out=40)
    assert called.expected_s == pytest.approx(called.timing.total_s, rel=0.2)
    assert (called.slow, called.busy) == ("", 0.3)
    assert talk.notices == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"load_s": 30.0}, "the server spent 30 s loading the model"),
        ({"queue_s": 25.0}, "it waited 25 s for the model's slot"),
        ({"rest_s": 20.0}, "20 s are missing in the server's timing; it may have been busy"),
        ({"factor": 6.0}, "the model is slower than it was (throttled, or shared with others?)"),
    ],
)
def test_a_slow_call_is_explained_and_said_once(changes: dict[str, Any], words: str) -> None:
    talk = Talk()
    talk.learn()
    slow = talk.ask(**changes)
    assert slow.slow == words
    (notice,) = talk.notices
    assert words in notice
    talk.learn(2)
    assert talk.ask(**changes).slow and len(talk.notices) == 1


def test_a_cache_that_was_lost_is_the_cause_and_only_the_meter_tells_it() -> None:
    talk = Talk()
    talk.learn(16)
    slow = talk.ask(cached=0)
    assert slow.slow.endswith("tokens processed again")
    assert slow.cache and slow.cache.cause == "evicted"
    assert len(talk.notices) == 1


def test_a_refusal_is_neither_slowness_nor_news() -> None:
    talk = Talk()
    talk.learn()
    usual = talk.ask(out=40).expected_s
    assert talk.ask(out=40, refused_s=60.0).slow == "the server refused for 60 s"
    assert talk.notices == []
    assert talk.ask(out=40).expected_s == pytest.approx(usual, rel=0.2)


def test_a_reply_that_is_long_is_no_news() -> None:
    talk = Talk()
    talk.learn(20)
    slow = talk.ask(out=900)
    assert slow.slow.startswith("its reply has 900 tokens, not about ")
    assert talk.notices == []


def test_a_machine_that_is_busy_or_short_of_memory_is_named() -> None:
    talk = Talk()
    talk.learn()
    talk.busy = 3.2
    assert talk.ask(factor=6.0).slow == "the machine is busy, with 3.2 processes for each core"
    talk.short = True
    assert talk.ask(factor=8.0).slow == "the machine is short of memory"
    assert len(talk.notices) == 2


# --- the card --------------------------------------------------------------------------------


@dataclass
class Found(Server):
    """The same server, as it is found."""

    server: str = "http://127.0.0.1:9"

    async def facts(self, emit: Emit) -> Facts:
        return Facts(self.name, self.server, "digest", 16_384, counts_cache=True)

    async def count(self, prompt: Prompt) -> int | None:
        return size(prompt)

    async def warm(self, prompt: Prompt) -> None:
        pass

    async def close(self) -> None:
        pass


def take_calls(
    card: dict[str, Any], calls: int, server: str = "http://127.0.0.1:9"
) -> tuple[list[Called], Any]:
    """Open the model with this card and make so many calls: what was told, and what the card gets."""
    events: list[Event] = []

    async def run() -> Any:
        found = Found(server=server)
        opened = await look(found, lambda digest: card, 0, events.append, foresee=foresight_of)
        model = opened.metered()
        for number in range(calls):
            await model(replace(FIRST, messages=(say(f"{number} {WORDS}"),)), events.append)
        return opened.learned([event for event in events if isinstance(event, Called)])

    learned = asyncio.run(run())
    return [event for event in events if isinstance(event, Called)], learned


def test_a_new_process_begins_with_what_the_last_one_learned_here() -> None:
    first, learned = take_calls({}, 5)
    assert first[0].expected_s == 0.0 < first[1].expected_s
    assert list(learned["latency"]) == [machine_name()]
    again, _ = take_calls(learned, 1)
    assert again[0].expected_s == pytest.approx(again[0].timing.total_s, rel=0.3)


def test_another_machine_is_learned_beside_this_one() -> None:
    _, learned = take_calls({}, 3)
    elsewhere, more = take_calls(learned, 3, "http://192.168.7.7:8080")
    assert elsewhere[0].expected_s == 0.0
    assert set(more["latency"]) == {machine_name(), "http://192.168.7.7:8080"}
    assert more["latency"][machine_name()] == learned["latency"][machine_name()]


def test_without_calls_there_is_no_news() -> None:
    _, learned = take_calls({}, 0)
    assert learned == {}


def test_the_rates_of_a_probe_are_a_beginning() -> None:
    card = {"read_rate": 500.0, "write_rate": 10.0}
    here = Facts("server", "http://127.0.0.1:9")
    foresight = foresight_of("server", here, "box", card, size, CacheMeter().expect)
    forecast = foresight.expect(FIRST)
    assert forecast and forecast.read_s == pytest.approx(size(FIRST) / 500, rel=0.1)
    cloud = Facts("claude", "https://api.example.com", cloud=True)
    assert foresight_of("claude", cloud, cloud.server, card, size, CacheMeter().expect).expect(FIRST) is None


def test_a_machine_has_a_name_that_stays(tmp_path: Path) -> None:
    assert machine_name() == machine_name() and " core" in machine_name() and "GiB" in machine_name()
    (tmp_path / "proc" / "driver" / "nvidia" / "gpus" / "0").mkdir(parents=True)
    model = "model name\t: Intel(R) Core(TM) i7-9700 CPU @ 3.00GHz\n"
    (tmp_path / "proc" / "cpuinfo").write_text(model * 2)
    card = "Model: \t\t NVIDIA GeForce RTX 4090\nIRQ: 12\n"
    (tmp_path / "proc" / "driver" / "nvidia" / "gpus" / "0" / "information").write_text(card)
    name = machine_name(tmp_path)
    assert name.startswith("Intel Core i7-9700, ") and name.endswith(" GiB, NVIDIA GeForce RTX 4090")
