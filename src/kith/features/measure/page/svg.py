"""Plots as pieces of SVG in a page: a share with its interval, a bar of parts, the frame of a plot.

What a piece looks like is said by its class: pages allow no style within them.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Final

from kith.view.markup import Html, element

WIDTH, HEIGHT = 400, 200  # of a plot, in its own units: about a pixel where it is drawn small
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 26, 40  # around the plotted field
_BAR, _THICK = 110, 14
_LETTER: Final = 7.0  # how wide one is, of the plot's text
_DAY_S: Final = 86_400
_HOURS: Final = (1, 2, 3, 6, 12)


@dataclass(frozen=True, slots=True)
class Field:
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
