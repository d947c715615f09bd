"""The tables of a profile: what is otherwise now, what changed, who said yes, what went wrong."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from kith.features.measure.folding import VerdictRow
from kith.features.measure.intervals import Share
from kith.features.measure.page.charts import grouped, interval_of, quiet, table
from kith.features.measure.profile import Profile, describe_errors, describe_gates
from kith.features.measure.trends import LAST, Shift, Trend
from kith.view.lines import day, figure
from kith.view.markup import NOTHING, Html, element


def trend_table(trends: Sequence[Trend]) -> Html:
    if not trends:
        words = f"Too little to compare: that takes {LAST} calls or tasks, and six before them."
        return element("p", words, class_="means")
    groups = [
        (model, [_trend_cells(each) for each in own])
        for model, own in groupby(trends, key=lambda each: each.model)
    ]
    return grouped(("What", "Before", "Last", "Values", "Verdict"), groups, "Trends")


def _trend_cells(trend: Trend) -> list[str]:
    values = (trend.before, trend.last)
    before, last = (f"{each:.0%}" if trend.what == "solved" else figure(each) for each in values)
    return [trend.what, before, last, "{}, {}".format(*trend.numbers), _verdict(trend)]


def _verdict(trend: Trend) -> Html:
    if not trend.real:
        return quiet("no real difference")
    return element("b", "better", class_="good") if trend.better else element("b", "worse", class_="bad")


def shift_table(shifts: Sequence[Shift]) -> Html:
    if not shifts:
        return NOTHING
    rows = ([day(each.at), each.model, each.what, each.before, each.after] for each in shifts)
    return table(("Day", "Model", "What", "From", "To"), rows, "What changed")


def gate_table(verdicts: Iterable[VerdictRow]) -> Html:
    rows = [
        [row["gate"], row["model"], interval_of(Share(row["good"], row["number"])), f"{row['number']:,}"]
        for row in describe_gates(verdicts)
    ]
    return table(("Check", "Model", "Yes", "Times"), rows, "Checks") if rows else NOTHING


def error_table(profile: Profile) -> Html:
    rows = []
    for row in describe_errors(profile):
        sorts = [f"{number} {sort.replace('_', ' ')}" for sort, number in row["by_sort"].items()]
        mistakes = [f"{number} {sort.replace('_', ' ')}" for sort, number in row["mistakes"].items()]
        if sorts or mistakes:
            failed = f"{row['failed']} of {row['calls']:,}"
            rows.append([row["model"], failed, ", ".join(sorts), ", ".join(mistakes)])
    heads = ("Model", "Failed calls", "By sort", "Mistakes in tasks")
    return table(heads, rows, "Errors") if rows else NOTHING
