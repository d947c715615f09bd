"""What counts say about a chance: counts that forget, and beliefs as Beta distributions."""

import math
import random
from typing import NamedTuple

from kith.features.measure.intervals import Interval, wilson


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
    """How much was seen, in outcomes, and how much of it was good."""

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
        """What is left without a part of it; never below nothing, as each forgets at its own pace."""
        good = max(0.0, self.good - part.good)
        return Count(good, max(good, self.seen - part.seen))

    def belief(self, mean: float, mass: float) -> Beta:
        """What to believe where `mean` was expected, which is worth `mass` outcomes."""
        return Beta(self.good + mass * mean, self.seen - self.good + mass * (1 - mean))


def logit(chance: float) -> float:
    return math.log(chance / (1 - chance))


def chance_of(logit: float) -> float:
    """The inverse of `logit`."""
    return 1 / (1 + math.exp(-logit))
