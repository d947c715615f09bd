"""Define a benchmark's result for one model on one machine: plain figures, for card and log."""

from collections.abc import Mapping, Sequence
from statistics import stdev
from typing import Any, Final, Literal

from msgspec import Struct, convert, to_builtins

from kith.features.measure.intervals import Share

CARD_KEY: Final = "bench"  # on a model's card: its last run


class BenchSpeed(Struct, frozen=True):
    """Speed behind `depth` tokens that were there already: tokens a second, one figure for each time.

    `read` is of `new` tokens, `written` of the reply's. `by`: the server measured it, or our own clock.
    """

    depth: int
    new: int
    read: tuple[float, ...]
    out: int
    written: tuple[float, ...]
    by: str = "server"


Lack = Literal["time", "window", "price", "trouble"]


class LeftDepth(Struct, frozen=True):
    """A depth at which no speed was measured, and why: "price" where each token of a prompt is paid.

    `needed_s`: the seconds that it would have taken. `trouble`: what its server said.
    """

    depth: int
    why: Lack
    needed_s: float = 0.0
    trouble: str = ""


class TriedExercise(Struct, frozen=True):
    """One thing that was tried: `why` it went wrong ("": it did not), and the seconds and tokens it took."""

    name: str
    why: str = ""
    seconds: float = 0.0
    tokens: int = 0


class Score(Struct, frozen=True):
    """Things of one sort. `left`: how many there was no time for, or `skipped` says why none was tried.

    `needed_s`: about how long the next one would have taken (0.0: unknown). `trouble`: what the server said
    that ended it, else "".
    """

    name: str
    tried: tuple[TriedExercise, ...] = ()
    left: int = 0
    skipped: str = ""
    needed_s: float = 0.0
    trouble: str = ""

    @property
    def share(self) -> Share:
        return Share(sum(not each.why for each in self.tried), len(self.tried))


class BenchResult(Struct, frozen=True):
    """One run. `window` in tokens; `at` in seconds since the epoch; `seconds` is how long it took."""

    model: str
    machine: str
    at: float = 0.0
    seconds: float = 0.0
    digest: str = ""
    window: int = 0
    quantisation: str = ""
    parameters: str = ""
    speeds: tuple[BenchSpeed, ...] = ()
    scores: tuple[Score, ...] = ()
    session: str = ""
    notes: tuple[str, ...] = ()  # what else was not measured, and why
    left_depths: tuple[LeftDepth, ...] = ()

    @property
    def facts(self) -> dict[str, Any]:
        """As plain data."""
        data: dict[str, Any] = to_builtins(self)
        return data

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "BenchResult":
        """Read the output of `facts`. Raises ValueError for anything else."""
        return convert(facts, cls)


def mean(values: Sequence[float]) -> float:
    """The mean; 0.0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of a sample; 0.0 of fewer than two."""
    return stdev(values) if len(values) > 1 else 0.0
