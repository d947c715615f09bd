"""A decision in words and figures: one line of why, and a row for each plan that was weighed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kith.core.money import dollars
from kith.features.route.beliefs import Belief, Odds, Weighed
from kith.features.route.plans import Plan


@dataclass(frozen=True, slots=True)
class Told:
    """What there is to tell: the plans, the number of the chosen one, the default one, and what was known.

    `sure`: the chance from which on the default is left. `missing` names models that could not be asked.
    """

    kind: str
    weighed: Sequence[Weighed]
    number: int
    default: Weighed
    sure: float
    belief: Belief
    missing: str = ""

    @property
    def chosen(self) -> Weighed:
        return self.weighed[self.number]


def tell(told: Told) -> str:
    """What is known of the models of the plan, what it takes, and how sure the choice is."""
    parts = [f"{told.kind}: {_abilities(told)}", _estimate(told), _doubt(told), told.missing]
    return "; ".join(part for part in parts if part)


def tabulate(told: Told) -> tuple[dict[str, Any], ...]:
    """The plans, the best first. `solves` is the chance, `interval` the one of its first model's own count.

    `n` is how many outcomes that rests on (they fade), `better` the chance that it beats the default plan.
    """
    rows = sorted(told.weighed, key=lambda each: -each.mean)
    return tuple(_row(each, told) for each in rows)


def _row(each: Weighed, told: Told) -> dict[str, Any]:
    count = told.belief.odds[each.plan[0], "first"].counted
    return {
        "plan": each.plan,
        "worth": round(each.mean, 4),
        "solves": round(each.outlook.solves, 4),
        "interval": tuple(round(bound, 4) for bound in count.interval),
        "n": round(count.seen, 1),
        "usd": round(each.outlook.usd, 6),
        "seconds": round(each.outlook.seconds, 1),
        "better": round(each.better_than(told.default), 4),
        "default": each is told.default,
    }


def _abilities(told: Told) -> str:
    first, *others = told.chosen.plan
    words = [f"{first} solves {_ability(told.belief.odds[first, 'first'])}"]
    before = first
    for name in others:
        words.append(f"{name} after a miss of {before} {_ability(told.belief.odds[name, 'after'])}")
        before = name
    return ", ".join(words)


def _ability(odds: Odds) -> str:
    """`61 % (41-78, n=18)`: what was counted with its interval, or what is expected where nothing was."""
    good, seen = odds.counted
    if seen < 0.5:
        return f"perhaps {odds.solves.mean:.0%} (nothing measured)"
    low, high = odds.counted.interval
    return f"{good / seen:.0%} ({low * 100:.0f}-{high * 100:.0f}, n={seen:.0f})"


def _estimate(told: Told) -> str:
    other = _rival(told)
    words = f"about {_takes(told.chosen)}"
    return f"{words} against {_takes(other)} for {_name(other.plan)}" if other else words


def _takes(each: Weighed) -> str:
    usd, seconds = each.outlook.usd, each.outlook.seconds
    time = f"{seconds:.0f} s"
    return f"{dollars(usd)} + {time}" if usd >= 0.0005 else time


def _doubt(told: Told) -> str:
    """How sure it is that the default plan is, or is not, the better one."""
    other = _rival(told)
    if not other:
        return ""
    if told.chosen is told.default:
        chance = other.better_than(told.default)
        again = f", but {told.default.plan[0]} is tried again now and then"
        needed = f" (it takes {told.sure:.0%})" if chance < told.sure else again
        return f"{_name(other.plan)} is better with a chance of {chance:.0%}{needed}"
    chance = told.chosen.better_than(told.default)
    return f"better than {_name(told.default.plan)} with a chance of {chance:.0%}"


def _rival(told: Told) -> Weighed | None:
    """The plan to hold the chosen one against: the default, or what comes nearest to it."""
    if told.chosen is not told.default:
        return told.default
    others = [each for each in told.weighed if each is not told.default]
    return max(others, key=lambda each: each.better_than(told.default), default=None)


def _name(plan: Plan) -> str:
    return " -> ".join(plan) if len(plan) > 1 else f"{plan[0]} alone"
