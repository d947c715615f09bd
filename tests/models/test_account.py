"""The account of a task: its tokens, seconds and money, whatever becomes of its calls."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kith.core.errors import HopelessError, LimitError, ModelError
from kith.core.events import Called, Delta, Event
from kith.core.model import Billed, Emit, Model, Prompt, bill_of
from kith.core.values import Charge, Message, Reply, Sampling, Text, Timing, Usage, say
from kith.features.route.early_stopping import Habits, Hopeful
from kith.models import wrappers
from kith.models.account import Account, Budget, longest_reply
from kith.models.providers.faults import BrokenReplyError
from kith.models.wrappers.counter import Counter
from kith.models.wrappers.metered import Metered
from kith.models.wrappers.prompt_cache import CacheMeter
from kith.models.wrappers.retry import Retrying
from kith.models.wrappers.verified import Verified
from kith.models.wrappers.watched import Watched

PROMPT = Prompt("", (say("hi"),))
Money = Callable[[str, Usage], float | None]


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


def limited(worker: Worker, budget: Budget) -> Metered:
    return Metered(worker, worker.clock, account=Account(budget, clock=worker.clock))


def ask(model: Model) -> Reply:
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
        assert model.account.tokens == calls * 150
    with pytest.raises(LimitError, match=r"stopped after 450 tokens; a task may use 450 \(max_task_tokens\)"):
        ask(model)
    assert worker.calls == 3


def test_the_meter_is_believed_where_the_server_does_not_count() -> None:
    """1,000 tokens in 80 ms: at 1,000 tokens/s, only 80 of them were computed."""

    async def play(prompt: Prompt, emit: Emit) -> Reply:
        timing = Timing(prefill_s=0.08)
        return Reply(Message("assistant", ()), "end", "m", Usage(1000, 50), timing, cache_told=False)

    play.name = "m"  # type: ignore[attr-defined]
    model = Metered(play, meter=CacheMeter(read_rate=1000.0))  # type: ignore[arg-type]
    (charge,) = ask(model).bill
    assert (charge.evaluated, charge.computed, model.account.tokens) == (80, 130, 130)


def test_a_failed_call_costs_what_it_said() -> None:
    model = limited(Worker(Clock(), failure=ModelError("gone")), Budget(tokens=10))
    with pytest.raises(ModelError, match="gone"):
        ask(model)
    assert 10 <= model.account.tokens <= 30
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


def test_a_running_call_is_cut_at_the_limit() -> None:
    worker = Worker(Clock(), waits=600)
    model = limited(worker, Budget(seconds=0.05))
    with pytest.raises(LimitError, match="max_task_seconds"):
        ask(model)


def test_calls_of_several_models_add_up() -> None:
    clock = Clock()
    account = Account(Budget(tokens=400, seconds=1000), clock=clock)
    one, two = (Metered(Worker(clock, takes=40), clock, account=account) for _ in range(2))

    async def both() -> None:
        await asyncio.gather(one(PROMPT, lambda event: None), two(PROMPT, lambda event: None))

    asyncio.run(both())
    assert account.tokens == 300 and account.seconds >= 80
    ask(one)
    with pytest.raises(LimitError):
        ask(two)


def test_a_time_out_of_the_model_s_own_is_not_the_limit() -> None:
    model = limited(Worker(Clock(), failure=TimeoutError("its own")), Budget(seconds=60))
    with pytest.raises(TimeoutError, match="its own"):
        ask(model)


def test_cancelling_from_outside_passes() -> None:
    model = Metered(Worker(Clock(), waits=30), account=Account(Budget(seconds=60)))

    async def leave() -> None:
        call = asyncio.create_task(model(PROMPT, lambda event: None))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(leave())


# --- money ---------------------------------------------------------------------------------------


def cent_a_thousand(model: str, usage: Usage) -> float:
    """Cached costs a tenth, written a quarter more, and output five times as much."""
    fresh = usage.input - usage.cached - usage.written
    return (fresh + usage.cached / 10 + usage.written * 1.25 + usage.output * 5) / 100_000


@dataclass
class Cloud:
    """Writes as much as it may, or fails, or hangs after a few words."""

    failure: BaseException | None = None
    words: str = ""
    hangs: bool = False
    greed: float = 1.0
    asked: list[Sampling] = field(default_factory=list)
    name: str = "cloud/large"

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        self.asked.append(prompt.sampling)
        if self.words:
            emit(Delta(self.words))
        await asyncio.sleep(60 if self.hangs else 0)
        if self.failure:
            raise self.failure
        written = int((prompt.sampling.max_tokens or 16_384) * self.greed)
        message = Message("assistant", (Text("done"),))
        return Reply(message, "end", self.name, Usage(1000, written, written=1000))


def paying(cloud: Cloud, account: Account, price: Money = cent_a_thousand) -> Metered:
    return Metered(cloud, account=account, price=price, count=lambda prompt: 1000)


def hear(model: Model, max_tokens: int | None = None) -> list[Event]:
    heard: list[Event] = []
    prompt = Prompt("", (say("hi"),), sampling=Sampling(max_tokens=max_tokens))
    asyncio.run(model(prompt, heard.append))
    return heard


def test_a_call_is_told_with_its_price() -> None:
    account = Account()
    (called,) = hear(paying(Cloud(), account), 100)
    assert isinstance(called, Called) and called.usd == pytest.approx(0.0125 + 0.005)
    assert account.usd == pytest.approx(called.usd)


def test_where_no_price_is_known_none_is_told() -> None:
    (called,) = hear(paying(Cloud(), Account(), lambda *_: None))
    assert isinstance(called, Called) and called.usd is None


def test_what_a_cancelled_call_wrote_is_paid_for_by_estimate() -> None:
    account, cloud = Account(), Cloud(words="ten words " * 50, hangs=True)

    async def cancel() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await paying(cloud, account)(PROMPT, lambda event: None)

    asyncio.run(cancel())
    assert 0.01 < account.usd < 0.02  # the prompt alone is a cent


def test_a_reply_that_broke_off_costs_and_a_refusal_does_not() -> None:
    for words, least, most in (("a few words", 0.01, 0.011), ("", 0.0, 0.0)):
        account = Account()
        with pytest.raises(ModelError):
            hear(paying(Cloud(ModelError("overloaded"), words), account))
        assert least <= account.usd <= most


def test_a_call_that_might_go_over_is_refused_in_one_sentence() -> None:
    cloud = Cloud(greed=0.01)
    with pytest.raises(LimitError) as caught:
        hear(paying(cloud, Account(Budget(usd=0.5), paid=0.4)))
    assert str(caught.value) == (
        "stopped: the next call may cost $0.22, but $0.40 of $0.50 for a task is spent (max_task_usd)"
    )
    assert not cloud.asked
    account = Account(Budget(day_usd=2.0), today=lambda: 1.95)
    with pytest.raises(LimitError, match=r"\$1\.95 of \$2\.00 for a day is spent \(max_day_usd\)"):
        hear(paying(cloud, account))


def test_where_only_a_shorter_reply_fits_it_is_asked_for() -> None:
    cloud, account = Cloud(), Account(Budget(usd=0.3))
    hear(paying(cloud, account))
    (sampling,) = cloud.asked
    assert sampling.max_tokens and 4_096 <= sampling.max_tokens < 16_384
    assert account.usd <= 0.3 and account.held == 0


def test_a_model_without_a_price_is_refused_only_under_a_limit() -> None:
    with pytest.raises(LimitError, match=r'prices\.toml: \["cloud/large"\]'):
        hear(paying(Cloud(), Account(Budget(usd=1.0)), lambda *_: None))
    hear(paying(Cloud(), Account(), lambda *_: None))


def test_free_models_are_never_refused() -> None:
    cloud = Cloud()
    hear(paying(cloud, Account(Budget(usd=0.0, day_usd=0.0)), lambda *_: 0.0))
    assert cloud.asked[0].max_tokens is None


@given(st.floats(0, 2), st.floats(0, 2), st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_no_sequence_of_answers_goes_over_a_limit(task: float, day: float, greeds: list[float]) -> None:
    account = Account(Budget(usd=task, day_usd=day))
    for greed in greeds:
        try:
            hear(paying(Cloud(greed=greed), account))
        except LimitError:
            break
    assert account.usd <= min(task, day) + 1e-9


def test_calls_at_once_share_what_is_left() -> None:
    cloud, account = Cloud(), Account(Budget(usd=0.5))
    model = paying(cloud, account)

    async def all_at_once() -> list[Reply | BaseException]:
        calls = (model(PROMPT, lambda event: None) for _ in range(5))
        return await asyncio.gather(*calls, return_exceptions=True)

    results = asyncio.run(all_at_once())
    assert any(isinstance(each, LimitError) for each in results) and len(cloud.asked) < 5
    assert 0 < account.usd <= 0.5 and abs(account.held) < 1e-9


def test_thoughts_that_come_on_top_are_held_against_the_limit_too() -> None:
    """A model that must think gets at least so many tokens for it, however short its reply may be."""
    for sampling in (Sampling(max_tokens=500, think=True), Sampling(max_tokens=500, think_tokens=100)):
        assert longest_reply(replace(PROMPT, sampling=sampling)) == 1_524
    assert longest_reply(replace(PROMPT, sampling=Sampling(max_tokens=500, think=False))) == 500


@dataclass
class Breaking(Cloud):
    """Breaks off in its first reply."""

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        self.failure = BrokenReplyError("broke off") if not self.asked else None
        return await Cloud.__call__(self, prompt, emit)


async def at_once(seconds: float) -> None: ...


def test_a_reply_that_broke_off_is_paid_for_beside_the_one_that_came() -> None:
    cloud, account = Breaking(words="ten words " * 50), Account()
    heard = hear(Retrying(paying(cloud, account), accepted=True, sleep=at_once), 100)
    calls = [event for event in heard if isinstance(event, Called)]
    assert [call.stop for call in calls] == ["error", "end"] and len(cloud.asked) == 2
    assert calls[0].usd is not None and calls[0].usd > 0.01
    assert account.usd == pytest.approx(sum(call.usd or 0.0 for call in calls))


# --- what is counted where nobody looks at events ------------------------------------------------


def drop(event: Event) -> None:
    """Let nobody know."""


def test_a_reply_carries_its_bill_with_what_broke_off() -> None:
    cloud, account = Breaking(words="ten words " * 50), Account()
    model = Retrying(paying(cloud, account), accepted=True, sleep=at_once)
    reply = asyncio.run(model(PROMPT, drop))
    assert [charge.stop for charge in reply.bill] == ["error", "end"]
    assert account.usd == pytest.approx(sum(charge.usd or 0.0 for charge in reply.bill))
    assert account.tokens == sum(charge.computed for charge in reply.bill)


def test_a_failed_call_brings_its_bill_on_its_error() -> None:
    account = Account()
    with pytest.raises(ModelError) as caught:
        asyncio.run(paying(Cloud(ModelError("gone"), "ten words " * 50), account)(PROMPT, drop))
    (charge,) = bill_of(caught.value)
    assert charge.stop == "error" and charge.usage.input == 1000 and charge.usage.output > 50
    assert (account.tokens, account.usd) == (charge.computed, charge.usd)


def test_a_call_that_runs_out_of_time_is_on_the_bill_of_the_error() -> None:
    worker = Worker(Clock(), waits=30)
    model = Metered(worker, account=Account(Budget(seconds=0.05)), count=lambda prompt: 1000)
    with pytest.raises(LimitError) as caught:
        asyncio.run(model(PROMPT, drop))
    (charge,) = bill_of(caught.value)
    assert charge.evaluated == 1000 and model.account.tokens == charge.computed > 1000


class Stutterer:
    """Repeats itself for ever, and answers once it may be livelier."""

    name = "stutterer"

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        while prompt.sampling.temperature is None:
            emit(Delta("the same words again " * 5))
            await asyncio.sleep(0)
        return Reply(Message("assistant", (Text("done"),)), "end", self.name, Usage(1000, 10))


def test_a_reply_that_was_stopped_because_it_repeats_itself_counts() -> None:
    metered = Metered(Stutterer(), count=lambda prompt: 1000)
    reply = asyncio.run(Watched(metered)(PROMPT, drop))
    stopped, answered = reply.bill
    assert (stopped.stop, answered.stop) == ("error", "end") and stopped.usage.output > 100
    assert metered.account.tokens == stopped.computed + answered.computed


def test_calls_that_only_count_a_prompt_count_too() -> None:
    """A server whose count is in doubt is asked for it part by part."""

    @dataclass
    class Doubtful:
        asked: list[str] = field(default_factory=list)
        name: str = "doubtful"

        async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
            self.asked.append(prompt.purpose)
            tokens = 10 + sum(len(message.text) for message in prompt.messages) // 5
            return Reply(Message("assistant", (Text("ok"),)), "end", "m", Usage(tokens, 1))

    server, told = Doubtful(), list[Event]()
    counter = Counter(window=65_536, ratio=2.0)
    model = Metered(Verified(server, counter, recounts=True))
    prompt = Prompt("", (say("some words of a prompt " * 200),))
    reply = asyncio.run(model(prompt, told.append))
    counts, (last,) = reply.bill[:-1], reply.bill[-1:]
    assert len(counts) == server.asked.count("count") > 1 and last.purpose == "chat"
    assert model.account.tokens == sum(charge.computed for charge in reply.bill)
    calls = [event for event in told if isinstance(event, Called)]
    assert [call.purpose for call in calls] == [charge.purpose for charge in reply.bill]


def test_whoever_holds_a_model_is_given_every_charge_also_where_it_fails() -> None:
    charges = list[Charge]()
    asyncio.run(Billed(paying(Cloud(), Account()), charges.append)(PROMPT, drop))
    with pytest.raises(ModelError):
        asyncio.run(
            Billed(paying(Cloud(ModelError("gone"), "words"), Account()), charges.append)(PROMPT, drop)
        )
    assert [charge.stop for charge in charges] == ["end", "error"]


def test_hope_is_lost_by_the_bill_of_calls_that_nobody_was_told_of() -> None:
    model = Hopeful(paying(Cloud(), Account()), Habits(window=1000), purpose="chat")
    asyncio.run(model(PROMPT, drop))
    with pytest.raises(HopelessError, match="window"):
        asyncio.run(model(PROMPT, drop))


def test_no_wrapper_but_the_meter_knows_the_event_of_a_call() -> None:
    """Who reads it on its way to the log decides by what was meant to be told."""
    folder = Path(wrappers.__file__).parent
    knowing = [file.name for file in folder.glob("*.py") if "Called" in file.read_text(encoding="utf-8")]
    assert knowing == ["metered.py"]


def test_a_step_pays_from_the_account_of_its_task() -> None:
    task = Account(Budget(tokens=100, usd=1.0), paid=0.25)
    step = task.step(Budget(tokens=10))
    step.take(Charge("m", "edit", Usage(5, 5), 5, usd=0.5))
    assert (task.usd, task.tokens, step.usd, step.tokens) == (0.75, 0, 0.75, 10)
    assert step.is_spent and not task.is_spent and step.budget.usd == 1.0
