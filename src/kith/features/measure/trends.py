"""What is different now: the last calls and tasks against those before, and what changed around a model."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeVar

from kith.features.measure.intervals import VERY_SURE, Interval, Spread, differ, share_difference, share_of
from kith.features.measure.rows import CallRow, LegRow
from kith.features.measure.speeds import read_rate, write_rate

LAST: Final = 30  # calls or tasks that count as now
_LEAST: Final = 6  # values on each side, with fewer of which nothing can be said
_WORTH: Final = 0.1  # a speed that differs by less is not worth a word
_READS: Final = "read tokens/s"
_WRITES: Final = "write tokens/s"
# What is looked at of each call, and whether more of it is better.
_FIGURES: Final[dict[str, tuple[Callable[[CallRow], float | None], bool]]] = {
    _READS: (read_rate, True),
    _WRITES: (write_rate, True),
    "first token s": (lambda call: call.timing.first_token_s or None, False),
}
# What may change around a model that keeps its name.
_AROUND: Final = ("digest", "quantisation", "window", "machine")

Row = TypeVar("Row", CallRow, LegRow)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Trend:
    """A figure of a model: its last values against all before (medians, or shares of solved tasks).

    `real`: they differ more than chance lets 99 of 100 such figures, since many are looked at side by side;
    `better`: in which direction, None where nothing is told apart.
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


@dataclass(frozen=True, slots=True)
class Shift:
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
    for model, own in _by_model(call for call in calls if not call.error).items():
        for what, (measure, more) in _FIGURES.items():
            values = [(call.at, value) for call in own if (value := measure(call)) is not None]
            found.append(_of_values(model, what, values, more))
    for model, parts in _by_model(leg for leg in legs if leg.solved is not None).items():
        found.append(_of_shares(model, [(leg.at, bool(leg.solved)) for leg in parts]))
        found.append(_of_values(model, "seconds a task", [(leg.at, leg.seconds) for leg in parts], False))
    return tuple(sorted(filter(None, found), key=lambda trend: trend.model))


def find_shifts(calls: Sequence[CallRow], trends: Iterable[Trend] = ()) -> tuple[Shift, ...]:
    """What changed around each model, and speeds that really fell, in the order of time."""
    found = []
    for model, own in _by_model(calls).items():
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


def _by_model(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.model].append(row)
    return found
