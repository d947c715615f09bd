"""Asking again: when, how often, how long in between, and when not."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.errors import ModelError
from kith.core.events import Delta, Event, Notice, Progress
from kith.core.model import Emit, Model, Prompt
from kith.core.values import Message, Reply, Text, say
from kith.features.demo.standin import serve
from kith.models.providers.faults import BrokenReplyError, GarbledReplyError, UnreachableError
from kith.models.providers.ollama import Ollama
from kith.models.providers.wire import Endpoint
from kith.models.wrappers.retry import Retrying, RetryLimits

PROMPT = Prompt("", (say("hi"),))
DONE = Reply(Message("assistant", (Text("done"),)), "end", "fake")
BUSY = ModelError("the server is busy", retryable=True)


class Fails:
    """Fails with these errors in turn, then answers; `before` is emitted each time."""

    name = "fake"

    def __init__(self, *errors: Exception, before: Event | None = None) -> None:
        self.errors, self.before, self.asked = list(errors), before, 0

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        self.asked += 1
        if self.before is not None:
            emit(self.before)
        if self.errors:
            raise self.errors.pop(0)
        return DONE


def ask(model: Model, draw: float = 1.0, **options: Any) -> tuple[Reply, list[float], list[Event]]:
    """One question, with a clock that only the waits move."""
    waits: list[float] = []
    events: list[Event] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    retrying = Retrying(model, sleep=sleep, draw=lambda: draw, clock=lambda: sum(waits), **options)
    return asyncio.run(retrying(PROMPT, events.append)), waits, events


def test_waits_double_and_are_told() -> None:
    reply, waits, events = ask(Fails(BUSY, BUSY, BUSY))
    assert reply.message == DONE.message
    assert waits == [1.0, 2.0, 4.0]
    assert events[2:4] == [
        Notice("the server is busy; trying again in 2 s.", "warning"),
        Progress("asked", 0),  # nobody reads while it waits
    ]


def test_a_question_keeps_its_mark() -> None:
    _, _, events = ask(Fails(ModelError("nobody answers; is it running?", retryable=True)))
    assert events[0] == Notice("nobody answers; is it running? Trying again in 1 s.", "warning")


@given(st.floats(0, 1), st.integers(1, 8))
def test_jitter_stays_between_half_of_the_limit_and_the_limit(draw: float, failures: int) -> None:
    _, waits, _ = ask(Fails(*[BUSY] * failures), draw, limits=RetryLimits(8, 1e9))
    limits = [min(2.0**index, 60.0) for index in range(failures)]
    assert all(limit / 2 <= wait <= limit for wait, limit in zip(waits, limits, strict=True))


def limited(*seconds: float) -> list[ModelError]:
    return [ModelError("too many requests", retryable=True, after_s=each) for each in seconds]


def test_the_servers_own_wish_is_kept_as_it_is() -> None:
    assert ask(Fails(*limited(7.0, 100.0)))[1] == [7.0, 100.0]


def test_a_wish_beyond_the_limits_ends_it_at_once() -> None:
    model = Fails(*limited(3600.0))
    with pytest.raises(ModelError) as failed:
        ask(model)
    assert (model.asked, failed.value.after_s) == (1, 3600.0)


@pytest.mark.parametrize("agreed", [True, False])
def test_a_long_wait_is_asked_about(agreed: bool) -> None:
    asked: list[float | None] = []

    async def agree(error: ModelError) -> bool:
        asked.append(error.after_s)
        return agreed

    model = Fails(*limited(3600.0))
    if agreed:
        _, waits, events = ask(model, accepted=True, agree=agree)
        assert waits == [3600.0]
        assert events[0] == Notice("too many requests; trying again in 1 h.", "warning")
    else:
        with pytest.raises(ModelError, match="again in 1 h"):
            ask(model, accepted=True, agree=agree)
    assert asked == [3600.0]


def test_the_time_of_refusals_is_told_apart() -> None:
    reply, _, _ = ask(Fails(*limited(7.0, 100.0)))
    assert (reply.timing.queue_s, reply.timing.refused_s) == (107.0, 107.0)


def test_tries_and_budget_end_it() -> None:
    model = Fails(*[BUSY] * 9)
    with pytest.raises(ModelError, match="busy"):
        ask(model, limits=RetryLimits(2))
    assert model.asked == 3
    model = Fails(*[BUSY] * 9)
    with pytest.raises(ModelError, match="busy"):
        ask(model, limits=RetryLimits(8, 8.0))  # 1 + 2 + 4 fit, 8 more do not
    assert model.asked == 4


@pytest.mark.parametrize("before", [Delta("half"), Progress("reading", 10, 100)])
def test_a_request_that_was_accepted_is_not_sent_twice(before: Event) -> None:
    model = Fails(BUSY, before=before)
    with pytest.raises(ModelError, match="busy"):
        ask(model)
    assert model.asked == 1


def test_a_reply_that_broke_off_is_asked_for_once_more() -> None:
    def broken(times: int) -> Fails:
        return Fails(*(BrokenReplyError("it broke off") for _ in range(times)), before=Delta("half"))

    assert ask(broken(1), accepted=True)[0] == DONE
    model = broken(2)
    with pytest.raises(BrokenReplyError):
        ask(model, accepted=True)
    assert model.asked == 2


def test_a_reply_that_broke_off_is_left_to_who_stands_around_what_meters() -> None:
    model = Fails(BrokenReplyError("it broke off"), before=Delta("half"))
    with pytest.raises(BrokenReplyError):
        ask(model)
    assert model.asked == 1
    model = Fails(BUSY)
    with pytest.raises(ModelError, match="busy"):
        ask(model, accepted=True)
    assert model.asked == 1


def test_a_server_that_broke_off_because_it_starts_anew_is_waited_for() -> None:
    away = UnreachableError("nobody there", retryable=True)
    reply, waits, _ = ask(Fails(BrokenReplyError("it broke off"), away, away))
    assert (reply.message, waits) == (DONE.message, [1.0, 2.0, 4.0])


def test_what_will_not_pass_is_not_tried_again() -> None:
    model = Fails(ModelError("refused the key"))
    with pytest.raises(ModelError, match="refused"):
        ask(model)
    assert model.asked == 1


def test_a_garbled_reply_is_tried_once_more_only() -> None:
    garbled = GarbledReplyError("peg-native", retryable=True)
    assert ask(Fails(garbled))[0].message == DONE.message
    model = Fails(*[garbled] * 5)
    with pytest.raises(GarbledReplyError):
        ask(model)
    assert model.asked == 2


@pytest.mark.parametrize(
    ("header", "wait"), [({"Retry-After": "3"}, 3.0), ({"Retry-After": "soon"}, 1.0), ({}, 1.0)]
)
@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 529])
def test_a_real_server_that_is_busy_once(status: int, header: dict[str, str], wait: float) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def run() -> str:
        async with serve(["hi"], fail_first=(status, header, {"error": "busy"}, 1)) as server:
            model = Retrying(Ollama("standin", Endpoint(server.url)), sleep=sleep, draw=lambda: 1.0)
            reply = await model(PROMPT, lambda event: None)
            assert len(server.requests) == 2
            return reply.message.text

    assert (asyncio.run(run()), waits) == ("hi", [wait])


def test_a_server_that_hangs_is_asked_once() -> None:
    async def run() -> None:
        async with serve(["hi"], silent=True) as server:
            try:
                await Retrying(Ollama("standin", Endpoint(server.url, stall_s=0.1)))(
                    PROMPT, lambda event: None
                )
            finally:
                assert len(server.requests) == 1

    with pytest.raises(ModelError, match="sent nothing"):
        asyncio.run(run())


def test_a_wait_can_be_cancelled() -> None:
    async def run() -> bool:
        task = asyncio.create_task(
            Retrying(Fails(*[BUSY] * 9), first_s=500, draw=lambda: 1.0)(PROMPT, lambda e: None)
        )
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task], timeout=60)
        return task.cancelled()

    assert asyncio.run(run())
