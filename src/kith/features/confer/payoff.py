"""Whether councils pay: what they solved and cost, against the same sort of work done without one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

from kith.features.measure.rows import LegRow

ENOUGH: Final = 50  # councils of one kind, before they can be switched off
ENOUGH_WITHOUT: Final = 20  # tasks of that kind without a council
WORTH: Final = 0.2  # what the tokens of one usual task are worth, in solved tasks
_Z90: Final = 1.281552  # standard deviations below which 90 of 100 lie


@dataclass(frozen=True, slots=True)
class Finished:
    """One task that is over: its kind, whether it was solved, and the tokens it took (read and written)."""

    kind: str
    solved: bool
    tokens: int


@dataclass(frozen=True, slots=True)
class Payoff:
    """What councils brought for one kind: `gain` in solved tasks for each task, their tokens counted in.

    `upper`: the gain is below this with 90 % confidence. `pays` is False only when that is below zero.
    """

    kind: str
    councils: int
    others: int
    gain: float = 0.0
    upper: float = 1.0
    pays: bool = True

    @property
    def why(self) -> str:
        """The figures, in a sentence."""
        if not self.pays:
            seen = f"{self.councils} councils, {self.others} tasks without"
            gain = f"{self.gain:+.2f} solved for each task, tokens counted in, at most {self.upper:+.2f}"
            return f"Councils do not pay for {self.kind} here: {gain} ({seen})."
        return f"Not known yet whether councils pay for {self.kind} here ({self.councils} so far)."


def weigh(kind: str, councils: Sequence[Finished], others: Sequence[Finished]) -> Payoff:
    """What councils brought for `kind`. Both lists may hold other kinds.

    The shares are Agresti and Caffo's (one success and one failure added to each side), so that a few equal
    outcomes do not look certain. Tokens count as WORTH for as many as a task without a council takes.
    """
    mine = [each for each in councils if each.kind == kind]
    without = [each for each in others if each.kind == kind]
    if len(mine) < ENOUGH or len(without) < ENOUGH_WITHOUT:
        return Payoff(kind, len(mine), len(without))
    (one, spread), (other, other_spread) = _share(mine), _share(without)
    usual = sum(each.tokens for each in without) / len(without)
    more = sum(each.tokens for each in mine) / len(mine) - usual
    gain = one - other - (WORTH * more / usual if usual else 0.0)
    upper = gain + _Z90 * sqrt(spread + other_spread)
    return Payoff(kind, len(mine), len(without), gain, upper, upper >= 0)


def _share(results: Sequence[Finished]) -> tuple[float, float]:
    """The share that was solved, and the variance of that."""
    number = len(results) + 2
    share = (sum(each.solved for each in results) + 1) / number
    return share, share * (1 - share) / number


def results_of(rows: Iterable[LegRow], councils: Iterable[str] = ()) -> list[Finished]:
    """Whole tasks with a verdict, from their models' parts; sessions named in `councils` are left out."""
    tasks: dict[tuple[str, int, str], list[LegRow]] = {}
    known = frozenset(councils)
    for row in rows:
        if row.session not in known:
            tasks.setdefault((row.session, row.task, row.part), []).append(row)
    return [result for legs in tasks.values() if (result := _result(legs)) is not None]


def _result(legs: Sequence[LegRow]) -> Finished | None:
    verdicts = [leg.solved for leg in legs if leg.solved is not None]
    if not verdicts:
        return None
    tokens = sum(leg.usage.total for leg in legs)
    return Finished(legs[0].kind, any(verdicts), tokens)
