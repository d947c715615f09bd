"""Draw a bench's speeds by depth, as bars in the terminal and on the page."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kith.agent.project import Project
from kith.core.feature import Lazy
from kith.features.measure.bench.result import CARD_KEY, BenchResult, BenchSpeed, mean
from kith.features.measure.page.charts import draw_parts, table
from kith.features.measure.profile import Addition, ProfilePart, ProfileScope
from kith.view.lines import figure
from kith.view.markup import Html, element, joined

_BAR: Final = 24  # columns


def bar_lines(speeds: Sequence[BenchSpeed], fill: str) -> Iterator[str]:
    """A line for each depth: bars of reading and of writing, the longer the faster; 80 columns at most."""
    tops = _tops(speeds)
    if len(speeds) < 2 or not all(tops):
        return
    yield f"\n{'':>14}  {'reading':{_BAR + 2}}writing"
    for speed in speeds:
        means = zip(map(mean, _rates(speed)), tops, strict=True)
        one, two = (fill * max(1, round(_BAR * each / top)) if each else "" for each, top in means)
        yield f"{speed.depth:14,}  {one:{_BAR + 2}}{two}".rstrip()


def _rates(speed: BenchSpeed) -> tuple[Sequence[float], Sequence[float]]:
    return speed.read, speed.written


def _tops(speeds: Sequence[BenchSpeed]) -> tuple[float, float]:
    read, write = (max((mean(_rates(each)[part]) for each in speeds), default=0.0) for part in (0, 1))
    return read, write


# The last bench of each model, as a section of a profile's page.


def read_benches(project: Project, scope: ProfileScope) -> Addition:
    """Those of the models that are wanted; they are no folder's own."""
    told = (card[CARD_KEY] for card in project.log.cards().values() if CARD_KEY in card)
    runs = (BenchResult.from_facts(facts) for facts in told)
    found = sorted((run for run in runs if scope.model in run.model), key=lambda run: -run.at)
    wanted = [run for run in found if run.at >= scope.since and run.speeds]
    section = Lazy[Any]("kith.features.measure.bench.chart:bench_section")
    return Addition(page=("Bench", section), found=wanted)


def bench_section(runs: Sequence[BenchResult]) -> Html:
    """A table of bars for each run."""
    return joined(_table(run) for run in runs)


def _table(run: BenchResult) -> Html:
    tops = _tops(run.speeds)
    rows = [
        (f"{speed.depth:,}", *(_cell(rates, top) for rates, top in zip(_rates(speed), tops, strict=True)))
        for speed in run.speeds
    ]
    name = f"{run.model} on {run.machine or 'this machine'}"
    drawn = table(("tokens before", "reads tokens/s", "writes tokens/s"), rows, name)
    return joined([element("h3", name), drawn])


def _cell(rates: Sequence[float], top: float) -> Html:
    value = mean(rates)
    bar = draw_parts((("read", value),), f"{figure(value)} tokens/s", top or 1.0)
    return joined([bar, element("span", f" {figure(value)}")]) if value else element("span", "-")


PART: Final = ProfilePart(read_benches)
