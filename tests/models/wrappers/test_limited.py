"""A task's budget of tokens and seconds, shared by all who work on it."""

import asyncio
import time
from dataclasses import dataclass

import pytest

from kith.core.errors import LimitError, ModelError
from kith.core.events import Called, Delta
from kith.core.model import Emit, Prompt
from kith.core.values import CacheUse, Message, Reply, Text, Usage, say
from kith.models.wrappers.limited import Budget, Limited, Spent
from kith.models.wrappers.meter import Meter
from kith.models.wrappers.metered import Metered

PROMPT = Prompt("", (say("hi"),))


class Clock:
    """A clock that moves when told."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Worker:
    """Answers at once after `takes` seconds of a clock, or really waits, or fails."""

    clock: Clock
    takes: float = 0.0
    waits: float = 0.0
    failure: Exception | None = None
    usage: Usage = Usage(1000, 50, 900)
    calls: int = 0
    name: str = "worker"

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        self.calls += 1
        emit(Delta("ten words " * 5))
        self.clock.now += self.takes
        await asyncio.sleep(self.waits)
        if self.failure:
            raise self.failure
        return Reply(Message("assistant", (Text("done"),)), "end", "worker", self.usage)


def limited(worker: Worker, budget: Budget) -> Limited:
    return Limited(Metered(worker, worker.clock), budget, Spent(worker.clock))


def ask(model: Limited) -> Reply:
    return asyncio.run(model(PROMPT, lambda event: None))


def test_without_limits_nothing_is_stopped() -> None:
    model = limited(Worker(Clock(), takes=1e6, usage=Usage(10**9, 10**9)), Budget())
    for _ in range(3):
        assert ask(model).message.text == "done"
    assert model.name == "worker"


def test_tokens_that_were_computed_count() -> None:
    worker = Worker(Clock())
    model = limited(worker, Budget(tokens=450))
    for calls in (1, 2, 3):
        ask(model)
        assert model.spent.tokens == calls * 150
    with pytest.raises(LimitError, match=r"stopped after 450 tokens; a task may use 450 \(max_task_tokens\)"):
        ask(model)
    assert worker.calls == 3
    model.spent.reset()
    ask(model)
    assert model.spent.tokens == 150


def test_the_meter_is_believed_where_the_server_does_not_count() -> None:
    called = Called("m", "chat", 1, Usage(1000, 50), cache=CacheUse(80, 80, estimated=True))

    async def play(prompt: Prompt, emit: Emit) -> Reply:
        emit(called)
        return Reply(Message("assistant", ()), "end", "m")

    play.name = "m"  # type: ignore[attr-defined]
    model = Limited(play, Budget(tokens=10**6), Spent())  # type: ignore[arg-type]
    ask(model)
    assert model.spent.tokens == 130


def test_a_failed_call_costs_what_it_said() -> None:
    model = limited(Worker(Clock(), failure=ModelError("gone")), Budget(tokens=10))
    with pytest.raises(ModelError, match="gone"):
        ask(model)
    assert 10 <= model.spent.tokens <= 30
    with pytest.raises(LimitError):
        ask(model)


def test_seconds_are_those_since_the_beginning() -> None:
    worker = Worker(Clock(), takes=3)
    model = limited(worker, Budget(seconds=60))
    ask(model)
    worker.clock.now += 50
    ask(model)
    worker.clock.now += 4
    with pytest.raises(LimitError, match=r"stopped after 60 s, the time of a task \(max_task_seconds\)"):
        ask(model)
    model.spent.reset()
    ask(model)


def test_a_running_call_is_cut_at_the_limit() -> None:
    worker = Worker(Clock(), waits=30)
    model = limited(worker, Budget(seconds=0.05))
    began = time.monotonic()
    with pytest.raises(LimitError, match="max_task_seconds"):
        ask(model)
    assert time.monotonic() - began < 5


def test_calls_of_several_models_add_up() -> None:
    clock = Clock()
    spent, budget = Spent(clock), Budget(tokens=400, seconds=1000)
    one, two = (Limited(Metered(Worker(clock, takes=40), clock), budget, spent) for _ in range(2))

    async def both() -> None:
        await asyncio.gather(one(PROMPT, lambda event: None), two(PROMPT, lambda event: None))

    asyncio.run(both())
    assert spent.tokens == 300 and spent.seconds >= 80
    ask(one)
    with pytest.raises(LimitError):
        ask(two)


def test_a_time_out_of_the_model_s_own_is_not_the_limit() -> None:
    model = limited(Worker(Clock(), failure=TimeoutError("its own")), Budget(seconds=60))
    with pytest.raises(TimeoutError, match="its own"):
        ask(model)


def test_cancelling_from_outside_passes() -> None:
    model = Limited(Metered(Worker(Clock(), waits=30), meter=Meter()), Budget(seconds=60), Spent())

    async def leave() -> None:
        call = asyncio.create_task(model(PROMPT, lambda event: None))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(leave())
