"""What a run of a model takes, in money and time: means that forget, and how sure they are."""

import random
from typing import Final, NamedTuple

_EXPECTED_RUNS: Final = 5.0  # that an expectation is worth: runs differ widely, and one must not decide
_EXPECTED_SPREAD: Final = 0.1  # squared, as a share of the mean


class Taken(NamedTuple):
    """Sums over `runs`; `spread` sums the squares of how far each was off the mean, as shares of it."""

    runs: float = 0.0
    usd: float = 0.0
    seconds: float = 0.0
    spread: float = 0.0

    def plus(self, usd: float, seconds: float, keep: float = 1.0) -> "Taken":
        """With one more run; those before still count `keep` of what they did."""
        mean, value = (self.usd, usd) if self.usd else (self.seconds, seconds)
        off = value * self.runs / mean - 1 if mean else 0.0
        return Taken(
            keep * self.runs + 1,
            keep * self.usd + usd,
            keep * self.seconds + seconds,
            keep * self.spread + off * off,
        )

    def less(self, part: "Taken") -> "Taken":
        """What is left without a part of it, never below nothing."""
        return Taken(*(max(0.0, whole - some) for whole, some in zip(self, part, strict=True)))

    def estimate(self, expected: "Takes") -> "Takes":
        """What the next run takes, where `expected` was expected: a normal-inverse-gamma belief.

        That the runs took far more or less than was expected makes it less sure, as their spread does.
        """
        before = min(expected.runs, _EXPECTED_RUNS)
        runs = self.runs + before
        usd = (self.usd + before * expected.usd) / runs
        seconds = (self.seconds + before * expected.seconds) / runs
        mean, was = (usd, expected.usd) if usd else (seconds, expected.seconds)
        off = (mean - was) / max(mean, was) if mean else 0.0
        surprise = before * runs / self.runs * off * off if self.runs else 0.0
        return Takes(usd, seconds, (self.spread + before * expected.spread + surprise) / runs, runs)


class Takes(NamedTuple):
    """Expected dollars and seconds of one run, its relative variance, and how many runs that rests on."""

    usd: float
    seconds: float
    spread: float = _EXPECTED_SPREAD
    runs: float = _EXPECTED_RUNS

    def times(self, factor: float) -> "Takes":
        """So many times of it, as sure as before."""
        return self._replace(usd=self.usd * factor, seconds=self.seconds * factor)

    def doubt(self, rng: random.Random) -> float:
        """A factor for what is expected, as likely as the true mean is believed to be off by it."""
        return max(0.0, rng.gauss(1.0, (self.spread / self.runs) ** 0.5))
