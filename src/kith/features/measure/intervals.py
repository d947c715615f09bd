"""Compute the certainty of figures: intervals from counts, fading counts, and Beta distributions."""

import math
import random
from collections.abc import Sequence
from math import sqrt
from typing import Final, NamedTuple

from msgspec import Struct

Interval = tuple[float, float]

SURE, VERY_SURE = 1.959964, 2.575829  # standard deviations on each side, for 95 and for 99 of 100
_TAIL: Final = 0.025  # that may lie beyond each bound
_MANY: Final = 400  # values, from which on the normal distribution stands for the binomial one


class Share(Struct, frozen=True):
    """So many good ones of a number, and where the true share lies with 95 % confidence."""

    good: int = 0
    number: int = 0

    @property
    def share(self) -> float | None:
        return self.good / self.number if self.number else None

    @property
    def interval(self) -> Interval | None:
        return wilson(self.good, self.number)


class Spread(Struct, frozen=True):
    """Measured values in four figures; `interval` is that of the median, None where they are too few."""

    number: int = 0
    median: float | None = None
    interval: Interval | None = None
    p90: float | None = None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        ordered = sorted(values)
        if not ordered:
            return cls()
        return cls(len(ordered), quantile(ordered, 0.5), median_interval(ordered), quantile(ordered, 0.9))


def share_of(verdicts: Sequence[bool]) -> Share:
    """The share of the yeses."""
    return Share(sum(verdicts), len(verdicts))


def wilson(good: float, number: float, z: float = SURE) -> Interval | None:
    """The interval of a share, of 95 % for z = 1.96; None without any observation. Counts may be weighted.

    Wilson's score interval: E. B. Wilson, Probable inference, JASA 22 (1927).
    """
    if number <= 0:
        return None
    share, spread = good / number, z**2 / number
    middle = (share + spread / 2) / (1 + spread)
    half = z * sqrt(share * (1 - share) / number + spread / (4 * number)) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def share_difference(before: Share, after: Share, z: float = SURE) -> Interval | None:
    """The interval of `after` minus `before`, of 95 % for z = 1.96; None where one has no observation.

    Method 10 of R. G. Newcombe, Interval estimation for the difference between independent proportions,
    Statistics in Medicine 17 (1998): Wilson's intervals, squared and added.
    """
    was, now = wilson(before.good, before.number, z), wilson(after.good, after.number, z)
    if was is None or now is None:
        return None
    one, two = before.good / before.number, after.good / after.number
    below = sqrt((two - now[0]) ** 2 + (was[1] - one) ** 2)
    above = sqrt((now[1] - two) ** 2 + (one - was[0]) ** 2)
    return two - one - below, two - one + above


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which a share of the sorted values lies, between two of them where need be."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def median_interval(ordered: Sequence[float]) -> Interval | None:
    """The 95 % interval of the median of sorted values; None for fewer than six, which cannot tell.

    Two of the values themselves: each lies below the true median as often as a coin falls on one side
    (W. R. Thompson, On confidence ranges for the median, Annals of Mathematical Statistics 7, 1936).
    """
    number = len(ordered)
    if number > _MANY:
        rank = int((number - SURE * sqrt(number)) / 2)
    else:
        chance, below, rank = 0.5**number, 0.0, 0
        while below + chance <= _TAIL:
            below += chance
            chance *= (number - rank) / (rank + 1)
            rank += 1
    return (ordered[rank - 1], ordered[number - rank]) if rank else None


def differ(one: Spread, two: Spread) -> bool:
    """True if two medians really differ: their 95 % intervals do not overlap.

    That is stricter than 95 of 100, since many figures are compared side by side.
    """
    if not one.interval or not two.interval:
        return False
    return one.interval[1] < two.interval[0] or two.interval[1] < one.interval[0]


# What counts say about a chance: counts that forget, and beliefs as Beta distributions.


class Beta(NamedTuple):
    """A belief about a chance, as if `a` successes and `b` failures had been seen."""

    a: float
    b: float

    @property
    def mean(self) -> float:
        return self.a / (self.a + self.b)

    @property
    def mass(self) -> float:
        return self.a + self.b

    def draw(self, rng: random.Random) -> float:
        """A chance as likely as it is believed."""
        return rng.betavariate(self.a, self.b)

    def narrowed(self, times: float) -> "Beta":
        """The same mean, believed as if `times` as much had been seen."""
        return Beta(self.a * times, self.b * times)


class Count(NamedTuple):
    """The number of outcomes seen, and of good ones."""

    good: float = 0.0
    seen: float = 0.0

    @property
    def interval(self) -> Interval:
        """Of the share of good ones, of 95 %; everything is possible where nothing was seen."""
        return wilson(self.good, self.seen) or (0.0, 1.0)

    def plus(self, reward: float, weight: float = 1.0, keep: float = 1.0) -> "Count":
        """With one more outcome of 0..1; what was seen before still counts `keep` of what it did."""
        return Count(keep * self.good + weight * reward, keep * self.seen + weight)

    def less(self, part: "Count") -> "Count":
        """Subtract a part; never below zero, as each count fades at its own pace."""
        good = max(0.0, self.good - part.good)
        return Count(good, max(good, self.seen - part.seen))

    def belief(self, mean: float, mass: float) -> Beta:
        """Combine with a prior of mean `mean`, worth `mass` outcomes."""
        return Beta(self.good + mass * mean, self.seen - self.good + mass * (1 - mean))


def logit(chance: float) -> float:
    return math.log(chance / (1 - chance))


def chance_of(logit: float) -> float:
    """The inverse of `logit`."""
    return 1 / (1 + math.exp(-logit))
