"""Plots as pieces of SVG in a page: a share with its interval, values over time."""

import time
from collections.abc import Callable, Iterator, Sequence
from html import escape

from kith.faces.lines import printable

_WIDTH, _HEIGHT = 460, 120  # of the plotted field, in the picture's own units
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 10, 8, 20  # around it
_BAR, _THICK = 110, 14

Point = tuple[float, float]


def draw_share(share: float, low: float, high: float) -> str:
    """A share (0 to 1) as a dot, on the bar of its interval, on a line from 0 to 100 percent."""
    middle, (left, right, dot) = _THICK / 2, (4 + place * (_BAR - 8) for place in (low, high, share))
    wide = max(right - left, 1)
    return (
        f'<svg class="share" viewBox="0 0 {_BAR} {_THICK}" width="{_BAR}" height="{_THICK}" role="img" '
        f'aria-label="{share:.0%}, between {low:.0%} and {high:.0%}">'
        f'<line class="axis" x1="4" x2="{_BAR - 4}" y1="{middle}" y2="{middle}"/>'
        f'<rect class="between" x="{left:.1f}" y="{middle - 3}" width="{wide:.1f}" height="6" rx="3"/>'
        f'<circle class="dot" cx="{dot:.1f}" cy="{middle}" r="3.5"/></svg>'
    )


def draw_time(points: Sequence[Point], marks: Sequence[tuple[float, str]] = ()) -> str:
    """Values over time as dots with a line of running medians; `marks` are moments, with what happened."""
    points = sorted(points)
    first, last = points[0][0], points[-1][0]
    step = _step(max(value for _, value in points) or 1.0)
    top = step * max(1, -int(-max(value for _, value in points) // step))

    def across(at: float) -> float:
        return _LEFT + (_WIDTH * (at - first) / (last - first) if last > first else _WIDTH / 2)

    def up(value: float) -> float:
        return _TOP + _HEIGHT * (1 - value / top)

    parts = list(_grid(step, top, up))
    for at, what in marks:
        if first <= at <= last:
            told = escape(printable(what))
            parts.append(
                f'<line class="mark" x1="{across(at):.1f}" x2="{across(at):.1f}" y1="{_TOP}" '
                f'y2="{_TOP + _HEIGHT}"><title>{told}</title></line>'
            )
    parts += [
        f'<circle class="point" cx="{across(at):.1f}" cy="{up(value):.1f}" r="1.8"/>' for at, value in points
    ]
    line = " ".join(f"{across(at):.1f},{up(value):.1f}" for at, value in _smooth(points))
    parts.append(f'<polyline class="median" points="{line}"/>')
    parts += [_label(_LEFT, "start", first, last - first), _label(_LEFT + _WIDTH, "end", last, last - first)]
    whole = f"{_LEFT + _WIDTH + _RIGHT} {_TOP + _HEIGHT + _BOTTOM}"
    return f'<svg class="time" viewBox="0 0 {whole}" role="img">{"".join(parts)}</svg>'


def _grid(step: float, top: float, up: Callable[[float], float]) -> Iterator[str]:
    for number in range(round(top / step) + 1):
        value = number * step
        y = f"{up(value):.1f}"
        yield f'<line class="grid" x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y}" y2="{y}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y}" dy="0.32em" text-anchor="end">{value:g}</text>'


def _label(x: float, anchor: str, at: float, span: float) -> str:
    form = "%Y-%m-%d" if span >= 86_400 else "%H:%M"
    words = time.strftime(form, time.localtime(at))
    return f'<text x="{x}" y="{_TOP + _HEIGHT + 15}" text-anchor="{anchor}">{words}</text>'


def _step(top: float) -> float:
    """A round number that divides the axis into about four."""
    size = 10.0 ** (len(str(int(top))) - 1 if top >= 1 else -1)
    while size * 10 < top:
        size *= 10
    return min((each * size / 4 for each in (4, 8, 10, 20, 40)), key=lambda each: abs(top / each - 4))


def _smooth(points: Sequence[Point]) -> list[Point]:
    """Medians of as many neighbours as there are on a twelfth of the time, eleven at least."""
    reach = max(5, len(points) // 24)
    found = []
    for place, (at, _) in enumerate(points):
        near = sorted(value for _, value in points[max(0, place - reach) : place + reach + 1])
        found.append((at, near[len(near) // 2]))
    return found
