"""A profile as HTML: the same for the page of `kith serve` and for the file of `kith profile --html`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from kith.core.numbers import dollars
from kith.features.measure.intervals import Share, Spread
from kith.features.measure.measured_rows import VerdictRow
from kith.features.measure.page.charts import (
    COLOURS,
    cache_chart,
    chart,
    cost_chart,
    grouped,
    interval_of,
    legend,
    name_period,
    parts_of,
    quiet,
    speed_chart,
    table,
)
from kith.features.measure.profile import (
    Profile,
    counts_of,
    describe_caches,
    describe_errors,
    describe_gates,
    describe_money,
    facts_of,
)
from kith.features.measure.rows import CallRow, LegRow
from kith.features.measure.speed_and_success import ModelSpeed, Success, read_rate, write_rate
from kith.features.measure.trends import (
    LAST,
    PlannedBuild,
    Shift,
    Trend,
    bin_values,
    cached_by,
    count_plans,
    paid_by,
    period_of,
)
from kith.features.web.html.page import standalone_page
from kith.view.lines import count, day, figure
from kith.view.markup import NOTHING, Html, element, joined

# What all models together cost, which of them were asked for what, and what the coach tried.

_MOST: Final = 20  # plans


# --- money -----------------------------------------------------------------------------------


def cost_section(profile: Profile) -> Html:
    """Show the costs by day and model; nothing where all models are the person's own."""
    cloud = {call.model for call in profile.calls if call.cloud}
    rows = [
        [
            row["model"],
            "unknown" if row["usd"] is None else dollars(row["usd"]),
            "" if row["usd_per_solved"] is None else dollars(row["usd_per_solved"]),
            f"{row['unpriced']:,}" if row["unpriced"] else "",
        ]
        for row in describe_money(profile)
        if row["usd"] or (row["usd"] is None and row["model"] in cloud)
    ]
    if not rows:
        return NOTHING
    heads = ("Model", "Together", "For each solved task", "Calls without a price")
    return element("div", *_cost_chart(profile), table(heads, rows, "Cost by model"), class_="beside")


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
    """Show how often each plan was followed, and its results."""
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
        "A plan lists the models in order: each is asked when the one before did not "
        "solve the task. The command kith why explains each decision."
    )
    more = f" {count(len(plans) - _MOST, 'rarer plan')} not shown." if len(plans) > _MOST else ""
    return chart("", joined([keys, table(heads, rows, "Plans")]), means + more)


def _outcomes(plan: PlannedBuild) -> list[tuple[str, str, float]]:
    return [
        ("won", "solved", plan.solved),
        ("lost", "not solved", plan.failed),
        ("unknown", "nothing tells", plan.unknown),
    ]


# The tables of a profile: what is otherwise now, what changed, who said yes, what went wrong.


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


_DRAWN: Final = 8  # calls, from which on a line says anything
_RATES: Final = ((write_rate, "Writing"), (read_rate, "Reading"))
_SURE: Final = "The bar is where the true share lies with 95 % confidence: the shorter, the surer."
_FOOT: Final = (
    "Shares have Wilson's interval, medians one of order statistics, both for 95 % confidence. Fewer than "
    "six values have none, and say little."
)


def profile_page(profile: Profile) -> str:
    """The whole profile as a page of its own."""
    body = element("div", element("main", profile_html(profile)), class_="frame one")
    return standalone_page("Profile", body, ("base.css", "profile.css"))


def profile_html(profile: Profile) -> Html:
    """The whole profile, from its heading on; everything foreign in it is escaped."""
    return joined(_parts(profile))


def _parts(profile: Profile) -> Iterator[Html]:
    yield _head(profile)
    if not profile.models:
        yield element(
            "p", "Nothing was measured yet. kith measures every task that a model does.", class_="dim"
        )
        return
    yield section("Solved, by model and kind of work", _successes(profile.successes))
    for model in profile.models:
        yield _model(profile, model)
    yield section("Money", cost_section(profile))
    yield section("Who was asked", routes_section(profile.legs))
    for each in profile.added:
        if each.page:
            title, draw = each.page
            yield section(title, draw.load()(each.found))
    yield section(f"The last {LAST} against those before", trend_table(profile.trends))
    yield section("What changed", shift_table(profile.shifts))
    yield section("Who said yes to their work", gate_table(profile.verdicts))
    yield section("Errors", error_table(profile))
    yield element("footer", _FOOT, class_="means")


def section(title: str, *content: Html) -> Html:
    """A section with its heading; nothing where it would be empty."""
    inside = joined(content)
    return element("section", element("h2", title), inside, class_="measured") if inside else NOTHING


