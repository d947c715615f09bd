"""Charts of what was measured, drawn as SVG, each with its figures in a table beside it."""

import time
from collections.abc import Iterable, Iterator, Sequence
from math import ceil, floor, log10
from typing import Final

from msgspec import Struct

from kith.core.numbers import dollars
from kith.features.measure.intervals import Share
from kith.features.measure.trends import Bin, Cached, Paid, Shift
from kith.view.lines import count, day, figure
from kith.view.markup import NOTHING, Html, element, joined

# Plots as pieces of SVG in a page: a share with its interval, a bar of parts, the frame of a plot.

WIDTH, HEIGHT = 400, 200  # of a plot, in its own units: about a pixel where it is drawn small
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 26, 40  # around the plotted field
_BAR, _THICK = 110, 14
_LETTER: Final = 7.0  # how wide one is, of the plot's text
_DAY_S: Final = 86_400
_HOURS: Final = (1, 2, 3, 6, 12)


class Field(Struct, frozen=True):
    """The plotted field: moments from `first` to `last` across it, values from 0 to `top` up."""

    first: float
    last: float
    top: float

    def across(self, at: float) -> float:
        wide = WIDTH - LEFT - RIGHT
        span = self.last - self.first
        return round(LEFT + (wide * (at - self.first) / span if span > 0 else wide / 2), 1)

    def up(self, value: float) -> float:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - min(value, self.top) / self.top), 1)


def draw_share(share: float, low: float, high: float) -> Html:
    """A share (0 to 1) as a dot, on the bar of its interval, on a line from 0 to 100 percent."""
    middle, (left, right, dot) = _THICK / 2, (4 + place * (_BAR - 8) for place in (low, high, share))
    words = f"{share:.0%}, between {low:.0%} and {high:.0%}"
    return element(
        "svg",
        element("line", class_="axis", x1=4, x2=_BAR - 4, y1=middle, y2=middle),
        element(
            "rect",
            class_="between",
            x=round(left, 1),
            y=middle - 3,
            width=round(max(right - left, 1), 1),
            height=6,
            rx=3,
        ),
        element("circle", class_="dot", cx=round(dot, 1), cy=middle, r=3.5),
        class_="share",
        viewBox=f"0 0 {_BAR} {_THICK}",
        width=_BAR,
        height=_THICK,
        role="img",
        aria_label=words,
    )


def draw_parts(parts: Sequence[tuple[str, float]], words: str, whole: float = 0.0) -> Html:
    """A bar of parts (class, amount), as long as they are of `whole` (of all of them, where that is 0)."""
    whole, left, drawn = whole or sum(amount for _, amount in parts) or 1.0, 0.0, []
    for name, amount in parts:
        wide = 100 * amount / whole
        if amount:
            drawn.append(element("rect", class_=name, x=round(left, 2), y=0, width=round(wide, 2), height=10))
        left += wide
    return element(
        "svg",
        *drawn,
        class_="parts",
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        role="img",
        aria_label=words,
    )


def plot(field: Field, unit: str, drawn: Sequence[Html], words: str, percent: bool = False) -> Html:
    """A whole plot: the grid with its values and times, and what was drawn on it; `words` tell it."""
    return element(
        "svg",
        *_grid(field, percent),
        *_times(field),
        label(LEFT - 38, TOP - 12, unit, "unit"),
        *drawn,
        class_="plot",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=words,
    )


