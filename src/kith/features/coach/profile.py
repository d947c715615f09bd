"""Add coaching to the profile: every strategy that was tried, and its state."""

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from kith.agent.project import Project
from kith.core.feature import Lazy
from kith.features.coach.coaching_log import Coaching, read_coaching
from kith.features.coach.sequential_test import HORIZON, LOOKS, chances, measure
from kith.features.measure.profile import Addition, ProfilePart, ProfileScope


@dataclass(frozen=True, slots=True)
class ExperimentSummary:
    """Another strategy for a model, in paired trials: pairs won and lost, and its state.

    `error_left`: how likely a way that is no better may still be accepted, by the looks that are to come.
    `next_look` is a number of pairs, 0 when there is none.
    """

    model: str
    kind: str
    id: str
    levers: dict[str, object]
    state: str
    why: str
    author: str
    at: float
    pairs: int
    wins: int
    losses: int
    next_look: int
    error_left: float


def list_experiments(coaching: Coaching) -> tuple[ExperimentSummary, ...]:
    """Every way that was tried, the newest first."""
    found = []
    for work, ways in coaching.ways.items():
        last = {str(event.strategy.get("id", "")): (at, event) for at, event in ways.history}
        for id, (at, event) in last.items():
            told = measure([*coaching.pairs.get((work, id), {}).values()])
            pairs, wins, losses = (int(told[name]) for name in ("pairs", "wins", "losses"))
            going = event.state == "proposed"
            found.append(
                ExperimentSummary(
                    ways.model,
                    ways.kind,
                    id,
                    dict(event.strategy.get("levers", {})),
                    event.state,
                    event.why,
                    event.author,
                    at,
                    pairs,
                    wins,
                    losses,
                    next((look for look in sorted(LOOKS) if look > pairs), 0) if going else 0,
                    error_left(pairs, wins + losses) if going else 0.0,
                )
            )
    return tuple(sorted(found, key=lambda each: -each.at))


def error_left(pairs: int, differing: int) -> float:
    """Return the chance that later looks accept a strategy that wins as often as it loses."""
    share = (differing + 1) / (pairs + 2)  # of all pairs; one of each is assumed, where little is known
    spent = _spending(min(1.0, max(0.1, round(share, 1))))
    return spent[HORIZON] - max((value for look, value in spent.items() if look <= pairs), default=0.0)


@cache
def _spending(differing: float) -> dict[int, float]:
    return chances(differing / 2, differing / 2)


def read_experiments(project: Project, scope: ProfileScope) -> Addition:
    """Those of the models and kinds of work that are wanted; they are no folder's own."""
    found = tuple(
        each
        for each in list_experiments(read_coaching(project.log))
        if scope.model in each.model and scope.kind in ("", each.kind) and each.at >= scope.since
    )
    section = Lazy[Any]("kith.features.coach.page:experiments_section")
    return Addition(page=("Experiments of the coach", section), found=found)


PART: Final = ProfilePart(read_experiments)