def _head(profile: Profile) -> Html:
    since = f", since {day(profile.since)}" if profile.since else ""
    return element(
        "header",
        element("h1", "Profile"),
        element("p", f"{profile.root or 'all folders'}{since}", class_="dim where"),
        element("p", *(element("span", each) for each in counts_of(profile)), class_="facts dim"),
        class_="profile-head",
    )


# --- success ---------------------------------------------------------------------------------


def _successes(successes: Sequence[Success]) -> Html:
    """Shares below each other, each on its interval: a table that is also a chart."""
    shown = [each for each in successes if each.kind and not each.size]
    if not shown:
        return NOTHING
    groups = [
        (
            model,
            [[each.kind, interval_of(each.solved), f"{each.solved.number:,}", _took(each)] for each in own],
        )
        for model, found in groupby(shown, key=lambda each: each.model)
        for own in [list(found)]
    ]
    means = f"Of the tasks that tests or a person decided, those that were solved. {_SURE}"
    heads = ("Kind of work", "Solved", "Judged", "Median, slowest tenth")
    return chart("", grouped(heads, groups, "Share of tasks that were solved"), means)


def _took(success: Success) -> str:
    if success.seconds.median is None:
        return ""
    return f"{figure(success.seconds.median)} s, {figure(success.seconds.p90)} s"


# --- one model -------------------------------------------------------------------------------


def _model(profile: Profile, model: str) -> Html:
    calls = [call for call in profile.calls if call.model == model]
    drawn = element("div", *_charts(profile, model, calls), class_="charts")
    speeds = [each for each in profile.speeds if each.model == model]
    facts = facts_of(calls)
    if calls and calls[-1].digest and not calls[-1].cloud:
        facts.append(calls[-1].digest[:19])
    return section(
        model,
        element("p", *(element("span", each) for each in facts), class_="facts dim") if facts else NOTHING,
        drawn if "figure" in drawn else NOTHING,
        _speeds(speeds),
        _tokens(calls),
    )


def _charts(profile: Profile, model: str, calls: Sequence[CallRow]) -> Iterator[Html]:
    shifts = [each for each in profile.shifts if each.model == model and each.sudden]
    for measure, verb in _RATES:
        points = [(call.at, rate) for call in calls if not call.error and (rate := measure(call))]
        if len(points) >= _DRAWN:
            means = f"Medians of {count(len(points), 'call')}; half of the calls lie in the band."
            if shifts:
                means += " A dashed line: something about the model changed."
            yield speed_chart(f"{verb} speed", bin_values(points), shifts, means)
    days = period_of(calls)
    told = cached_by(calls, days)
    if len(told) > 1:
        means = (
            "Prompt tokens that the server did not read again. A fall means that something breaks the prefix."
        )
        yield cache_chart(told, days, means)


def _speeds(speeds: Sequence[ModelSpeed]) -> Html:
    """Speeds by purpose and by size of prompt; the only one of its sort says nothing new."""
    whole = [each for each in speeds if not each.purpose and not each.size]
    purposes = [each for each in speeds if each.purpose and not each.size]
    sizes = [each for each in speeds if not each.purpose and each.size]
    shown = [*whole, *(purposes if len(purposes) > 1 else ()), *(sizes if len(sizes) > 1 else ())]
    if not shown:
        return NOTHING
    heads = ("Calls", "Number", "Read tokens/s", "Write tokens/s", "First token s", "Load s")
    rows = [
        [_name_of(each), f"{each.calls:,}", *map(_spread, (each.read, each.write, each.first, each.load))]
        for each in shown
    ]
    return table(heads, rows, "Speed: medians, and where these lie")


def _name_of(speed: ModelSpeed) -> str:
    return f"prompts to {speed.size:,}" if speed.size else speed.purpose or "any call"


def _spread(spread: Spread) -> Html:
    if spread.median is None:
        return NOTHING
    if spread.interval is None:
        return joined([figure(spread.median), " ", quiet(f"({spread.number} only)")])
    low, high = (figure(bound) for bound in spread.interval)
    return joined([figure(spread.median), " ", quiet(f"{low}-{high}")])


def _tokens(calls: Iterable[CallRow]) -> Html:
    """Show the tokens: read, cached, written."""
    calls = list(calls)
    for told in describe_caches(calls):
        written = sum(call.usage.output for call in calls)
        spared = max(0, told["input"] - told["computed"])
        parts = [
            ("read", "read", told["computed"]),
            ("cached", "from the cache", spared),
            ("written", "written", written),
        ]
        names = [f"{amount:,} {word}" for _, word, amount in parts]
        keys = [kind for kind, _, _ in parts]
        return element(
            "div", element("h3", "Tokens"), parts_of(parts, 0), legend(names, keys), class_="tokens"
        )
    return NOTHING
