"""Learn after how much effort a model's run is no longer worth its price."""

import random
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from kith.features.measure.rows import LegRow

# Runs that fail tend to be the long ones, and most of the spending goes into them. Where models stop by
# themselves a cap saves nothing. So the cap that would have been worth most is sought in a model's own runs.
# The runs that a cap has stopped tell only that they went so far: taken for failures, they would lower the
# next cap, and that one the next.

READ_WEIGHT: Final = 1 / 20  # of a prompt token that is computed, where the model's speeds are unknown
_STEP_TOKENS: Final = 400.0  # effort of a step, where nobody knows any tokens of the model
_ENOUGH: Final = 10  # successful runs, from which on a cap can be learned
LEAST_STEPS: Final = 12  # that any run may take
_DOUBT: Final = 3.0  # runs, as good as the usual one, that are believed to come beyond the longest
_DRAWS: Final = 40
_SURE: Final = 0.8  # a cap is set where it is worth more with at least this chance


def read_weight(read_rate: float, write_rate: float) -> float:
    """The effort of reading a token, in written ones, from a model's speeds (tokens/s; 0: unknown)."""
    return min(1.0, write_rate / read_rate) if read_rate > 0 and write_rate > 0 else READ_WEIGHT


def effort_of(written: int, evaluated: int, weight: float = READ_WEIGHT) -> float:
    """Weighted tokens: the `written` ones, and a share of the prompt tokens that were computed."""
    return written + weight * evaluated


class Stakes(NamedTuple):
    """In solved tasks: what is won where a model solves a task itself, and the price of a unit of effort.

    Where it does not, another one is asked: `gain` is the chance that this one fails, and its price.
    """

    gain: float
    unit: float


class PastRun(NamedTuple):
    """A run's effort; `cut`: it was stopped, and nobody knows if it would have solved its task."""

    effort: float
    solved: bool = False
    cut: bool = False


class EffortRange(Struct, frozen=True):
    """All that is known of a model's runs at one kind of work, the shortest first.

    `step`: the mean effort of a step.
    """

    runs: tuple[PastRun, ...] = ()
    step: float = _STEP_TOKENS

    @classmethod
    def of(
        cls, rows: Iterable[LegRow], model: str, kind: str, digest: str = "", weight: float = READ_WEIGHT
    ) -> "EffortRange":
        """Read the runs of a model; under another digest it is another one.

        A run whose tokens are unknown counts by its steps.
        """
        own = (row for row in rows if row.steps and row.model == model and row.kind == kind)
        known = [row for row in own if row.solved is not None and (not digest or row.digest == digest)]
        efforts = [effort_of(row.usage.output, row.evaluated, weight) for row in known]
        steps = sum(row.steps for row, effort in zip(known, efforts, strict=True) if effort)
        step = sum(efforts) / steps if steps else _STEP_TOKENS
        runs = (
            PastRun(effort or row.steps * step, bool(row.solved), row.cut)
            for row, effort in zip(known, efforts, strict=True)
        )
        return cls(tuple(sorted(runs)), step)

    @property
    def mean(self) -> float:
        """The mean effort of a run; 0.0 without runs."""
        return sum(run.effort for run in self.runs) / len(self.runs) if self.runs else 0.0

    def cap(self, stakes: Stakes, rng: random.Random) -> float:
        """The effort beyond which a run is hardly worth its price; 0.0: no number is sure enough.

        How sure it is comes from the same runs, weighed differently in each draw (D. Rubin, The Bayesian
        bootstrap, 1981).
        """
        solved = sum(run.solved for run in self.runs)
        if solved < _ENOUGH:
            return 0.0
        share, longest = solved / len(self.runs), self.runs[-1].effort
        runs = (*self.runs, PastRun(longest), PastRun(longest, solved=True))
        doubts = [_DOUBT * (1 - share), _DOUBT * share]
        caps = _worths(runs, [1.0] * len(self.runs) + doubts, stakes)
        best = max(caps, key=lambda effort: (caps[effort], effort))
        if best == longest:
            return 0.0
        better = 0
        for _ in range(_DRAWS):
            drawn = _worths(runs, [rng.expovariate(1.0) for _ in self.runs] + doubts, stakes)
            better += drawn[best] > drawn[longest]
        return max(LEAST_STEPS * self.step, best) if better >= _SURE * _DRAWS else 0.0


def _worths(runs: Sequence[PastRun], weights: Sequence[float], stakes: Stakes) -> dict[float, float]:
    """The worth of a cap at each run's effort: what is solved up to there, less the effort until then."""
    moved = _move_on(runs, weights)
    left, before, solved, taken = sum(moved), 0.0, 0.0, 0.0
    worths: dict[float, float] = {}
    for run, weight in zip(runs, moved, strict=True):
        taken += left * (run.effort - before)
        solved += weight * run.solved
        worths[run.effort] = stakes.gain * solved - stakes.unit * taken  # the last one of equal length holds
        left, before = left - weight, run.effort
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
