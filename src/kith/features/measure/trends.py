"""Find changes in measurements: binned over time for plots, and the latest against those before."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import cache
from itertools import pairwise
from typing import Final, TypeVar

from msgspec import Struct, field

from kith.features.measure.intervals import (
    VERY_SURE,
    Interval,
    Share,
    Spread,
    differ,
    quantile,
    share_difference,
    share_of,
)
from kith.features.measure.rows import CallRow, LegRow, by_model
from kith.features.measure.speed_and_success import first_token_s, read_rate, write_rate

LAST: Final = 30  # calls or tasks that count as now
_LEAST: Final = 6  # values on each side, with fewer of which nothing can be said
_WORTH: Final = 0.1  # a speed that differs by less is not worth a word
_READS: Final = "read tokens/s"
_WRITES: Final = "write tokens/s"
# What is looked at of each call, and whether more of it is better.
_FIGURES: Final[dict[str, tuple[Callable[[CallRow], float | None], bool]]] = {
    _READS: (read_rate, True),
    _WRITES: (write_rate, True),
    "first token s": (lambda call: first_token_s(call) or None, False),
}
# What may change around a model that keeps its name.
_AROUND: Final = ("digest", "quantisation", "window", "machine")

Value = TypeVar("Value")


class Trend(Struct, frozen=True):
    """A figure of a model: its last values against all before (medians, or shares of solved tasks).

    `real`: they differ more than chance allows in 99 of 100 such figures, since many are compared side by
    side. `better`: the direction, None where they cannot be told apart.
    """

    model: str
    what: str
    before: float
    last: float
    numbers: tuple[int, int]
    before_interval: Interval | None
    last_interval: Interval | None
    real: bool
    better: bool | None
    since: float  # seconds of the epoch, of the first of the last


class Shift(Struct, frozen=True):
    """Something about a model became otherwise, at a moment (seconds of the epoch).

    `sudden`: at that very moment; else it was so for the last values, of which this is the first.
    """

    at: float
    model: str
    what: str
    before: str
    after: str
    sudden: bool = True


def find_trends(calls: Iterable[CallRow], legs: Iterable[LegRow]) -> tuple[Trend, ...]:
    """The figures of every model of which there are enough values, both rows in the order of time."""
    found = []
    for model, own in by_model(call for call in calls if not call.error).items():
        for what, (measure, more) in _FIGURES.items():
            values = [(call.at, value) for call in own if (value := measure(call)) is not None]
            found.append(_of_values(model, what, values, more))
    for model, parts in by_model(leg for leg in legs if leg.solved is not None).items():
        found.append(_of_shares(model, [(leg.at, bool(leg.solved)) for leg in parts]))
        found.append(_of_values(model, "seconds a task", [(leg.at, leg.seconds) for leg in parts], False))
    return tuple(sorted(filter(None, found), key=lambda trend: trend.model))


def find_shifts(calls: Sequence[CallRow], trends: Iterable[Trend] = ()) -> tuple[Shift, ...]:
    """Find changes of a model's setup, and real drops in speed, in order of time."""
    found = []
    for model, own in by_model(calls).items():
        for what in _AROUND:
            known = [(call.at, str(getattr(call, what))) for call in own if getattr(call, what)]
            for (_, before), (at, after) in pairwise(known):
                if before != after:
                    found.append(Shift(at, model, what, before, after))
    for trend in trends:
        if trend.real and trend.better is False and trend.what in (_READS, _WRITES):
            before, last = f"{trend.before:.1f}", f"{trend.last:.1f}"
            found.append(Shift(trend.since, trend.model, trend.what, before, last, False))
    return tuple(sorted(found, key=lambda shift: shift.at))


def _of_values(model: str, what: str, values: Sequence[tuple[float, float]], more: bool) -> Trend | None:
    before, last = _parted(values)
    if not before or not last:
        return None
    was, now = Spread.of([value for _, value in before]), Spread.of([value for _, value in last])
    assert was.median is not None and now.median is not None
    real = differ(was, now) and abs(now.median - was.median) > _WORTH * was.median
    better = (now.median > was.median) == more if real else None
    numbers = (was.number, now.number)
    return Trend(
        model, what, was.median, now.median, numbers, was.interval, now.interval, real, better, last[0][0]
    )


def _of_shares(model: str, values: Sequence[tuple[float, bool]]) -> Trend | None:
    before, last = _parted(values)
    if not before or not last:
        return None
    was, now = share_of([value for _, value in before]), share_of([value for _, value in last])
    bounds = share_difference(was, now, VERY_SURE)
    assert bounds is not None and was.share is not None and now.share is not None
    real = bounds[0] > 0 or bounds[1] < 0
    better = now.share > was.share if real else None
    numbers = (was.number, now.number)
    return Trend(
        model, "solved", was.share, now.share, numbers, was.interval, now.interval, real, better, last[0][0]
    )


