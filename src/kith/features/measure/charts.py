"""Plots in a terminal: bars, shares with their intervals, values over time; plain text, without colour."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Final

from kith.core.median import median

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Glyphs:
    """What plots are drawn with. `rising`: parts of a cell, from the lowest to the whole one.

    `parts`: the fillings of a bar of several parts.
    """

    rising: str
    line: str
    low: str
    high: str
    dot: str
    axis: str
    corner: str
    parts: str


BLOCKS: Final = Glyphs("▁▂▃▄▅▆▇█", "─", "├", "┤", "●", "│", "└", "█▒░")
ASCII: Final = Glyphs(".:#", "-", "|", "|", "o", "|", "+", "#=.")


def choose_glyphs(stream: IO[str]) -> Glyphs:
    """Blocks and lines, or ASCII where the stream's encoding has none."""
    every = "".join(getattr(BLOCKS, name) for name in Glyphs.__slots__)
    try:
        every.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


def draw_share(share: float, low: float, high: float, width: int, glyphs: Glyphs = BLOCKS) -> str:
    """A share (0 to 1) as a dot on a line, between the bounds of its interval.

    `───├──●────┤────────`: the line's ends are 0 and 100 percent.
    """
    cells = [glyphs.line] * width
    for place, char in ((low, glyphs.low), (high, glyphs.high), (share, glyphs.dot)):
        cells[_cell(place, width)] = char
    return "".join(cells)


def draw_parts(parts: Sequence[float], whole: float, width: int, glyphs: Glyphs = BLOCKS) -> str:
    """A bar whose parts are filled each in its own way, as long as they are of `whole`."""
    bar, total = "", 0.0
    for part, char in zip(parts, glyphs.parts, strict=False):
        total += part
        end = round(width * total / whole) if whole else 0
        bar += char * (end - len(bar))
    return bar


def draw_time(points: Sequence[Point], width: int, height: int, glyphs: Glyphs = BLOCKS) -> list[str]:
    """Values over time as columns from 0 on, each the median of its part of the time; gaps stay gaps.

    `points` are (moment, value); the lines are as wide as `width`, their scale on the left included.
    """
    if not points:
        return []
    top = max(value for _, value in points) or 1.0
    scale = max(len(_short(top)), 1)
    room = width - scale - 2
    columns = _columns(points, room)
    rows = []
    for row in range(height, 0, -1):
        label = _short(top) if row == height else _short(top / 2) if row * 2 == height else ""
        cells = "".join(_rise(value, top, row, height, glyphs) for value in columns)
        rows.append(f"{label:>{scale}} {glyphs.axis}{cells}".rstrip())
    rows.append(f"{'0':>{scale}} {glyphs.corner}{glyphs.line * room}")
    return rows


def _columns(points: Sequence[Point], room: int) -> list[float | None]:
    """The median of what falls into each column, the first moment on the left, the last on the right."""
    first, last = min(at for at, _ in points), max(at for at, _ in points)
    cells: list[list[float]] = [[] for _ in range(room)]
    for at, value in points:
        cells[_cell((at - first) / (last - first) if last > first else 0.0, room)].append(value)
    return [median(found) if found else None for found in cells]


def _rise(value: float | None, top: float, row: int, height: int, glyphs: Glyphs) -> str:
    """The piece of a column that stands in a row (the lowest is 1)."""
    if value is None:
        return " "
    steps = len(glyphs.rising)
    filled = max(1, round(value / top * height * steps)) - (row - 1) * steps
    return " " if filled <= 0 else glyphs.rising[min(filled, steps) - 1]


def _cell(place: float, width: int) -> int:
    return min(width - 1, max(0, round(place * (width - 1))))


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"
