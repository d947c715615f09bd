"""The experiments of the coach, as a section of a profile's page."""

from collections.abc import Sequence
from typing import Final

from kith.features.coach.profile import ExperimentSummary
from kith.features.coach.sequential_test import HORIZON
from kith.features.measure.page.charts import chart, legend, parts_of, table
from kith.view.lines import day
from kith.view.markup import NOTHING, Html, element, joined

_MOST: Final = 20
_STATES: Final = {
    "proposed": "on trial",
    "refused": "given up",
    "canary": "tried on live work",
    "adopted": "holds",
    "undone": "taken back",
}


def experiments_section(experiments: Sequence[ExperimentSummary]) -> Html:
    """Other strategies, in paired trials: pairs won and lost, and the state of each."""
    if not experiments:
        return NOTHING
    shown = experiments[:_MOST]
    most = max(1, *(each.wins + each.losses for each in shown))
    rows = [
        [
            joined([element("code", each.id), " ", _levers(each)]),
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


def _levers(experiment: ExperimentSummary) -> str:
    words = [
        f"{name} {'on' if value is True else 'off' if value is False else value}"
        for name, value in experiment.levers.items()
        if name != "wording"
    ]
    return ", ".join([*words, *(["in other words"] if experiment.levers.get("wording") else [])])


def _pairs_bar(experiment: ExperimentSummary, most: int) -> Html:
    won, lost = experiment.wins, experiment.losses
    bar = parts_of([("won", "won", won), ("lost", "lost", lost)], most)
    return joined([f"{won} : {lost} ", bar])


def _standing(experiment: ExperimentSummary) -> Html:
    state, following = _STATES.get(experiment.state, experiment.state), experiment.why
    if experiment.state == "proposed":
        look = f"next look at {experiment.next_look} pairs, " if experiment.next_look else ""
        following = f"{look}error left {experiment.error_left:.1%}"
    said = element("span", following, class_="dim says") if following else NOTHING
    return joined([f"{state} since {day(experiment.at)}", said])
