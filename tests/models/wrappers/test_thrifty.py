"""Money: told with each call, and never more than a task and a day may cost."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.errors import LimitError, ModelError
from kith.core.events import Called, Delta, Event
from kith.core.model import Emit, Prompt
from kith.core.values import Message, Reply, Sampling, Text, Usage, say
from kith.models.providers.faults import BrokenReplyError
from kith.models.wrappers.limited import Budget, Limited, Spent
from kith.models.wrappers.metered import Metered
from kith.models.wrappers.priced import Priced
from kith.models.wrappers.retry import Retrying
from kith.models.wrappers.thrifty import Thrifty, longest_reply

PROMPT = Prompt("", (say("hi"),))
Money = Callable[[str, Usage], float | None]


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


def paying(cloud: Cloud, budget: Budget, spent: Spent, price: Money = cent_a_thousand) -> Limited:
    priced = Priced(Metered(cloud), price, lambda prompt: 1000)
    return Limited(Thrifty(priced, budget, spent, price, lambda prompt: 1000), budget, spent)


def ask(model: Limited, max_tokens: int | None = None) -> list[Event]:
    heard: list[Event] = []
    prompt = Prompt("", (say("hi"),), sampling=Sampling(max_tokens=max_tokens))
    asyncio.run(model(prompt, heard.append))
    return heard


def test_a_call_is_told_with_its_price() -> None:
    spent = Spent()
    (called,) = ask(paying(Cloud(), Budget(), spent), 100)
    assert isinstance(called, Called) and called.usd == pytest.approx(0.0125 + 0.005)
    assert spent.usd == pytest.approx(called.usd)


def test_where_no_price_is_known_none_is_told() -> None:
    (called,) = ask(paying(Cloud(), Budget(), Spent(), lambda *_: None))
    assert isinstance(called, Called) and called.usd is None


def test_what_a_cancelled_call_wrote_is_paid_for_by_estimate() -> None:
    spent, cloud = Spent(), Cloud(words="ten words " * 50, hangs=True)

    async def cancel() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await paying(cloud, Budget(), spent)(PROMPT, lambda event: None)

    asyncio.run(cancel())
    assert 0.01 < spent.usd < 0.02  # the prompt alone is a cent


def test_a_reply_that_broke_off_costs_and_a_refusal_does_not() -> None:
    for words, least, most in (("a few words", 0.01, 0.011), ("", 0.0, 0.0)):
        spent = Spent()
        with pytest.raises(ModelError):
            ask(paying(Cloud(ModelError("overloaded"), words), Budget(), spent))
        assert least <= spent.usd <= most


def test_a_call_that_might_go_over_is_refused_in_one_sentence() -> None:
    cloud, spent = Cloud(greed=0.01), Spent()
    spent.purse.paid = 0.4
    with pytest.raises(LimitError) as caught:
        ask(paying(cloud, Budget(usd=0.5), spent))
    assert str(caught.value) == (
        "stopped: the next call may cost $0.22, and of the $0.50 that a task may cost $0.40 is spent "
        "(max_task_usd)"
    )
    assert not cloud.asked
    spent = Spent(today=lambda: 1.95)
    with pytest.raises(LimitError, match=r"a day may cost \$1\.95 is spent \(max_day_usd\)"):
        ask(paying(cloud, Budget(day_usd=2.0), spent))


def test_where_only_a_shorter_reply_fits_it_is_asked_for() -> None:
    cloud, spent = Cloud(), Spent()
    ask(paying(cloud, Budget(usd=0.3), spent))
    (sampling,) = cloud.asked
    assert sampling.max_tokens and 4_096 <= sampling.max_tokens < 16_384
    assert spent.usd <= 0.3 and spent.purse.held == 0


def test_a_model_without_a_price_is_refused_only_under_a_limit() -> None:
    with pytest.raises(LimitError, match=r'prices\.toml beside your config\.toml: \["cloud/large"\]'):
        ask(paying(Cloud(), Budget(usd=1.0), Spent(), lambda *_: None))
    ask(paying(Cloud(), Budget(), Spent(), lambda *_: None))


def test_free_models_are_never_refused() -> None:
    cloud, spent = Cloud(), Spent()
    ask(paying(cloud, Budget(usd=0.0, day_usd=0.0), spent, lambda *_: 0.0))
    assert cloud.asked[0].max_tokens is None


@given(st.floats(0, 2), st.floats(0, 2), st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_no_sequence_of_answers_goes_over_a_limit(task: float, day: float, greeds: list[float]) -> None:
    spent = Spent()
    for greed in greeds:
        try:
            ask(paying(Cloud(greed=greed), Budget(usd=task, day_usd=day), spent))
        except LimitError:
            break
    assert spent.usd <= min(task, day) + 1e-9


def test_calls_at_once_share_what_is_left() -> None:
    cloud, spent = Cloud(), Spent()
    model = paying(cloud, Budget(usd=0.5), spent)

    async def all_at_once() -> list[Reply | BaseException]:
        calls = (model(PROMPT, lambda event: None) for _ in range(5))
        return await asyncio.gather(*calls, return_exceptions=True)

    results = asyncio.run(all_at_once())
    assert any(isinstance(each, LimitError) for each in results) and len(cloud.asked) < 5
    assert 0 < spent.usd <= 0.5 and abs(spent.purse.held) < 1e-9


def test_thoughts_that_come_on_top_are_held_against_the_limit_too() -> None:
    """A model that must think gets at least so many tokens for it, however short its reply may be."""
    for sampling in (Sampling(max_tokens=500, think=True), Sampling(max_tokens=500, think_tokens=100)):
        assert longest_reply(replace(PROMPT, sampling=sampling)) == 1_524
    assert longest_reply(replace(PROMPT, sampling=Sampling(max_tokens=500, think=False))) == 500


def test_a_reply_that_broke_off_is_paid_for_beside_the_one_that_came() -> None:
    @dataclass
    class Breaking(Cloud):
        async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
            self.failure = BrokenReplyError("broke off") if not self.asked else None
            return await Cloud.__call__(self, prompt, emit)

    async def at_once(seconds: float) -> None: ...

    cloud, spent = Breaking(words="ten words " * 50), Spent()
    metered = Metered(Retrying(cloud, sleep=at_once))
    priced = Priced(metered, cent_a_thousand, lambda prompt: 1000)
    heard = ask(Limited(priced, Budget(), spent), 100)
    calls = [event for event in heard if isinstance(event, Called)]
    assert [call.stop for call in calls] == ["error", "end"] and len(cloud.asked) == 2
    assert calls[0].usd is not None and calls[0].usd > 0.01
    assert spent.usd == pytest.approx(sum(call.usd or 0.0 for call in calls))
