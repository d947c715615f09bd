"""What all models together cost, which of them were asked for what, and what the coach tried."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from kith.core.money import dollars
from kith.features.measure.page.charts import (
    COLOURS,
    chart,
    cost_chart,
    interval_of,
    legend,
    name_period,
    parts_of,
    table,
)
from kith.features.measure.profile import Profile, describe_money
from kith.features.measure.rows import LegRow
from kith.features.measure.series import Planned, count_plans, paid_by, period_of
from kith.view.lines import count
from kith.view.markup import NOTHING, Html, element, joined

_MOST: Final = 20  # plans


# --- money -----------------------------------------------------------------------------------


def cost_section(profile: Profile) -> Html:
    """What was paid, by day and model; nothing where all models are the person's own."""
    rows = [
        [
            row["model"],
            "unknown" if row["usd"] is None else dollars(row["usd"]),
            "" if row["usd_per_solved"] is None else dollars(row["usd_per_solved"]),
            f"{row['unpriced']:,}" if row["unpriced"] else "",
        ]
        for row in describe_money(profile)
        if row["usd"] or (row["usd"] is None and _is_cloud(profile, row["model"]))
    ]
    if not rows:
        return NOTHING
    heads = ("Model", "Together", "For each solved task", "Calls without a price")
    return element("div", *_cost_chart(profile), table(heads, rows, "Cost by model"), class_="beside")


def _is_cloud(profile: Profile, model: str) -> bool:
    return any(call.cloud for call in profile.calls if call.model == model)


def _cost_chart(profile: Profile) -> Iterator[Html]:
    days = period_of(profile.calls)
    told = paid_by(profile.calls, days)
    sums: Counter[str] = Counter()
    for each in told:
        sums.update(each.usd)
    if not sums:
        return
    models = [name for name, _ in sums.most_common()]
    unpriced = sum(each.unpriced for each in told)
    means = "What calls cost by the table of prices (kith models prices)."
    if unpriced:
        means += f" {count(unpriced, 'call')} had no price there, and are missing."
    if len(models) > COLOURS:
        means += f" The {len(models) - COLOURS + 1} cheapest share one colour."
    yield cost_chart(f"Cost by {name_period(days)} and model", told, days, models, means)


# --- decisions -------------------------------------------------------------------------------


def routes_section(legs: Sequence[LegRow]) -> Html:
    """Which plan was followed how often, and how that ended."""
    plans = count_plans(legs)
    if not plans:
        return NOTHING
    most = max(each.number for each in plans)
    rows = [
        [
            " then ".join(each.plan),
            parts_of(_outcomes(each), most),
            f"{each.number:,}",
            interval_of(each.share),
            str(each.relayed or ""),
        ]
        for each in plans[:_MOST]
    ]
    heads = ("Plan", "How it ended", "Times", "Solved, where it is known", "Taken over")
    keys = legend(("solved", "not solved", "nothing tells"), ("won", "lost", "unknown"))
    means = (
        "A plan names who is asked, one after the other, each when the one before did not solve it. "
        "The command kith why tells of each decision."
    )
    more = f" {count(len(plans) - _MOST, 'rarer plan')} not shown." if len(plans) > _MOST else ""
    return chart("", joined([keys, table(heads, rows, "Plans")]), means + more)


def _outcomes(plan: Planned) -> list[tuple[str, str, float]]:
    return [
        ("won", "solved", plan.solved),
        ("lost", "not solved", plan.failed),
        ("unknown", "nothing tells", plan.unknown),
    ]