def label(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> Html:
    return element("text", words, x=x, y=y, class_=kind or None, text_anchor=anchor)


def _grid(field: Field, percent: bool) -> Iterator[Html]:
    step = round_step(field.top)
    for number in range(round(field.top / step) + 1):
        value = number * step
        y = field.up(value)
        yield element("line", class_="grid" if number else "axis", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y)
        yield label(LEFT - 6, y + 4, f"{value:.0%}" if percent else f"{value:,.10g}", anchor="end")


def _times(field: Field) -> Iterator[Html]:
    """Moments under the field, as many as there is room for, and below them what they are."""
    base = HEIGHT - BOTTOM
    moments, form, unit = _moments(field.first, field.last)
    free = 0.0
    for at in moments:
        words, x = time.strftime(form, time.localtime(at)).lstrip("0"), field.across(at)
        half = len(words) * _LETTER / 2
        middle = min(max(x, half), WIDTH - half)
        yield element("line", class_="axis", x1=x, x2=x, y1=base, y2=base + 4)
        if middle - half >= free:
            yield label(round(middle, 1), base + 16, words, anchor="middle")
            free = middle + half + 8
    yield label(WIDTH - RIGHT, HEIGHT - 6, unit, "unit", "end")


def _moments(first: float, last: float) -> tuple[list[float], str, str]:
    """Round moments between two, how they are written, and what they are."""
    span, begin = last - first, time.localtime(first)
    day = time.mktime((begin.tm_year, begin.tm_mon, begin.tm_mday, 0, 0, 0, 0, 0, -1))
    if span < 2 * _DAY_S:
        hours = next((each for each in _HOURS if span / 3_600 / each <= 6), 12)
        ticks = [day + 3_600 * number for number in range(0, 96, hours)]
        shown = [at for at in ticks if first <= at <= last] or [first]
        return shown, "%H:%M", f"hours of {time.strftime('%Y-%m-%d', begin)}"
    days = max(1, ceil(span / _DAY_S / 6))
    shown = [at for number in range(0, 10_000, days) if first <= (at := _later(begin, number)) <= last]
    years = sorted({time.localtime(at).tm_year for at in (first, last)})
    return shown or [first], "%d %b", f"days of {' and '.join(map(str, years))}"


def _later(begin: time.struct_time, days: int) -> float:
    """The beginning of the day so many days later, whatever the clocks did meanwhile."""
    return time.mktime((begin.tm_year, begin.tm_mon, begin.tm_mday + days, 0, 0, 0, 0, 0, -1))


def round_top(value: float) -> float:
    """The least multiple of a round step that is not below a value."""
    step = round_step(value)
    return step * max(1, ceil(value / step - 1e-9))


def round_step(top: float) -> float:
    """1, 2 or 5 times a power of ten, that divides an axis into three to six."""
    rough = (top or 1.0) / 5
    size = 10.0 ** floor(log10(rough))
    return next(each * size for each in (1, 2, 5, 10) if each * size >= rough * 0.999)


def path_of(points: Sequence[tuple[float, float]]) -> str:
    """Points as a polyline takes them."""
    return " ".join(f"{x:g},{y:g}" for x, y in points)


BANDED: Final = 4  # values of a bin, with fewer of which there is no band
COLOURS: Final = 6  # that series have: the others share the last
_WIDEST: Final = 28  # of a bar


Group = tuple[str, Sequence[Sequence[str]]]  # a name, and the cells of its rows


# --- what is around a chart ------------------------------------------------------------------


def chart(title: str, drawn: Html, means: str, table: Html = NOTHING) -> Html:
    """A chart with its title above it (one that is all of a section has none of its own).

    Below it is its meaning, and on request the figures themselves.
    """
    more = element("details", element("summary", "As a table"), table) if table else NOTHING
    titled = element("figcaption", title) if title else NOTHING
    meaning = element("p", means, class_="means")
    return element("figure", titled, drawn, meaning, more, class_="chart")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> Html:
    """A table; the first cell of a row names it. Cells are Html, or foreign text. No column is empty."""
    return grouped(heads, [("", list(rows))], caption)


def grouped(heads: Sequence[str], groups: Sequence[Group], caption: str = "") -> Html:
    """A table whose rows are grouped under headings."""
    every = [cells for _, rows in groups for cells in rows]
    kept = [at for at in range(len(heads)) if not at or any(cells[at] for cells in every)]
    top = element("tr", *(element("th", heads[at], scope="col") for at in kept))
    bodies = (element("tbody", *_rows(name, rows, kept)) for name, rows in groups)
    named = element("caption", caption, class_="hushed") if caption else NOTHING
    inside = element("table", named, element("thead", top), *bodies)
    return element(
        "div", inside, class_="wide-table", tabindex="0", role="group", aria_label=caption or "Figures"
    )


def _rows(name: str, rows: Sequence[Sequence[str]], kept: Sequence[int]) -> Iterator[Html]:
    if name:
        head = element("th", name, scope="rowgroup", colspan=len(kept))
        yield element("tr", head, class_="group")
    for cells in rows:
        first = element("th", cells[0], scope="row")
        yield element("tr", first, *(element("td", cells[at]) for at in kept[1:]))


def quiet(words: str) -> Html:
    return element("span", words, class_="dim")


def interval_of(share: Share) -> Html:
    """A share with its interval: drawn, and in figures; a word where there is none."""
    if share.share is None or share.interval is None:
        return quiet("nothing tells")
    low, high = share.interval
    drawn = draw_share(share.share, low, high)
    return joined([drawn, " ", f"{share.share:.0%} ", quiet(f"{100 * low:.0f}-{100 * high:.0f}")])


# --- speed -----------------------------------------------------------------------------------


def speed_chart(title: str, bins: Sequence[Bin], shifts: Sequence[Shift], means: str) -> Html:
    """Tokens a second over time: the median of each bin, and the band in which half of its calls lie."""
    field = Field(bins[0].at, bins[-1].at, round_top(max(each.high for each in bins)))
    banded = [each for each in bins if each.number >= BANDED]
    parts = [
        _band(field, banded),
        *(_mark(field, each) for each in shifts if field.first <= each.at <= field.last),
        _line(field, [(each.at, each.median) for each in bins]),
        *(_dot(field, each.at, each.median, each.number < BANDED) for each in bins),
    ]
    first, last = bins[0], bins[-1]
    words = (
        f"{title}: {figure(first.median)} tokens/s on {day(first.at)}, {figure(last.median)} on "
        f"{day(last.at)}; {count(sum(each.number for each in bins), 'call')}."
    )
    rows = [
        [day(each.at), figure(each.median), f"{figure(each.low)}-{figure(each.high)}", str(each.number)]
        for each in bins
    ]
    heads = ("Day", "Median tokens/s", "Half of the calls", "Calls")
    return chart(title, plot(field, "tokens/s", parts, words), means, table(heads, rows, title))


def _band(field: Field, bins: Sequence[Bin]) -> Html:
    if len(bins) < 2:
        return NOTHING
    there = [(field.across(each.at), field.up(each.high)) for each in bins]
    back = [(field.across(each.at), field.up(each.low)) for each in reversed(bins)]
    return element("polygon", class_="band", points=path_of([*there, *back]))


def _line(field: Field, points: Sequence[tuple[float, float]], kind: str = "line") -> Html:
    places = [(field.across(at), field.up(value)) for at, value in points]
    return element("polyline", class_=kind, points=path_of(places))


def _dot(field: Field, at: float, value: float, few: bool) -> Html:
    return element(
        "circle", class_="dot few" if few else "dot", cx=field.across(at), cy=field.up(value), r=2.5
    )


def _mark(field: Field, shift: Shift) -> Html:
    x, told = field.across(shift.at), f"{shift.what}: {shift.before} to {shift.after}"
    line = element("line", class_="mark", x1=x, x2=x, y1=TOP, y2=field.up(0))
    return element("g", element("title", told), line)


# --- the cache -------------------------------------------------------------------------------


def cache_chart(told: Sequence[Cached], days: int, means: str) -> Html:
    """The part of the prompts that came from the cache, in periods of so many days."""
    title = "Spared by the cache"
    field = Field(told[0].at, told[-1].at, 1.0)
    points = [(each.at, each.share) for each in told]
    parts = [_line(field, points), *(_dot(field, at, value, False) for at, value in points)]
    sent, computed = sum(each.input for each in told), sum(each.computed for each in told)
    words = f"{title}: {max(0, sent - computed) / sent:.0%} of {sent:,} tokens since {day(told[0].at)}."
    rows = [[day(each.at), f"{each.share:.0%}", f"{each.input:,}", f"{each.computed:,}"] for each in told]
    heads = (_begins(days), "From the cache", "Tokens sent", "Computed")
    drawn = plot(field, "of the prompts' tokens", parts, words, percent=True)
    return chart(title, drawn, means, table(heads, rows, title))


# --- money -----------------------------------------------------------------------------------


def cost_chart(title: str, told: Sequence[Paid], days: int, models: Sequence[str], means: str) -> Html:
    """Dollars in periods of so many days, one bar for each, its parts by model."""
    paid = [each for each in told if each.usd]
    highest = max(sum(each.usd.values()) for each in paid)
    field = Field(paid[0].at, paid[-1].at + days * _DAY_S, round_top(highest))
    parts = [bar for each in paid for bar in _stack(field, each, days, models)]
    together = sum(sum(each.usd.values()) for each in paid)
    words = f"{title}: {dollars(together)} since {day(paid[0].at)}."
    rows = [
        [
            day(each.at),
            *(dollars(each.usd[name]) if name in each.usd else "" for name in models),
            dollars(sum(each.usd.values())),
            str(each.unpriced or ""),
        ]
        for each in told
    ]
    heads = (_begins(days), *models, "Together", "Calls without a price")
    drawn = joined([plot(field, f"US dollars a {name_period(days)}", parts, words), legend(models)])
    return chart(title, drawn, means, table(heads, rows, title))


def _stack(field: Field, paid: Paid, days: int, models: Sequence[str]) -> Iterator[Html]:
    left, right = field.across(paid.at), field.across(paid.at + days * _DAY_S)
    wide, below = min(max(0.72 * (right - left), 1.0), _WIDEST), 0.0
    for number, name in enumerate(models):
        if not (usd := paid.usd.get(name, 0.0)):
            continue
        low, high = field.up(below), field.up(below + usd)
        yield element(
            "rect",
            element("title", f"{name}, {day(paid.at)}: {dollars(usd)}"),
            class_=colour(number),
            x=round((left + right - wide) / 2, 1),
            y=high,
            width=round(wide, 1),
            height=round(max(low - high, 0.6), 1),
        )
        below += usd


def name_period(days: int) -> str:
    return {1: "day", 7: "week"}.get(days, f"{days} days")


def _begins(days: int) -> str:
    """Return the heading of the days on which periods begin."""
    return "Day" if days == 1 else f"{name_period(days).capitalize()} from"


def colour(number: int) -> str:
    """The class of a series' colour."""
    return f"s{min(number, COLOURS - 1)}"


def legend(names: Sequence[str], classes: Sequence[str] = ()) -> Html:
    """Explain the colours."""
    keys = classes or [colour(number) for number in range(len(names))]
    items = (element("li", swatch(key), name) for key, name in zip(keys, names, strict=True))
    return element("ul", *items, class_="legend")


def swatch(key: str) -> Html:
    square = element("rect", class_=key, width=10, height=10, rx=2)
    return element(
        "svg", square, class_="swatch", viewBox="0 0 10 10", width=10, height=10, aria_hidden="true"
    )


# --- bars of parts ---------------------------------------------------------------------------


def parts_of(parts: Sequence[tuple[str, str, float]], whole: float) -> Html:
    """One bar: (class, word, amount) of each part."""
    words = ", ".join(f"{amount:,.0f} {word}" for _, word, amount in parts if amount)
    return draw_parts([(kind, amount) for kind, _, amount in parts], words or "nothing", whole)