def _parted(
    values: Sequence[tuple[float, Value]],
) -> tuple[Sequence[tuple[float, Value]], Sequence[tuple[float, Value]]]:
    """Those before and the last ones; none where one side has too few to compare."""
    before, last = values[:-LAST], values[-LAST:]
    return (before, last) if len(before) >= _LEAST else ((), ())


# What was measured, as it is drawn: speeds in bins of time, cache and cost by period, plans.

_BINS: Final = 32  # at most, of one line
_DAY_S: Final = 86_400
_FEW_DAYS: Final = 62


class Bin(Struct, frozen=True):
    """The values of one part of the time: its middle moment, how many, their median and quartiles."""

    at: float
    number: int
    median: float
    low: float
    high: float


class Cached(Struct, frozen=True):
    """One period of a model: prompt tokens that were sent, and those of them that had to be computed."""

    at: float
    input: int
    computed: int

    @property
    def share(self) -> float:
        """Of the tokens sent, the part that came from the cache."""
        return max(0, self.input - self.computed) / self.input


class Paid(Struct, frozen=True):
    """One period's dollars, by model; `unpriced` counts calls whose price nobody knows."""

    at: float
    usd: dict[str, float] = field(default_factory=dict)
    unpriced: int = 0


class PlannedBuild(Struct, frozen=True):
    """A plan (which models, one after the other), and what became of the pieces of work that followed it.

    `relayed`: another model than the first had to take over.
    """

    plan: tuple[str, ...]
    number: int
    solved: int
    failed: int
    relayed: int

    @property
    def unknown(self) -> int:
        return self.number - self.solved - self.failed

    @property
    def share(self) -> Share:
        return Share(self.solved, self.solved + self.failed)


def bin_values(points: Iterable[tuple[float, float]], most: int = _BINS) -> tuple[Bin, ...]:
    """Values over time (moment, value) in bins of one duration, the earliest first; empty ones left out."""
    ordered = sorted(points)
    if not ordered:
        return ()
    first, last = ordered[0][0], ordered[-1][0]
    wide = (last - first) / most or 1.0
    cells: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for at, value in ordered:
        cells[min(int((at - first) / wide), most - 1)].append((at, value))
    return tuple(map(_bin, cells.values()))


def _bin(cell: Sequence[tuple[float, float]]) -> Bin:
    values = sorted(value for _, value in cell)
    low, middle, high = (quantile(values, share) for share in (0.25, 0.5, 0.75))
    return Bin(cell[len(cell) // 2][0], len(cell), middle, low, high)


def period_of(calls: Sequence[CallRow]) -> int:
    """Days that are told together, of calls in the order of time: one, or more where there would be many."""
    span = (calls[-1].at - calls[0].at) / _DAY_S if calls else 0.0
    return 1 if span <= _FEW_DAYS else 7 if span <= 7 * _FEW_DAYS else 30


def cached_by(calls: Iterable[CallRow], days: int) -> tuple[Cached, ...]:
    """The periods of so many days in which prompts were sent."""
    sums: dict[float, list[int]] = defaultdict(lambda: [0, 0])
    for call in calls:
        if call.usage.input and not call.error:
            period = sums[_beginning(call.at, days)]
            period[0] += call.usage.input
            period[1] += call.evaluated
    return tuple(Cached(at, *sums[at]) for at in sorted(sums))


def paid_by(calls: Iterable[CallRow], days: int) -> tuple[Paid, ...]:
    """The periods of so many days in which anything was paid, or it is not known what was."""
    usd: dict[float, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    unpriced: Counter[float] = Counter()
    for call in calls:
        if call.usd:
            usd[_beginning(call.at, days)][call.model] += call.usd
        elif call.usd is None and call.cloud and not call.error:
            unpriced[_beginning(call.at, days)] += 1
    return tuple(Paid(at, dict(usd[at]), unpriced[at]) for at in sorted(usd.keys() | unpriced.keys()))


def _beginning(at: float, days: int) -> float:
    """The first moment of a moment's period, by this machine's clock; weeks begin on Mondays."""
    local = time.localtime(at)
    number = date(local.tm_year, local.tm_mon, local.tm_mday).toordinal()
    return _day_begins(number - (number - 1) % days)


@cache
def _day_begins(number: int) -> float:
    return time.mktime(date.fromordinal(number).timetuple())


def count_plans(legs: Iterable[LegRow]) -> tuple[PlannedBuild, ...]:
    """Every plan that was followed, the most frequent first. Work without a decision is left out."""
    works: dict[tuple[str, int, str], list[LegRow]] = defaultdict(list)
    for leg in legs:
        works[leg.session, leg.task, leg.part].append(leg)
    sums: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for parts in works.values():
        if plan := parts[0].plan:
            said = [leg.solved for leg in parts if leg.solved is not None]
            row = (1, bool(said and any(said)), bool(said and not any(said)), len(parts) > 1)
            sums[plan] = [one + more for one, more in zip(sums[plan], row, strict=True)]
    found = [PlannedBuild(plan, *counts) for plan, counts in sums.items()]
    return tuple(sorted(found, key=lambda each: (-each.number, each.plan)))
