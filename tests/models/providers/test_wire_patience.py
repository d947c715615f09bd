"""Patience: silence is waited for while the server lives, and what is going on meanwhile is said."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from kith.core.errors import EXIT_TRY_LATER, ModelError
from kith.core.events import Delta, Event, Progress
from kith.core.model import Emit, Prompt
from kith.core.values import Message, Reply, Text, say
from kith.features.demo.standin import serve
from kith.models.discovery.cards import kind_of
from kith.models.forecasts import Forecast
from kith.models.providers.facts import ASKED, LOADING, QUEUED, READING
from kith.models.providers.faults import LostReplyError
from kith.models.providers.ollama import Ollama
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint
from kith.models.wrappers.patient import Patient
from kith.models.wrappers.retry import Retrying
from waiting import soon

PROMPT = Prompt("", (say("hi"),))


def quiet(event: Event) -> None:
    pass


@dataclass
class Time:
    """A clock that only sleeping moves, and that leaves others a moment each time."""

    now: float = 0.0

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0.001)
        self.now += seconds


DELAYS = (0.4, 4.0, 40.0)  # real seconds; the clock hurries less on a busy machine

# --- on the wire -----------------------------------------------------------------------------


def ask(script: Any, dialect: Any = "ollama", probe_s: float = 0.5, **behaviour: Any) -> tuple[Reply, float]:
    """One call with a clock that hurries; returns the reply and the seconds that passed by it."""
    hours = Time()

    async def run() -> Reply:
        async with serve(script, dialect, **behaviour) as server:
            endpoint = Endpoint(server.url, probe_s=probe_s, clock=hours.clock, sleep=hours.sleep)
            model = (
                Ollama("standin", endpoint)
                if dialect == "ollama"
                else OpenAILike("standin", endpoint, dialect)
            )
            return await model(PROMPT, quiet)

    return asyncio.run(run()), hours.now


@pytest.mark.parametrize("dialect", ["ollama", "llama-server", "lmstudio", "vllm"])
def test_a_prompt_that_is_read_for_an_hour_is_waited_for(dialect: str) -> None:
    def read(delay: float) -> float:
        reply, seconds = ask([{"text": "hi", "delay": delay}], dialect)
        assert reply.message.text == "hi"
        return seconds

    assert any(read(delay) > 600 for delay in DELAYS)


def test_a_server_that_shows_no_life_is_lost() -> None:
    with pytest.raises(LostReplyError, match="sent nothing for 600 s; it seems to hang") as caught:
        ask(["never"], silent=True, probe_s=0.005)
    assert caught.value.code == EXIT_TRY_LATER and not caught.value.retryable


@pytest.mark.parametrize(("dialect", "words"), [("ollama", 400), ("llama-server", 1500)])
def test_an_answer_that_stops_in_the_middle_is_lost_however_alive_its_server(
    dialect: str, words: int
) -> None:
    with pytest.raises(LostReplyError, match="sent nothing for 600 s"):
        ask(["some words that come before it stops"], dialect, cut="hang", cut_after=words)


def test_what_a_server_says_of_itself_is_not_waited_for_as_long_as_a_prompt() -> None:
    hours = Time()

    async def run() -> None:
        async with serve([], silent=True) as server:
            await kind_of(Endpoint(server.url, probe_s=0.005, clock=hours.clock, sleep=hours.sleep))

    with pytest.raises(LostReplyError, match="sent nothing for 60 s"):
        asyncio.run(run())
    assert hours.now < 120


def test_a_server_that_dies_in_its_silence_is_lost() -> None:
    hours = Time()

    async def run() -> None:
        async with serve([{"text": "never", "delay": 60}]) as server:
            endpoint = Endpoint(server.url, probe_s=0.1, clock=hours.clock, sleep=hours.sleep)
            call = asyncio.create_task(Ollama("standin", endpoint)(PROMPT, quiet))
            while hours.now < 300:
                await asyncio.sleep(0.001)
            assert not call.done()
            dead = "http://127.0.0.1:9"  # nobody listens there: as if the machine had gone
            endpoint.url = dead
            await call

    with pytest.raises(LostReplyError, match="hang"):
        asyncio.run(run())
    assert hours.now >= 900


def test_a_watch_ends_with_its_call() -> None:
    async def run() -> int:
        async with serve(["hi"]) as server:
            await Ollama("standin", Endpoint(server.url))(PROMPT, quiet)
            await asyncio.sleep(0)
            return sum("keep" in repr(task) for task in asyncio.all_tasks())

    assert asyncio.run(run()) == 0


def test_a_load_is_waited_for_like_an_answer() -> None:
    async def load(delay: float) -> float:
        hours = Time()
        async with serve([], delay_first_byte=delay) as server:
            endpoint = Endpoint(server.url, clock=hours.clock, sleep=hours.sleep)
            assert (await Ollama("standin", endpoint, 4096).facts()).window == 4096
        return hours.now

    assert any(asyncio.run(load(delay)) > 600 for delay in DELAYS)


def test_leaving_while_it_is_silent_closes_the_connection_at_once() -> None:
    async def run() -> None:
        async with serve([{"text": "hi", "delay": 600}]) as server:
            call = asyncio.create_task(Ollama("standin", Endpoint(server.url))(PROMPT, quiet))
            await soon(lambda: server.requests)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            await asyncio.wait_for(server.disconnected.wait(), 60)
            assert call.cancelled()

    asyncio.run(run())


# --- what is said meanwhile ------------------------------------------------------------------


@dataclass
class Reads:
    """Says these events at these times, and answers at the end; it alone moves its clock, by 0.1 s."""

    says: list[tuple[float, Event]] = field(default_factory=list)
    until: float = 30.0
    reply: Reply = Reply(Message("assistant", (Text("ok"),)), "end", "reads")
    now: float = 0.0
    name: str = "reads"

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        until = self.now + seconds - 1e-6
        while self.now < until:
            await asyncio.sleep(0)

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        began, left = self.now, list(self.says)
        while self.now - began < self.until:
            while left and left[0][0] <= self.now - began + 1e-6:
                emit(left.pop(0)[1])
            await asyncio.sleep(0)
            self.now += 0.1
        return self.reply


def patient(reads: Reads, rate: float = 100.0, cached: int = 0) -> Patient:
    def estimate(prompt: Prompt) -> int:
        return 100 * len(prompt.messages) + 1000 * bool(prompt.system)

    def expect(prompt: Prompt) -> Forecast | None:
        new = estimate(prompt) - cached
        return Forecast(0, 0, 0, read_s=new / rate, new=new, cached=cached) if rate else None

    return Patient(reads, estimate, expect, reads.clock, reads.sleep)


def tell(model: Patient, prompt: Prompt) -> list[Progress]:
    events: list[Event] = []
    asyncio.run(model(prompt, events.append))
    return [event for event in events if isinstance(event, Progress)]


LONG = Prompt("You are kith.", (say("one"), say("two")))  # 1,200 tokens: 12 s


def test_silence_is_filled_from_the_reading_rate() -> None:
    told = tell(patient(Reads(until=20)), LONG)
    assert "12 s" in told[0].what and (told[0].done, told[0].total) == (50, 1200)
    counted = [event.done for event in told if event.total]
    assert counted == sorted(counted) and counted[-1] < 1200
    assert 30 < len(told) < 45
    assert told[-1] == Progress("reading, longer than expected", 0)


def test_without_a_rate_nothing_is_promised() -> None:
    assert set(tell(patient(Reads(until=3), rate=0.0), LONG)) == {Progress(READING, 0, 1200)}


def test_long_waits_are_told_in_minutes() -> None:
    assert tell(patient(Reads(until=1.2), rate=2.0), LONG)[0].what == "reading, about 10 min left"


def test_a_quick_reply_is_not_talked_over() -> None:
    assert tell(patient(Reads(until=0.4)), LONG) == []


def test_the_servers_own_word_silences_the_guess() -> None:
    assert tell(patient(Reads([(0.2, Delta("hm"))])), LONG) == []
    told = tell(
        patient(Reads([(1.2, Progress(READING, 400, 1200)), (5.2, Progress(READING, 800, 1200))])), LONG
    )
    assert [event.done for event in told if event.done in (400, 800)] == [400, 800]
    # At first as long as it was foreseen, then at the pace that it really has.
    first, second = (
        Progress("reading, about 8 s left", 400, 1200),
        Progress("reading, about 4 s left", 800, 1200),
    )
    assert told[-2:] == [first, second]


def test_waiting_for_a_slot_or_a_load_is_not_reading() -> None:
    for waits in (QUEUED, LOADING):
        says: list[tuple[float, Event]] = [(0.0, Progress(waits, 0)), (10.0, Progress(ASKED, 0))]
        first, asked, *guesses = tell(patient(Reads(says, until=14)), LONG)
        assert (first.what, asked.what) == (waits, ASKED)
        assert guesses[0].done < 150 and guesses[-1].done < 500


def test_a_prompt_that_is_sent_again_is_read_from_the_beginning() -> None:
    told = tell(patient(Reads([(6.0, Progress(ASKED, 0))], until=7)), LONG)
    assert told[-1].done < 200 < max(event.done for event in told)


def test_what_the_server_kept_counts_as_read() -> None:
    assert tell(patient(Reads(until=1.2), cached=1000), LONG)[0] == Progress(
        "reading, about 2 s left", 1050, 1200
    )


def test_failures_pass_and_nothing_is_said_after_the_end() -> None:
    async def run() -> list[Event]:
        events: list[Event] = []

        class Fails(Reads):
            async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
                await super().__call__(prompt, emit)
                raise ModelError("it failed")

        model = patient(Fails(until=2))
        with pytest.raises(ModelError, match="it failed"):
            await model(LONG, events.append)
        said = len(events)
        await asyncio.sleep(0.02)
        assert len(events) == said
        return events

    assert asyncio.run(run())


def test_waits_for_a_slot_do_not_stop_a_retry() -> None:
    """A busy server may be asked again after a wait; one that began to read may not."""

    @dataclass
    class Busy:
        event: Event
        name: str = "busy"
        asked: int = 0

        async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
            self.asked += 1
            emit(self.event)
            raise ModelError("busy", retryable=True)

    async def rest(seconds: float) -> None:
        pass

    for event, times in ((Progress(QUEUED, 0), 5), (Progress(LOADING, 0), 5), (Progress(READING, 0, 9), 1)):
        busy = Busy(event)
        with pytest.raises(ModelError):
            asyncio.run(Retrying(busy, sleep=rest)(PROMPT, quiet))
        assert busy.asked == times
