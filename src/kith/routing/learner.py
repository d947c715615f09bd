"""Which plan a task gets: the one that is worth most as far as is known, and now and then one to learn from."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kith.routing.beta import Beta, Count
from kith.routing.evidence import CHECK_ERRORS, Cell, Evidence, Head, Spent, sorts_of, who
from kith.routing.plans import Errors, Leg, Outlook, Plan, Utility, foresee, possible_plans
from kith.routing.priors import expected, expected_after_a_miss

DRAWS = 64
SURE = 0.8  # the default is left when another plan is better with this chance
SURE_OF_A_NEW_MODEL = 0.95
WIDE = 1.0
SHARP = 1.0
NEW = 10  # tasks with an outcome until a model is known


@dataclass(frozen=True, slots=True)
class Arm:
    """A model that can be asked. `solves`, `usd` and `seconds` are what is expected before anything is known.

    `down` says why it cannot be asked now ("" when it can).
    """

    name: str
    digest: str = ""
    frontier: bool = False
    parameters: float | None = None
    solves: float | None = None
    usd: float = 0.0
    seconds: float = 30.0
    down: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """What is known of a task before it is done."""

    kind: str
    words: str = ""
    root: str = ""
    verifiable: bool = True


@dataclass(frozen=True, slots=True)
class Decision:
    """A plan, how likely this choice was, why, and the figures: a row for each plan that was weighed."""

    plan: Plan
    propensity: float
    why: str
    table: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Odds:
    """What is believed of one model in one part of a plan."""

    solves: Beta
    spent: Spent

    def cost(self, utility, rng):
        mean = utility.cost(self.spent.usd, self.spent.seconds)
        return max(0.0, mean * (1 + rng.gauss(0, 1) * WIDE*(self.spent.spread / self.spent.runs)**.5)) if WIDE else mean


@dataclass(frozen=True, slots=True)
class Weighed:
    """A plan with its worth in each draw."""

    plan: Plan
    outlook: Outlook
    worth: tuple[float, ...]


def choose(
    evidence: Evidence, task: Task, arms: Sequence[Arm], utility: Utility, rng: random.Random
) -> Decision:
    """The plan for a task, from what is known; deterministic for one state of `rng`."""
    up = [arm for arm in arms if not arm.down]
    locals_ = tuple(arm.name for arm in up if not arm.frontier)
    frontier = next((arm.name for arm in up if arm.frontier), "")
    odds = beliefs(evidence, task, up)
    plans = possible_plans(locals_, frontier, verifiable=task.verifiable)
    weighed = weigh(plans, odds, errors_of(evidence), utility, rng)
    default = default_plan(weighed, task, frontier)
    heads = [(n, "after" if i else "first") for i,n in enumerate(default.plan)]
    byname={a.name:a for a in up}
    new = min(evidence.solved.get(Cell(who(n, byname[n].digest), h), Count()).seen for n,h in heads) < NEW if NEWMODE else any(evidence.begun.get(who(a.name, a.digest), 0) < NEW for a in up if a.name == default.plan[0])
    shares = chances(weighed, default, task, new=new)
    (chosen,) = rng.choices(weighed, shares)
    return Decision(chosen.plan, shares[weighed.index(chosen)], "")


def beliefs(evidence: Evidence, task: Task, arms: Sequence[Arm]) -> dict[tuple[str, Head], Odds]:
    sorts = sorts_of(task.kind, task.words, task.root)
    odds: dict[tuple[str, Head], Odds] = {}
    for arm in arms:
        model = who(arm.name, arm.digest)
        first = arm.solves if arm.solves is not None else expected(task.kind, arm.parameters, frontier=arm.frontier)
        start = Spent(1.0, arm.usd, arm.seconds)
        odds[arm.name, "first"] = Odds(
            evidence.chance(model, "first", sorts, first), evidence.cost(model, "first", sorts, start)
        )
        odds[arm.name, "after"] = Odds(
            evidence.chance(model, "after", sorts, expected_after_a_miss(first)),
            evidence.cost(model, "after", sorts, start),
        )
    return odds


def errors_of(evidence: Evidence) -> Errors:
    return Errors(
        Beta(CHECK_ERRORS.a + evidence.false_pass.good, CHECK_ERRORS.b + evidence.false_pass.seen - evidence.false_pass.good).mean,
        Beta(CHECK_ERRORS.a + evidence.false_fail.good, CHECK_ERRORS.b + evidence.false_fail.seen - evidence.false_fail.good).mean,
    )


def weigh(
    plans: tuple[Plan, ...],
    odds: dict[tuple[str, Head], Odds],
    errors: Errors,
    utility: Utility,
    rng: random.Random,
) -> list[Weighed]:
    heads = [tuple((name, "after" if i else "first") for i, name in enumerate(plan)) for plan in plans]
    draws = {}
    for key in dict.fromkeys(h for plan in heads for h in plan):
        o = odds[key]
        draws[key] = ([rng.betavariate(o.solves.a*SHARP,o.solves.b*SHARP) for _ in range(DRAWS)], [o.cost(utility, rng) for _ in range(DRAWS)])
    return [Weighed(plan, foresee(tuple(Leg(odds[h].solves.mean, odds[h].spent.usd, odds[h].spent.seconds) for h in hs), errors), worth([draws[h] for h in hs], errors)) for plan, hs in zip(plans, heads)]


def worth(legs, errors):
    *checked, (p,c) = legs
    value = [x-y for x,y in zip(p,c)]
    fp, ff = errors
    for p, c in reversed(checked):
        value = [x * (1 - ff) - y + ((1 - x) * (1 - fp) + x * ff) * v for x, y, v in zip(p, c, value)]
    return value


def default_plan(weighed: list[Weighed], task: Task, frontier: str) -> Weighed:
    if task.verifiable:
        fits = [w for w in weighed if len(w.plan) == 2 and (not frontier or w.plan[-1] == frontier)]
    else:
        fits = [w for w in weighed if w.plan[-1] == frontier] if frontier else []
    fits = fits or weighed
    return max(fits, key=lambda w: sum(w.worth))


def chances(weighed: list[Weighed], default: Weighed, task: Task, *, new: bool) -> list[float]:
    wins = [0]*len(weighed)
    for values in zip(*(w.worth for w in weighed)):
        wins[values.index(max(values))] += 1
    shares = [n / DRAWS for n in wins]
    if not task.verifiable:
        return shares
    top = max(weighed, key=lambda w: better(w, default))
    sure = better(top, default)
    if sure >= (SURE_OF_A_NEW_MODEL if new else SURE):
        if EXPLORE==2:
            x=(1-sure)*BACK
            return [x if w is default else 1-x if w is top else 0. for w in weighed]
        return shares if EXPLORE else [float(w is top) for w in weighed]
    return [float(w is default) for w in weighed]
EXPLORE=True
NEWMODE=1
BACK=1.0

def better(one: Weighed, other: Weighed) -> float:
    return sum(a > b for a, b in zip(one.worth, other.worth, strict=True)) / DRAWS
