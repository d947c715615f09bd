"""What live work says of a way to ask: a canary passes or is rolled back, and an adopted way may fade."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

from kith.features.coach.strategy import Strategy, Ways, is_of
from kith.features.coach.trials import CANARY, Decision, decide_canary, decide_keeping
from kith.features.measure.beta import Count
from kith.features.measure.rows import LegRow

_REFERENCE: Final = 120  # outcomes of the way before that a newer one is held against


@dataclass(frozen=True, slots=True)
class Turn:
    """What becomes of a strategy by its live outcomes, and why."""

    strategy: Strategy
    state: Literal["adopted", "undone"]
    decision: Decision


def watch(ways: Ways, key: str, legs: Sequence[LegRow]) -> Turn | None:
    """What live outcomes (`legs`, the oldest first) change for the model known by `key`; None for nothing.

    An outcome counts when something spoke for it or against it, and by how much that is worth.
    """
    own = [leg for leg in legs if leg.kind == ways.kind and is_of(leg, key, ways.model)]
    if ways.canary:
        since = ways.since.get(ways.canary.id, 0.0)
        new = count(_in(own, ways.canary, since))
        decision = decide_canary(new, count(_last(_in(own, ways.champion), _REFERENCE)))
        if decision.verdict != "go on":
            return Turn(ways.canary, "adopted" if decision.verdict == "accept" else "undone", decision)
    if ways.adopted:
        champion = ways.champion
        recent = count(_last(_in(own, champion, ways.since.get(champion.id, 0.0)), CANARY))
        decision = decide_keeping(recent, count(_last(_in(own, ways.before), _REFERENCE)))
        if decision.verdict == "refuse":
            return Turn(champion, "undone", decision)
    return None


def count(legs: Iterable[LegRow]) -> Count:
    """Outcomes as counts."""
    counted = Count()
    for leg in legs:
        counted = counted.plus(leg.reward or 0.0, leg.weight)
    return counted


def _in(legs: Iterable[LegRow], strategy: Strategy, since: float = 0.0) -> Iterator[LegRow]:
    """The outcomes of one way, from a moment on."""
    return (leg for leg in legs if leg.strategy == strategy.id and leg.at >= since and leg.reward is not None)


def _last(legs: Iterator[LegRow], most: int) -> list[LegRow]:
    """The newest of them that together weigh `most` outcomes."""
    newest = list(legs)[::-1]
    total, kept = 0.0, list[LegRow]()
    for leg in islice(newest, 4 * most):
        if total >= most:
            break
        total += leg.weight
        kept.append(leg)
    return kept
