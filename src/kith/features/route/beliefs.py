"""Estimate each model's success at a task, and the worth of plans, by sampling."""

import random
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from kith.features.measure.intervals import Beta, Count
from kith.features.route.estimates import (
    Errors,
    Head,
    Learned,
    Outlook,
    Plan,
    PlanLeg,
    Takes,
    Utility,
    expected,
    expected_after_a_miss,
    expected_before_a_miss,
    foresee,
    sorts_of,
    who,
)
from kith.features.route.outages import Downtime

_DEARER_AFTER_A_MISS: Final = 1.2  # what is left is harder, and takes longer
# Thompson sampling tries more than there is to learn from some hundred tasks: a model that was seen often
# is believed as if it had been seen up to six times as often.
_NARROW, _NARROWING = 6.0, 16.0


class Arm(Struct, frozen=True):
    """A model that can be asked.

    `usd`, `seconds` of one run and `solves` (a chance; None: from its size in billions of `parameters`) are
    what is expected before anything is measured. `down` says why it cannot be asked now; "": it can.
    `downtime`: when it was down, and may still be.
    """

    name: str
    digest: str = ""
    frontier: bool = False
    parameters: float | None = None
    usd: float = 0.0
    seconds: float = 30.0
    solves: float | None = None
    down: str = ""
    downtime: Downtime | None = None


class Task(Struct, frozen=True):
    """The known facts of a task before it is done; `verifiable`: checks can tell if it is solved."""

    kind: str
    words: str = ""
    root: str = ""
    verifiable: bool = True


class Odds(NamedTuple):
    """The belief about one model in one part of a plan, and the evidence at this kind of work."""

    solves: Beta
    takes: Takes
    counted: Count


class Belief(Struct, frozen=True):
    """The odds of each model, at first and after a miss, how reliable the check is, and who may be away."""

    odds: Mapping[tuple[str, Head], Odds]
    errors: Errors
    downtimes: Mapping[str, Downtime] = {}

    def seen(self, model: str, head: Head) -> float:
        """Count the outcomes at this kind of work."""
        return self.odds[model, head].counted.seen

    @property
    def outcomes(self) -> float:
        return sum(odds.counted.seen for odds in self.odds.values())


class Weighed(Struct, frozen=True):
    """A plan, what is to be expected of it, and its worth in solved tasks: by that, and in each draw."""

    plan: Plan
    outlook: Outlook
    mean: float
    worths: tuple[float, ...]

    def better_than(self, other: "Weighed") -> float:
        """The chance that this plan is worth more."""
        return sum(a > b for a, b in zip(self.worths, other.worths, strict=True)) / len(self.worths)


def believe(evidence: Learned, task: Task, arms: Sequence[Arm]) -> Belief:
    """Compute the belief about each model at this task."""
    odds: dict[tuple[str, Head], Odds] = {}
    for arm in arms:
        model, sorts = who(arm.name, arm.digest), sorts_of(task.kind)
        for head, (solves, takes) in _believe_one(evidence, model, sorts, _expect(task, arm)).items():
            count = evidence.seen(model, head, task.kind)
            if not task.verifiable:  # where a check decides, looking at the result says more than the words
                solves = _narrow(evidence.suited(solves, model, head, task.words, task.root), count)
            odds[arm.name, head] = Odds(solves, takes, count)
    return Belief(odds, evidence.errors, {arm.name: arm.downtime for arm in arms if arm.downtime})


def usual_run(evidence: Learned, arm: Arm) -> Takes:
    """Estimate a model's usual run, for any kind of work."""
    return believe(evidence, Task(""), [arm]).odds[arm.name, "first"].takes


def _expect(task: Task, arm: Arm) -> tuple[float, Takes]:
    """Return a model's prior before any measurement: its chance, and the cost of a run."""
    chance = expected(task.kind, arm.parameters, frontier=arm.frontier) if arm.solves is None else arm.solves
    return chance, Takes(arm.usd, arm.seconds)


