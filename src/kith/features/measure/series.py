"""What was measured, as it is drawn: speeds in bins of time, cache and cost by period, plans."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import Final

from kith.features.measure.intervals import Share, quantile
from kith.features.measure.rows import CallRow, LegRow

_BINS: Final = 32  # at most, of one line
_DAY_S: Final = 86_400
_FEW_DAYS: Final = 62


@dataclass(frozen=True, slots=True)
class Bin:
    """The values of one part of the time: its middle moment, how many, their median and quartiles."""

    at: float
    number: int
    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Cached:
    """One period of a model: prompt tokens that were sent, and those of them that had to be computed."""

    at: float
    input: int
    computed: int

    @property
    def share(self) -> float:
        """Of the tokens sent, the part that came from the cache."""
        return max(0, self.input - self.computed) / self.input


@dataclass(frozen=True, slots=True)
class Paid:
    """One period's dollars, by model; `unpriced` counts calls whose price nobody knows."""

    at: float
    usd: dict[str, float] = field(default_factory=dict)
    unpriced: int = 0


@dataclass(frozen=True, slots=True)
class Planned:
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


def count_plans(legs: Iterable[LegRow]) -> tuple[Planned, ...]:
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
    found = [Planned(plan, *counts) for plan, counts in sums.items()]
    return tuple(sorted(found, key=lambda each: (-each.number, each.plan)))
