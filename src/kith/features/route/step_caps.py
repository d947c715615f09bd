"""Learn after how many steps a model's run is no longer worth its price."""

import random
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from kith.features.measure.rows import LegRow

# Runs that fail tend to be the long ones, and most of the spending goes into them. Where models stop by
# themselves a cap saves nothing. So the cap that would have been worth most is sought in a model's own runs.
# The runs that a cap has stopped tell only that they went so far: taken for failures, they would lower the
# next cap, and that one the next.

_ENOUGH: Final = 10  # successful runs, from which on a cap can be learned
_LEAST: Final = 12  # steps that any run may take
_DOUBT: Final = 3.0  # runs, as good as the usual one, that are believed to come beyond the longest
_DRAWS: Final = 40
_SURE: Final = 0.8  # a cap is set where it is worth more with at least this chance


class Stakes(NamedTuple):
    """In solved tasks: what is won where a model solves a task itself, and what each of its steps costs.

    Where it does not, another one is asked: `gain` is the chance that this one fails, and its price.
    """

    gain: float
    step: float


class PastRun(NamedTuple):
    """A run's steps; `cut`: it was stopped, and nobody knows if it would have solved its task."""

    steps: int
    solved: bool = False
    cut: bool = False


class StepRange(Struct, frozen=True):
    """All that is known of a model's runs at one kind of work, the shortest first."""

    runs: tuple[PastRun, ...] = ()

    @classmethod
    def of(cls, rows: Iterable[LegRow], model: str, kind: str, digest: str = "") -> "StepRange":
        """Read the runs of a model; under another digest it is another one."""
        own = (row for row in rows if row.steps and row.model == model and row.kind == kind)
        known = (row for row in own if row.solved is not None and (not digest or row.digest == digest))
        return cls(tuple(sorted(PastRun(row.steps, bool(row.solved), row.cut) for row in known)))

    @property
    def mean(self) -> float:
        """The mean number of steps; 0.0 without runs."""
        return sum(run.steps for run in self.runs) / len(self.runs) if self.runs else 0.0

    def cap(self, stakes: Stakes, rng: random.Random) -> int:
        """The steps beyond which a run is hardly worth its price; 0: no number is sure enough.

        How sure it is comes from the same runs, weighed differently in each draw (D. Rubin, The Bayesian
        bootstrap, 1981).
        """
        solved = sum(run.solved for run in self.runs)
        if solved < _ENOUGH:
            return 0
        share, longest = solved / len(self.runs), self.runs[-1].steps
        runs = (*self.runs, PastRun(longest), PastRun(longest, solved=True))
        doubts = [_DOUBT * (1 - share), _DOUBT * share]
        caps = _worths(runs, [1.0] * len(self.runs) + doubts, stakes)
        best = max(caps, key=lambda steps: (caps[steps], steps))
        if best == longest:
            return 0
        better = 0
        for _ in range(_DRAWS):
            drawn = _worths(runs, [rng.expovariate(1.0) for _ in self.runs] + doubts, stakes)
            better += drawn[best] > drawn[longest]
        return max(_LEAST, best) if better >= _SURE * _DRAWS else 0


def _worths(runs: Sequence[PastRun], weights: Sequence[float], stakes: Stakes) -> dict[int, float]:
    """The worth of a cap at each run's steps: what is solved up to there, less the steps until then."""
    moved = _move_on(runs, weights)
    left, before, solved, taken = sum(moved), 0, 0.0, 0.0
    worths: dict[int, float] = {}
    for run, weight in zip(runs, moved, strict=True):
        taken += left * (run.steps - before)
        solved += weight * run.solved
        worths[run.steps] = stakes.gain * solved - stakes.step * taken  # the last one of equal length holds
        left, before = left - weight, run.steps
    return worths


def _move_on(runs: Sequence[PastRun], weights: Sequence[float]) -> list[float]:
    """The weights, those of cut runs given to the longer ones: they would have ended as these did.

    B. Efron, The two sample problem with censored data, 1967 (redistribution to the right).
    """
    moved, factor, left = list[float](), 1.0, sum(weights)
    for run, weight in zip(runs, weights, strict=True):
        rest = left - weight
        if run.cut and rest > 0:
            moved.append(0.0)
            factor *= left / rest
        else:
            moved.append(weight * factor)
        left = rest
    return moved
