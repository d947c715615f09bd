"""What counts say about a chance: counts that forget, Beta posteriors, and the interval that a person sees."""

import math
import random
from typing import NamedTuple


class Beta(NamedTuple):
    """A belief about a chance: as if `a` successes and `b` failures had been seen."""

    a: float
    b: float

    @property
    def mean(self) -> float:
        return self.a / (self.a + self.b)

    def draw(self, rng: random.Random) -> float:
        return rng.betavariate(self.a, self.b)


class Count(NamedTuple):
    """How much evidence there is (`seen`, in tasks) and how much of it speaks for success (`good`)."""

    good: float = 0.0
    seen: float = 0.0

    def plus(self, reward: float, weight: float = 1.0, keep: float = 1.0) -> "Count":
        """With one more outcome of 0..1; what was known before still counts `keep` of what it did."""
        return Count(keep * self.good + weight * reward, keep * self.seen + weight)

    def belief(self, mean: float, mass: float) -> Beta:
        """The posterior, where `mean` was expected and that is worth `mass` tasks."""
        return Beta(self.good + mass * mean, self.seen - self.good + mass * (1 - mean))


def wilson(count: Count, z: float = 1.96) -> tuple[float, float]:
    """Wilson's score interval for a share, 95 % unless `z` says otherwise; (0, 1) where nothing was seen."""
    good, seen = count
    if seen <= 0:
        return 0.0, 1.0
    share, z2 = good / seen, z * z
    middle = share + z2 / (2 * seen)
    half = z * math.sqrt(max(0.0, share * (1 - share) / seen + z2 / (4 * seen * seen)))
    return max(0.0, (middle - half) / (1 + z2 / seen)), min(1.0, (middle + half) / (1 + z2 / seen))


def logit(p: float) -> float:
    return math.log(p / (1 - p))


def chance(logit: float) -> float:
    """The inverse of `logit`."""
    return 1 / (1 + math.exp(-logit))
