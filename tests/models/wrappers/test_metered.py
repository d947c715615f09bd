"""One Called for each call, whatever becomes of it."""

import asyncio

import pytest

from kith.core.errors import ModelError
from kith.core.events import Called, Delta, Event
from kith.core.model import Emit, Prompt
from kith.core.values import CacheUse, Message, Reply, Text, Timing, Usage, say
from kith.models.wrappers.metered import Metered

PROMPT = Prompt("", (say("hi"),), purpose="edit", attempt=2)


class Slow:
    """Takes two ticks to its first word and one more to its end, or to its failure."""

    name = "slow"

    def __init__(
        self, clock: "Clock", timing: Timing | None = None, failure: BaseException | None = None
    ) -> None:
        self.clock, self.timing, self.failure = clock, timing or Timing(), failure

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        self.clock.now += 2
        emit(Delta("hi"))
        self.clock.now += 1
        emit(Delta(" you"))
        if self.failure:
            raise self.failure
        return Reply(Message("assistant", (Text("hi you"),)), "end", "slow", Usage(10, 2, 5), self.timing)


class Clock:
    """A clock that moves when told."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def called(events: list[Event]) -> Called:
    (found,) = [event for event in events if isinstance(event, Called)]
    return found


def test_times_are_filled_in_where_the_server_gives_none() -> None:
    events: list[Event] = []
    clock = Clock()
    reply = asyncio.run(Metered(Slow(clock), clock)(PROMPT, events.append))
    assert reply.timing == Timing(first_token_s=2, total_s=3)
    assert called(events) == Called(
        "slow", "edit", 2, Usage(10, 2, 5), reply.timing, "end", cache=CacheUse(5, 5)
    )


def test_what_the_server_measured_is_kept() -> None:
    clock = Clock()
    own = Timing(load_s=1, prefill_s=0.5, decode_s=1, total_s=2.5)
    reply = asyncio.run(Metered(Slow(clock, own), clock)(PROMPT, lambda event: None))
    assert reply.timing == Timing(load_s=1, prefill_s=0.5, decode_s=1, first_token_s=2, total_s=2.5)


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (ModelError("the server is busy"), "the server is busy"),
        (asyncio.CancelledError(), "cancelled"),
        (ZeroDivisionError(), "ZeroDivisionError()"),
    ],
)
def test_a_failure_is_told_and_passes(failure: BaseException, words: str) -> None:
    events: list[Event] = []
    clock = Clock()

    async def run() -> None:
        await Metered(Slow(clock, failure=failure), clock)(PROMPT, events.append)

    with pytest.raises(type(failure)):
        asyncio.run(run())
    told = called(events)
    assert (told.stop, told.error, told.model, told.purpose) == ("error", words, "slow", "edit")
    assert (told.timing.first_token_s, told.timing.total_s) == (2, 3)
