"""A profile as HTML: the same for the page of `kith serve` and for the file of `kith profile --html`."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from kith.features.measure.intervals import Spread
from kith.features.measure.page.charts import (
    cache_chart,
    chart,
    grouped,
    interval_of,
    legend,
    parts_of,
    quiet,
    speed_chart,
    table,
)
from kith.features.measure.page.sections import cost_section, routes_section
from kith.features.measure.page.tables import error_table, gate_table, shift_table, trend_table
from kith.features.measure.profile import Profile, describe_caches
from kith.features.measure.rows import CallRow
from kith.features.measure.series import bin_values, cached_by, period_of
from kith.features.measure.speeds import Speed, read_rate, write_rate
from kith.features.measure.successes import Success
from kith.features.measure.trends import LAST
from kith.features.web.html.page import standalone_page
from kith.view.lines import count, day, figure
from kith.view.markup import NOTHING, Html, element, joined

_DRAWN: Final = 8  # calls, from which on a line says anything
_RATES: Final = ((write_rate, "Writing"), (read_rate, "Reading"))
_SURE: Final = "The bar is where the true share lies with 95 % confidence: the shorter, the surer."
_FOOT: Final = (
    "Shares have Wilson's interval, medians one of order statistics, both for 95 % confidence. Fewer than "
    "six values have none, and say little."
)


def profile_page(profile: Profile) -> str:
    """The whole profile as a page by itself."""
    body = element("div", element("main", profile_html(profile)), class_="frame one")
    return standalone_page("Profile", body, ("base.css", "profile.css"))


def profile_html(profile: Profile) -> Html:
    """The whole profile, from its heading on; everything foreign in it is escaped."""
    return joined(_parts(profile))


def _parts(profile: Profile) -> Iterator[Html]:
    models = sorted({each.model for each in profile.speeds} | {each.model for each in profile.successes})
    yield _head(profile, len(models))
    if not models:
        yield element("p", "Nothing was measured yet; every task that a model does is.", class_="dim")
        return
    yield section("Solved, by model and kind of work", _successes(profile.successes))
    for model in models:
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


def _head(profile: Profile, models: int) -> Html:
    since = f", since {day(profile.since)}" if profile.since else ""
    tasks = len({(leg.session, leg.task, leg.part) for leg in profile.legs})
    counted = (count(len(profile.calls), "call"), count(tasks, "task"), count(models, "model"))
    return element(
        "header",
        element("h1", "Profile"),
        element("p", f"{profile.root or 'all folders'}{since}", class_="dim where"),
        element("p", *(element("span", each) for each in counted), class_="facts dim"),
        class_="profile-head",
    )


# --- success ---------------------------------------------------------------------------------


def _successes(successes: Sequence[Success]) -> Html:
    """Shares below each other, each on its interval: a table that is a chart by itself."""
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
    facts = _facts(calls)
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
        yield cache_chart("Spared by the cache", told, days, means)


def _facts(calls: Sequence[CallRow]) -> list[str]:
    if not calls:
        return []
    last = calls[-1]
    window = f"window {last.window:,}" if last.window else ""
    where = "cloud" if last.cloud else last.machine
    digest = "" if last.cloud else last.digest[:19]
    return [each for each in (last.parameters, last.quantisation, window, where, digest) if each]


def _speeds(speeds: Sequence[Speed]) -> Html:
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


def _name_of(speed: Speed) -> str:
    return f"prompts to {speed.size:,}" if speed.size else speed.purpose or "any call"


def _spread(spread: Spread) -> Html:
    if spread.median is None:
        return NOTHING
    if spread.interval is None:
        return joined([figure(spread.median), " ", quiet(f"({spread.number} only)")])
    low, high = (figure(bound) for bound in spread.interval)
    return joined([figure(spread.median), " ", quiet(f"{low}-{high}")])


def _tokens(calls: Iterable[CallRow]) -> Html:
    """Where the tokens went: read, taken from the cache, written."""
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
