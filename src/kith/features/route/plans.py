"""Plans, and what they are worth: models asked one after the other until one has solved the task."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Plan = tuple[str, ...]  # names of models; each but the last is followed by a check
Dial = Literal["frugal", "balanced", "quality"]
PRICES: dict[Dial, float] = {"frugal": 0.5, "balanced": 0.2, "quality": 0.05}


@dataclass(frozen=True, slots=True)
class Utility:
    """The weights of cost, in solved tasks: `price` is the cost of an average run of the frontier model.

    `unit_usd` is the cost of that run, including its time at `second_usd` a second.
    """

    price: float
    unit_usd: float = 0.05
    second_usd: float = 0.0002

    def cost(self, usd: float, seconds: float) -> float:
        """Money and waiting in solved tasks."""
        return self.price * (usd + self.second_usd * seconds) / self.unit_usd

    def worth(self, outlook: "Outlook") -> float:
        return outlook.solves - self.cost(outlook.usd, outlook.seconds)


class PlanLeg(NamedTuple):
    """One model's part in a plan: its chance, and what a run of it takes."""

    solves: float
    usd: float
    seconds: float


class Errors(NamedTuple):
    """The error rates of the check: it passes wrong work, or fails right work."""

    false_pass: float
    false_fail: float


class Outlook(NamedTuple):
    """The expected result of a plan."""

    solves: float
    usd: float
    seconds: float


def foresee(legs: Sequence[PlanLeg], errors: Errors) -> Outlook:
    """Expected result of running the legs until the check passes one; the last one's change stays.

    With chances p for the first and q for the second, the second is asked with

        g = (1 - p)(1 - fp) + p ff

    so solved = p (1 - ff) + g q.
    """
    solves = usd = seconds = 0.0
    reach = 1.0
    for number, leg in enumerate(legs, start=1):
        usd += reach * leg.usd
        seconds += reach * leg.seconds
        if number == len(legs):
            solves += reach * leg.solves
        else:
            solves += reach * leg.solves * (1 - errors.false_fail)
            reach *= (1 - leg.solves) * (1 - errors.false_pass) + leg.solves * errors.false_fail
    return Outlook(solves, usd, seconds)


def price_of(dial: Dial, *, budget_left: float = 1.0, time_left: float = 1.0) -> float:
    """The dial as a price; it rises when a budget runs out faster than its time (both as shares left)."""
    return PRICES[dial] * max(1.0, time_left / max(budget_left, 0.01))


def possible_plans(locals_: tuple[str, ...], frontier: str, *, verifiable: bool) -> tuple[Plan, ...]:
    """All plans over local models, the cheapest first, and the frontier model ("" for none).

    Work that nothing can check is asked of one model only: nobody would know when to ask the next.
    """
    ends = (frontier,) if frontier else ()
    alone: list[Plan] = [(name,) for name in (*locals_, *ends)]
    if not verifiable:
        return tuple(alone)
    pairs: list[Plan] = [(one, two) for i, one in enumerate(locals_) for two in locals_[i + 1 :]]
    last: list[Plan] = [(name, *ends) for name in locals_] if ends else []
    return (*alone, *last, *((*pair, *ends) for pair in pairs))