def _believe_one(
    evidence: Learned, model: str, sorts: Sequence[str], expected: tuple[float, Takes]
) -> dict[Head, tuple[Beta, Takes]]:
    """One model at first and after a miss; in each, what it did in the other one is what is expected."""
    chance, takes = expected
    first = evidence.chance(model, "first", sorts, chance)
    first_takes = evidence.takes(model, "first", sorts, takes)
    after = evidence.chance(model, "after", sorts, expected_after_a_miss(chance))
    after_takes = evidence.takes(model, "after", sorts, takes.times(_DEARER_AFTER_A_MISS))
    found: dict[Head, tuple[Beta, Takes]] = {
        "after": (
            evidence.chance(model, "after", sorts, expected_after_a_miss(first.mean)),
            evidence.takes(model, "after", sorts, first_takes.times(_DEARER_AFTER_A_MISS)),
        ),
        "first": (
            evidence.chance(model, "first", sorts, expected_before_a_miss(after.mean)),
            evidence.takes(model, "first", sorts, after_takes.times(1 / _DEARER_AFTER_A_MISS)),
        ),
    }
    return found


def _narrow(solves: Beta, count: Count) -> Beta:
    return solves.narrowed(min(_NARROW, 1 + count.seen / _NARROWING))


def weigh(
    plans: Sequence[Plan], belief: Belief, utility: Utility, rng: random.Random, draws: int
) -> tuple[Weighed, ...]:
    """Each plan with its worth in so many draws from what is believed, the same ones for all plans."""
    drawn: dict[tuple[str, Head], tuple[list[float], list[float]]] = {}

    def weigh_one(plan: Plan) -> Weighed:
        heads = _heads(plan)
        for head in heads:
            if head not in drawn:
                drawn[head] = _draw(belief.odds[head], utility, rng, draws)
        outlook = foresee([_leg(belief.odds[head]) for head in heads], belief.errors)
        worths = _worths([drawn[head] for head in heads], belief.errors)
        weighed = Weighed(plan, outlook, utility.worth(outlook), tuple(worths))
        away = belief.downtimes.get(plan[0])
        if away is None:
            return weighed
        return _without_first(weighed, away, weigh_one(plan[1:]) if plan[1:] else None, utility)

    return tuple(map(weigh_one, plans))


def _without_first(each: Weighed, away: Downtime, rest: Weighed | None, utility: Utility) -> Weighed:
    """A plan whose first model may be away: then it is waited for in vain, and the rest is done instead."""
    left = rest.outlook if rest else Outlook(0.0, 0.0, 0.0)
    left = left._replace(seconds=left.seconds + away.wait_s)
    there, gone, wait = 1 - away.chance, away.chance, utility.cost(0.0, away.wait_s)
    mixed = Outlook(*(there * one + gone * other for one, other in zip(each.outlook, left, strict=True)))
    others = rest.worths if rest else [0.0] * len(each.worths)
    worths = (there * one + gone * (other - wait) for one, other in zip(each.worths, others, strict=True))
    return Weighed(each.plan, mixed, utility.worth(mixed), tuple(worths))


def _heads(plan: Plan) -> list[tuple[str, Head]]:
    return [(name, "after" if place else "first") for place, name in enumerate(plan)]


def _leg(odds: Odds) -> PlanLeg:
    return PlanLeg(odds.solves.mean, odds.takes.usd, odds.takes.seconds)


def _draw(odds: Odds, utility: Utility, rng: random.Random, draws: int) -> tuple[list[float], list[float]]:
    """Chances to solve it, and costs in solved tasks."""
    cost = utility.cost(odds.takes.usd, odds.takes.seconds)
    return (
        [odds.solves.draw(rng) for _ in range(draws)],
        [cost * odds.takes.doubt(rng) for _ in range(draws)] if cost else [0.0] * draws,
    )


def _worths(legs: Sequence[tuple[list[float], list[float]]], errors: Errors) -> list[float]:
    """Compute `foresee` for each draw, less its cost; from the last leg back, as this is the inner loop."""
    wrong, doubted = 1 - errors.false_pass, errors.false_fail
    *checked, (chances, costs) = legs
    worths = [chance - cost for chance, cost in zip(chances, costs, strict=True)]
    for chances, costs in reversed(checked):
        worths = [
            chance * (1 - doubted) - cost + ((1 - chance) * wrong + chance * doubted) * rest
            for chance, cost, rest in zip(chances, costs, worths, strict=True)
        ]
    return worths
