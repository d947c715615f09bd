"""A profile as one page of HTML that needs nothing beside itself: no script, no fonts, no network."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import Final, TypeVar

from kith.app.measuring.profile import (
    Profile,
    describe_caches,
    describe_errors,
    describe_gates,
    describe_money,
)
from kith.core.money import dollars
from kith.faces.figures import day, figure
from kith.faces.lines import printable
from kith.faces.svg import draw_share, draw_time
from kith.routing.intervals import Share, Spread
from kith.routing.rows import CallRow
from kith.routing.speeds import Speed, read_rate, write_rate
from kith.routing.successes import Success
from kith.routing.trends import LAST, Shift, Trend

Row = TypeVar("Row", Speed, Success)
_PLOTTED: Final = 8  # calls, from which on a plot says anything
_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>kith profile</title>
<style>
{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def profile_page(profile: Profile) -> str:
    """The whole page. Everything that comes from elsewhere (names, commands) is escaped."""
    style = files("kith.faces").joinpath("profile.css").read_text(encoding="utf-8")
    return _PAGE.format(style=style, body="\n".join(_body(profile)))


def _body(profile: Profile) -> Iterator[str]:
    models = sorted({each.model for each in profile.speeds} | {each.model for each in profile.successes})
    where = profile.root or "all folders"
    since = f", since {day(profile.since)}" if profile.since else ""
    counted = f"{len(profile.calls):,} calls, {len(profile.legs):,} tasks, {len(models)} models"
    yield f"<header><h1>kith profile</h1><p>{_text(where)}{since}</p><p>{counted}</p></header>"
    if not models:
        yield "<p>Nothing was measured yet.</p>"
    for model in models:
        yield from _model(profile, model)
    yield from _section(f"The last {LAST} against those before", _trends(profile.trends))
    yield from _section("What changed", _shifts(profile.shifts))
    yield from _section("Money", _money(profile))
    yield from _section("Who said yes to their work", _gates(profile))
    yield from _section("Errors", _errors(profile))
    yield (
        "<footer>Behind each figure stands where its true value lies with 95 % confidence: Wilson's interval "
        "for shares, order statistics for medians. Where there are fewer than six values there is none."
        "</footer>"
    )


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield from (f"<section><h2>{title}</h2>", *found, "</section>")


# --- one model -------------------------------------------------------------------------------


def _model(profile: Profile, model: str) -> Iterator[str]:
    calls = [call for call in profile.calls if call.model == model]
    shifts = [each for each in profile.shifts if each.model == model and each.sudden]
    yield f'<section><h2>{_text(model)}</h2><p class="facts">{_facts(calls)}</p>'
    yield '<div class="plots">'
    for title, measure in (("writes, tokens/s", write_rate), ("reads, tokens/s", read_rate)):
        points = [(call.at, rate) for call in calls if not call.error and (rate := measure(call))]
        if len(points) >= _PLOTTED:
            marks = [(each.at, f"{each.what}: {each.before} -> {each.after}") for each in shifts]
            yield f"<figure><figcaption>{title}</figcaption>{draw_time(points, marks)}</figure>"
    yield "</div>"
    yield from _successes([each for each in profile.successes if each.model == model])
    yield from _speeds([each for each in profile.speeds if each.model == model])
    yield from _tokens(calls)
    yield "</section>"


def _facts(calls: Sequence[CallRow]) -> str:
    if not calls:
        return ""
    last = calls[-1]
    window = f"window {last.window:,}" if last.window else ""
    where = "cloud" if last.cloud else last.machine
    digest = "" if last.cloud else last.digest[:19]
    return _text(" · ".join(filter(None, [last.parameters, last.quantisation, window, where, digest])))


def _successes(successes: Sequence[Success]) -> Iterator[str]:
    rows = []
    for each in _worth_showing(successes, lambda each: each.kind):
        name = f"prompts to {each.size:,}" if each.size else each.kind or "any work"
        took = [figure(each.seconds.median), figure(each.seconds.p90), figure(each.tokens.median)]
        usd = "" if each.usd is None or not each.tasks else dollars(each.usd / each.tasks)
        judged = f"{each.solved.number} of {each.tasks}"
        shares = [_percent(share) for share in (each.applied, each.passed, each.undone)]
        rows.append([_text(name), _share(each.solved), judged, *shares, *took, usd])
    heads = [
        "Work",
        "Solved",
        "Judged",
        "Edits landed",
        "Checks passed",
        "Undone",
        "p50 s",
        "p90 s",
        "Tokens",
        "$",
    ]
    yield _table(heads, rows)


def _speeds(speeds: Sequence[Speed]) -> Iterator[str]:
    rows = []
    for each in _worth_showing(speeds, lambda each: each.purpose):
        name = f"prompts to {each.size:,}" if each.size else each.purpose or "any call"
        figures = [_spread(spread) for spread in (each.read, each.write, each.first, each.load)]
        rows.append([_text(name), f"{each.calls:,}", *figures])
    yield _table(["Calls", "Number", "Read tokens/s", "Write tokens/s", "First token s", "Load s"], rows)


def _worth_showing(rows: Sequence[Row], sort_of: Callable[[Row], str]) -> list[Row]:
    """The whole, its sorts and its sizes; the only one of its sort says nothing new."""
    whole: list[Row] = [row for row in rows if not sort_of(row) and not row.size]
    sorts: list[Row] = [row for row in rows if sort_of(row) and not row.size]
    sizes: list[Row] = [row for row in rows if not sort_of(row) and row.size]
    return [*(whole if len(sorts) != 1 else ()), *sorts, *(sizes if len(sizes) > 1 else ())]


def _tokens(calls: Sequence[CallRow]) -> Iterator[str]:
    for cache in describe_caches(calls):
        written = sum(call.usage.output for call in calls)
        spared = cache["input"] - cache["computed"]
        parts = (("read", cache["computed"]), ("cached", spared), ("written", written))
        bars = "".join(f'<i class="{name}" style="flex:{max(number, 1)}"></i>' for name, number in parts)
        words = ", ".join(
            f'<span class="key {name}"></span>{number:,} {label}'
            for (name, number), label in zip(parts, ("read", "from the cache", "written"), strict=True)
        )
        yield f'<div class="stack">{bars}</div><p class="facts">Tokens: {words}; '
        yield f"{cache['spared']:.0%} of the prompts were spared.</p>"


# --- all of them -----------------------------------------------------------------------------


def _trends(trends: Sequence[Trend]) -> Iterator[str]:
    if not trends:
        yield f"<p>Too little to compare: that takes {LAST} calls or tasks, and six before them.</p>"
        return
    rows = []
    for each in trends:
        verdict = '<span class="quiet">no real difference</span>'
        if each.real:
            verdict = '<b class="good">better</b>' if each.better else '<b class="bad">worse</b>'
        before, last = (
            f"{value:.0%}" if each.what == "solved" else figure(value) for value in (each.before, each.last)
        )
        rows.append(
            [_text(each.model), each.what, before, last, f"{each.numbers[0]}, {each.numbers[1]}", verdict]
        )
    yield _table(["Model", "What", "Before", "Last", "Values", ""], rows)


def _shifts(shifts: Sequence[Shift]) -> Iterator[str]:
    rows = [
        [day(each.at), _text(each.model), each.what, _text(each.before), _text(each.after)] for each in shifts
    ]
    if rows:
        yield _table(["Day", "Model", "What", "From", "To"], rows)


def _money(profile: Profile) -> Iterator[str]:
    rows = [
        [
            _text(row["model"]),
            "unknown" if row["usd"] is None else dollars(row["usd"]),
            "" if row["usd_per_solved"] is None else dollars(row["usd_per_solved"]),
            f"{row['unpriced']:,}",
        ]
        for row in describe_money(profile)
    ]
    if rows:
        yield _table(["Model", "Together", "For each solved task", "Calls without a price"], rows)


def _gates(profile: Profile) -> Iterator[str]:
    rows = [
        [
            _text(row["gate"]),
            _text(row["model"]),
            _share(Share(row["good"], row["number"])),
            f"{row['number']:,}",
        ]
        for row in describe_gates(profile.verdicts)
    ]
    if rows:
        yield _table(["Check", "Model", "Yes", "Times"], rows)


def _errors(profile: Profile) -> Iterator[str]:
    rows = []
    for row in describe_errors(profile):
        sorts = [f"{number} {sort.replace('_', ' ')}" for sort, number in row["by_sort"].items()]
        mistakes = [f"{number} {sort.replace('_', ' ')}" for sort, number in row["mistakes"].items()]
        if sorts or mistakes:
            failed = f"{row['failed']} of {row['calls']:,}"
            rows.append([_text(row["model"]), failed, _text(", ".join(sorts)), _text(", ".join(mistakes))])
    if rows:
        yield _table(["Model", "Failed calls", "By sort", "Mistakes in tasks"], rows)


# --- pieces ----------------------------------------------------------------------------------


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f"<th>{each}</th>" for each in heads)
    body = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _share(share: Share) -> str:
    if share.share is None or share.interval is None:
        return '<span class="quiet">nothing tells</span>'
    low, high = share.interval
    drawn = draw_share(share.share, low, high)
    return f'{drawn} {share.share:.0%} <span class="quiet">{100 * low:.0f}-{100 * high:.0f}</span>'


def _percent(share: Share) -> str:
    return "" if share.share is None else f'<span title="of {share.number}">{share.share:.0%}</span>'


def _spread(spread: Spread) -> str:
    if spread.median is None:
        return ""
    if spread.interval is None:
        return f'{figure(spread.median)} <span class="quiet">({spread.number} only)</span>'
    low, high = (figure(bound) for bound in spread.interval)
    return f'{figure(spread.median)} <span class="quiet">{low}-{high}</span>'


def _text(words: str) -> str:
    """Foreign text, with nothing hidden in it, for HTML."""
    return escape(printable(words))
