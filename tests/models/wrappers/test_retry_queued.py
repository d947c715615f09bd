"""One queue for each server: who waits, how long, in what order, and who leaves."""

import asyncio
from dataclasses import dataclass, field

from kith.core.errors import ModelError
from kith.core.events import Event, Progress
from kith.core.model import Emit, Prompt
from kith.core.values import Message, Reply, Text, Timing, say
from kith.models.providers.facts import ASKED, QUEUED
from kith.models.wrappers.retry import Queue, Retrying

PROMPT = Prompt("", (say("hi"),))


def quiet(event: Event) -> None:
    pass


@dataclass
class Slow:
    """Answers when it is let go, and knows how many it was asked at once."""

    name: str = "slow"
    at_once: int = 0
    most: int = 0
    asked: list[str] = field(default_factory=list)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        self.asked.append(prompt.messages[0].text)
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await self.go.wait()
        finally:
            self.at_once -= 1
        if prompt.messages[0].text == "fail":
            raise ModelError("it failed")
        return Reply(Message("assistant", (Text("ok"),)), "end", "slow", timing=Timing(decode_s=1.0))


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_one_slot_serves_one_call_at_a_time_in_order() -> None:
    async def run() -> Slow:
        slow = Slow()
        calls = [Retrying(slow, queue=Queue("a"))(Prompt("", (say(str(n)),)), quiet) for n in range(5)]
        tasks = [asyncio.create_task(call) for call in calls]
        await settle()
        slow.go.set()
        await asyncio.gather(*tasks)
        return slow

    slow = asyncio.run(run())
    assert slow.most == 1 and slow.asked == ["0", "1", "2", "3", "4"]


def test_a_server_with_slots_takes_so_many_and_other_servers_do_not_wait() -> None:
    async def run(servers: list[str], slots: int) -> int:
        slow = Slow()
        tasks = [
            asyncio.create_task(Retrying(slow, queue=Queue(each, slots))(PROMPT, quiet)) for each in servers
        ]
        await settle()
        slow.go.set()
        await asyncio.gather(*tasks)
        return slow.most

    assert asyncio.run(run(["a"] * 5, 3)) == 3
    assert asyncio.run(run(["a", "b", "c"], 1)) == 3


def test_the_wait_is_told_and_measured() -> None:
    async def run() -> tuple[Reply, Reply, list[Event]]:
        slow, now = Slow(), [0.0]
        events: list[Event] = []
        queued = Retrying(slow, queue=Queue("a", clock=lambda: now[0]))
        first = asyncio.create_task(queued(PROMPT, quiet))
        second = asyncio.create_task(queued(PROMPT, events.append))
        await settle()
        now[0] = 7.0
        slow.go.set()
        return await first, await second, events

    first, second, events = asyncio.run(run())
    assert first.timing == Timing(decode_s=1.0)
    assert second.timing == Timing(decode_s=1.0, queue_s=7.0)
    assert events == [Progress(QUEUED, 0), Progress(ASKED, 0)]


def test_who_is_cancelled_or_fails_leaves_the_queue() -> None:
    async def run() -> list[str]:
        slow = Slow()
        queued = Retrying(slow, queue=Queue("a"))
        words = ("holds it", "leaves", "fail", "last")
        tasks = [asyncio.create_task(queued(Prompt("", (say(each),)), quiet)) for each in words]
        await settle()
        tasks[1].cancel()
        await settle()
        slow.go.set()
        assert (await tasks[3]).message.text == "ok"
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(results[1], asyncio.CancelledError) and isinstance(results[2], ModelError)
        tasks[0].cancel()
        return slow.asked

    assert asyncio.run(run()) == ["holds it", "fail", "last"]


def test_who_is_cancelled_while_it_is_answered_frees_the_slot() -> None:
    async def run() -> str:
        slow = Slow()
        queued = Retrying(slow, queue=Queue("a"))
        first = asyncio.create_task(queued(PROMPT, quiet))
        second = asyncio.create_task(queued(PROMPT, quiet))
        await settle()
        first.cancel()
        await settle()
        slow.go.set()
        return (await asyncio.wait_for(second, 60)).message.text

    assert asyncio.run(run()) == "ok"
