"""Two runs of a bench side by side: what is different, and what may as well be chance."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Final, Literal

from kith.features.measure.bench.result import BenchResult, Score, Speed, deviation, mean
from kith.features.measure.intervals import Interval, share_difference

Finding = Literal["better", "worse", "no difference shown", "one value each"]
# Student's t for 95 of 100, by degrees of freedom; further on that of ten will do.
_T: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of both runs. Of speeds `change` is a factor, of scores a difference of shares (0 to 1).

    `interval`: where the change lies with 95 % confidence, None where nothing tells.
    """

    name: str
    before: float
    after: float
    change: float
    interval: Interval | None
    finding: Finding
    unit: Literal["tokens/s", "share"]
    counts: tuple[str, str] = ("", "")  # "5 of 8", for scores


def compare(before: BenchResult, after: BenchResult) -> tuple[Line, ...]:
    """Every figure that both runs have."""
    lines = list(_speed_lines(before.speeds, after.speeds))
    later = {score.name: score for score in after.scores}
    lines += [
        _score_line(score, later[score.name])
        for score in before.scores
        if score.tried and score.name in later and later[score.name].tried
    ]
    return tuple(lines)


def flips(before: BenchResult, after: BenchResult) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What both runs tried and only the second one did, and what only the first one did."""
    one, two = _outcomes(before), _outcomes(after)
    both = [name for name in one if name in two]
    gained = tuple(name for name in both if two[name] and not one[name])
    lost = tuple(name for name in both if one[name] and not two[name])
    return gained, lost


def _outcomes(run: BenchResult) -> dict[str, bool]:
    return {f"{score.name}: {each.name}": not each.why for score in run.scores for each in score.tried}


def _speed_lines(before: tuple[Speed, ...], after: tuple[Speed, ...]) -> Iterator[Line]:
    # Tokenizers differ: the depths are those that were asked for, one after the other.
    for one, two in zip(before, after, strict=False):
        where = f"at {one.depth:,}"
        if one.read and two.read:
            yield _rate_line(f"reads {where}", one.read, two.read)
        if one.written and two.written:
            yield _rate_line(f"writes {where}", one.written, two.written)


def _rate_line(name: str, one: tuple[float, ...], two: tuple[float, ...]) -> Line:
    before, after = mean(one), mean(two)
    interval = ratio_interval(one, two)
    finding: Finding = "one value each"
    if interval:
        finding = "better" if interval[0] > 1 else "worse" if interval[1] < 1 else "no difference shown"
    return Line(name, before, after, after / before, interval, finding, "tokens/s")


def _score_line(one: Score, two: Score) -> Line:
    before, after = one.share.share or 0.0, two.share.share or 0.0
    interval = share_difference(one.share, two.share)
    finding: Finding = "no difference shown"
    if interval:
        finding = "better" if interval[0] > 0 else "worse" if interval[1] < 0 else "no difference shown"
    counts = tuple(f"{each.share.good} of {each.share.number}" for each in (one, two))
    return Line(one.name, before, after, after - before, interval, finding, "share", (counts[0], counts[1]))


def ratio_interval(one: tuple[float, ...], two: tuple[float, ...]) -> Interval | None:
    """The 95 % interval of the second mean divided by the first; None for fewer than two values each.

    Of logarithms, by the delta method, with the degrees of freedom of both samples together.
    """
    if min(len(one), len(two)) < 2:
        return None
    spread = sqrt(sum((deviation(each) / mean(each)) ** 2 / len(each) for each in (one, two)))
    freedom = len(one) + len(two) - 2
    half = _T[min(freedom, len(_T)) - 1] * spread
    middle = log(mean(two) / mean(one))
    return exp(middle - half), exp(middle + half)
