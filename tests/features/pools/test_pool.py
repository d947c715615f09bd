"""Several servers as one model: each prompt goes where it waits least, and a dead one stops nobody."""

import asyncio
from dataclasses import dataclass, field

import pytest

from kith.core.errors import ModelError, NoModelError
from kith.core.events import Delta, Event, Notice
from kith.core.model import Emit, Prompt
from kith.core.values import Message, Reply, Text, Timing, Usage, say
from kith.features.demo.standin import serve
from kith.features.pools.pool import Member, Pool
from kith.models.providers.facts import Facts
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint


@dataclass
class Machine:
    """A server of a pool whose speed and faults the test decides."""

    name: str
    fault: ModelError | None = None
    speaks_first: bool = False
    window: int = 8_192
    digest: str = "same"
    asked: list[str] = field(default_factory=list)
    gate: asyncio.Event | None = None
    rate: float = 100.0

    async def facts(self, emit: Emit = lambda event: None) -> Facts:
        if self.fault and not self.asked:
            raise self.fault
        return Facts(self.name, self.name, self.digest, self.window)

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        self.asked.append(prompt.thread)
        if self.gate:
            await self.gate.wait()
        if self.speaks_first:
            emit(Delta("so"))
        if self.fault:
            raise self.fault
        message = Message("assistant", (Text("ok"),), self.name)
        return Reply(message, "end", self.name, Usage(100, 1), Timing(prefill_s=100 / self.rate))

    async def count(self, prompt: Prompt) -> int | None:
        return None

    async def warm(self, prompt: Prompt) -> None: ...

    async def close(self) -> None: ...


def prompt(thread: str, words: str = "hi") -> Prompt:
    return Prompt("", (say(words),), thread=thread)


async def opened(*machines: Machine) -> tuple[Pool, list[Event]]:
    events: list[Event] = []
    pool = Pool("home/m", [Member(each) for each in machines])
    await pool.facts(events.append)
    return pool, events


def test_while_one_is_busy_the_other_is_asked() -> None:
    async def run() -> tuple[Machine, Machine]:
        left, right = Machine("left", gate=asyncio.Event()), Machine("right", gate=asyncio.Event())
        pool, _ = await opened(left, right)
        calls = [asyncio.create_task(pool(prompt(str(n)), lambda event: None)) for n in range(4)]
        await asyncio.sleep(0.01)
        assert left.gate and right.gate
        left.gate.set()
        right.gate.set()
        await asyncio.gather(*calls)
        return left, right

    left, right = asyncio.run(run())
    assert len(left.asked) == len(right.asked) == 2


def test_a_conversation_stays_where_its_beginning_is_cached() -> None:
    async def run() -> list[Machine]:
        machines = [Machine("left"), Machine("right"), Machine("third")]
        pool, _ = await opened(*machines)
        long = "word " * 2_000
        for _ in range(3):
            for thread in ("a", "b", "c"):
                await pool(prompt(thread, long), lambda event: None)
        return machines

    homes = [set(each.asked) for each in asyncio.run(run())]
    threads = [thread for home in homes for thread in home]
    assert sorted(threads) == ["a", "b", "c"]


def test_the_reply_names_the_pool_and_not_the_server() -> None:
    async def run() -> Reply:
        pool, _ = await opened(Machine("left"), Machine("right"))
        return await pool(prompt("a"), lambda event: None)

    reply = asyncio.run(run())
    assert (reply.model, reply.message.author) == ("home/m", "home/m")


def test_a_server_that_fails_before_it_speaks_is_replaced_and_rests() -> None:
    async def run() -> tuple[Machine, Machine, list[Event]]:
        left, right = Machine("left"), Machine("right")
        pool, _ = await opened(left, right)
        left.fault = ModelError("left went away", retryable=True)
        events: list[Event] = []
        for _ in range(3):
            await pool(prompt("a"), events.append)
        return left, right, events

    left, right, events = asyncio.run(run())
    assert (len(left.asked), len(right.asked)) == (1, 3)
    assert [event.text for event in events if isinstance(event, Notice)] == [
        "left went away; asking another server of home/m."
    ]


@pytest.mark.parametrize(
    ("fault", "speaks"),
    [
        (ModelError("cut", retryable=True), True),
        (ModelError("too long", overflow=True), False),
        (ModelError("no"), False),
    ],
)
def test_what_another_server_would_not_mend_is_not_asked_twice(fault: ModelError, speaks: bool) -> None:
    async def run() -> Machine:
        left, right = Machine("left"), Machine("right")
        pool, _ = await opened(left, right)
        left.fault, left.speaks_first = fault, speaks
        with pytest.raises(ModelError, match=str(fault)):
            await pool(prompt("a"), lambda event: None)
        return right

    assert asyncio.run(run()).asked == []


def test_one_that_is_down_at_the_start_is_left_out_and_said() -> None:
    down = Machine("down", fault=ModelError("nobody at down.", retryable=True))

    async def run() -> tuple[Pool, list[Event]]:
        return await opened(down, Machine("up"))

    pool, events = asyncio.run(run())
    assert [member.provider.name for member in pool.members] == ["up"]
    assert [event.text for event in events if isinstance(event, Notice)] == [
        "nobody at down. The pool home/m goes on without it."
    ]
    with pytest.raises(NoModelError, match=r"No server of the pool home/m answers\."):
        asyncio.run(opened(down))


def test_the_smallest_window_holds_and_other_weights_are_said() -> None:
    async def run() -> tuple[Facts, list[Event]]:
        events: list[Event] = []
        machines = Machine("left", window=4_096), Machine("right", digest="other")
        return await Pool("home/m", [Member(each) for each in machines]).facts(events.append), events

    facts, events = asyncio.run(run())
    assert (facts.window, facts.slots, facts.digest) == (4_096, 2, "")
    assert any(isinstance(event, Notice) and "same weights" in event.text for event in events)


def test_two_real_servers_share_the_work() -> None:
    async def run() -> list[int]:
        script = [{"text": "fine", "delay": 0.02}] * 6
        async with serve(script, "llama-server") as one, serve(script, "llama-server") as two:
            providers = [OpenAILike("standin", Endpoint(each.url), "llama-server") for each in (one, two)]
            pool = Pool("home/standin", [Member(each) for each in providers])
            await pool.facts()
            replies = await asyncio.gather(*(pool(prompt(str(n)), lambda event: None) for n in range(6)))
            assert {reply.message.text for reply in replies} == {"fine"}
            await pool.close()
            return [len(server.requests) for server in (one, two)]

    shares = asyncio.run(run())
    assert sum(shares) == 6 and min(shares) >= 2
