"""The coach's part of a profile: every way of asking that was tried, as data and as a section of its page."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from msgspec import Struct

from kith.agent.project import Project
from kith.core.feature import Lazy
from kith.features.coach.sequential_test import HORIZON, LOOKS, chances, measure
from kith.features.coach.strategy import STATES, Coaching, read_coaching, tell_levers
from kith.features.measure.page.charts import chart, legend, parts_of, table
from kith.features.measure.profile import Addition, ProfilePart, ProfileScope
from kith.view.lines import day
from kith.view.markup import NOTHING, Html, element, joined

# What a profile tells of the coach: every way of asking that was tried, and where it stands.


class ExperimentSummary(Struct, frozen=True):
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


# The experiments of the coach, as a section of a profile's page.


_MOST: Final = 20


def experiments_section(experiments: Sequence[ExperimentSummary]) -> Html:
    """Other strategies, in paired trials: pairs won and lost, and the state of each."""
    if not experiments:
        return NOTHING
    shown = experiments[:_MOST]
    most = max(1, *(each.wins + each.losses for each in shown))
    rows = [
        [
            joined([element("code", each.id), " ", tell_levers(each.levers)]),
            f"{each.model}: {each.kind}",
            _pairs_bar(each, most),
            str(each.pairs),
            _standing(each),
        ]
        for each in shown
    ]
    heads = ("Way", "Model and kind", "Won and lost", "Pairs", "Where it stands")
    keys = legend(("won: only the new way solved it", "lost: only the present way did"), ("won", "lost"))
    means = (
        f"Each pair is one task done both ways; those that end alike tell nothing. At most {HORIZON} pairs "
        "decide. Error left: how likely a way that is no better may still be accepted, by the looks to come."
    )
    drawn = joined([keys, table(heads, rows, "Experiments")])
    return chart("", drawn, means)


def _pairs_bar(experiment: ExperimentSummary, most: int) -> Html:
    won, lost = experiment.wins, experiment.losses
    bar = parts_of([("won", "won", won), ("lost", "lost", lost)], most)
    return joined([f"{won} : {lost} ", bar])


def _standing(experiment: ExperimentSummary) -> Html:
    state, following = STATES.get(experiment.state, experiment.state), experiment.why
    if experiment.state == "proposed":
        look = f"next look at {experiment.next_look} pairs, " if experiment.next_look else ""
        following = f"{look}error left {experiment.error_left:.1%}"
    said = element("span", following, class_="dim says") if following else NOTHING
    return joined([f"{state} since {day(experiment.at)}", said])
