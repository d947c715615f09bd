"""Regret curves as one self-contained SVG that can be read on a light and on a dark page."""

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import NamedTuple

WIDTH, TOP, HEIGHT, LEFT, RIGHT, GAP = 800, 60, 200, 46, 210, 70
STEP = 8  # tasks between two points of a curve
# Colours that can be told apart with any eyes (Okabe and Ito), and on both grounds.
COLOURS = {
    "kith": "#d55e00",
    "cascade": "#0072b2",
    "always local": "#009e73",
    "always frontier": "#cc79a7",
    "issues to the frontier": "#888888",
    "long to the frontier": "#b8860b",
    "best by kind, in hindsight": "#7a5fd0",
}
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #333 } .title { font-weight: 600; font-size: 13px }
.ground { fill: #fff } .grid { stroke: #8884; stroke-width: 1 } .zero { stroke: #888; stroke-width: 1 }
.curve { fill: none; stroke-width: 1.6; stroke-linejoin: round } .kith { stroke-width: 3 }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .ground { fill: #14171c } }
"""


class Curve(NamedTuple):
    """A name, and how many solved tasks it is behind after each task."""

    name: str
    behind: list[float]


class Panel(NamedTuple):
    title: str
    curves: list[Curve]


def draw(panels: Sequence[Panel]) -> str:
    """The panels below each other."""
    height = TOP + len(panels) * (HEIGHT + GAP) - GAP // 2
    body = "\n".join(
        line for row, panel in enumerate(panels) for line in _panel(panel, TOP + row * (HEIGHT + GAP))
    )
    label = "How far each way to choose falls behind the best fixed one"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{label}">\n<style>{STYLE}</style>\n'
        f'<rect class="ground" width="{WIDTH}" height="{height}"/>\n'
        f'<text x="{LEFT}" y="20">{label}: solved tasks, summed, over the tasks of a month</text>\n'
        f"{body}\n</svg>\n"
    )


def _panel(panel: Panel, top: float) -> Iterator[str]:
    low = min(0.0, *(min(curve.behind) for curve in panel.curves))
    high = max(max(curve.behind) for curve in panel.curves)
    count = len(panel.curves[0].behind)
    scale = HEIGHT / (high - low)

    def x(number: float) -> float:
        return LEFT + number / count * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return top + (high - value) * scale

    yield f'<text class="title" x="{LEFT}" y="{top - 12:.0f}">{escape(panel.title)}</text>'
    for value in _ticks(low, high):
        kind = "zero" if value == 0 else "grid"
        yield f'<path class="{kind}" d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}"/>'
        yield f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>'
    for number in range(0, count + 1, 200):
        yield f'<text x="{x(number):.1f}" y="{top + HEIGHT + 16:.0f}" text-anchor="middle">{number}</text>'
    for curve in sorted(panel.curves, key=lambda each: each.name == "kith"):
        kept = [*range(0, count, STEP), count - 1]
        points = " ".join(f"{x(number):.1f},{y(curve.behind[number]):.1f}" for number in kept)
        extra = " kith" if curve.name == "kith" else ""
        yield f'<polyline class="curve{extra}" stroke="{COLOURS[curve.name]}" points="{points}"/>'
    for curve, at in _labels(panel.curves, y, top):
        place = f'x="{WIDTH - RIGHT + 8}" y="{at + 4:.1f}"'
        yield f'<text {place} style="fill:{COLOURS[curve.name]}">{_label(curve)}</text>'


def _label(curve: Curve) -> str:
    return escape(f"{curve.name} {curve.behind[-1]:+.0f}")


def _labels(
    curves: Sequence[Curve], y: Callable[[float], float], top: float
) -> Iterator[tuple[Curve, float]]:
    """Each curve with the height of its name, far enough from the next one to be read."""
    taken = top - 6.0
    for curve in sorted(curves, key=lambda each: -each.behind[-1]):
        taken = max(taken + 14, y(curve.behind[-1]))
        yield curve, taken


def _ticks(low: float, high: float) -> list[float]:
    """Round values, about five of them."""
    step = next(each for each in (5, 10, 20, 50, 100, 200, 500, 1000) if (high - low) / each <= 5)
    return [number * step for number in range(int(low // step) + (low % step > 0), int(high // step) + 1)]
