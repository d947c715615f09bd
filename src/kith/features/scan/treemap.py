"""Rectangles for numbers: a squarified treemap, where each area is in proportion and none is a needle."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle: its corner, width and height, in pixels."""

    x: float
    y: float
    width: float
    height: float

    @property
    def area(self) -> float:
        return self.width * self.height

    def shrunk(self, side: float, top: float) -> "Box":
        """What is left within a border and a taller one at the top; never negative."""
        width, height = max(0.0, self.width - 2 * side), max(0.0, self.height - side - top)
        return Box(self.x + side, self.y + top, width, height)


def squarify(weights: Sequence[float], box: Box) -> list[Box]:
    """A box for each weight (positive, the largest first), which together fill `box`.

    Bruls, Huizing and van Wijk, Squarified Treemaps (2000): a row grows while its worst box gets squarer.
    """
    total = sum(weights)
    if not total or not box.area:
        return [Box(box.x, box.y, 0.0, 0.0) for _ in weights]
    areas = [weight * box.area / total for weight in weights]
    boxes: list[Box] = []
    begin = 0
    while begin < len(areas):
        side = min(box.width, box.height)
        end = begin + 1
        while end < len(areas) and _worst(areas[begin : end + 1], side) <= _worst(areas[begin:end], side):
            end += 1
        row = areas[begin:end]
        boxes += _lay(row, box)
        box = _rest(sum(row), box)
        begin = end
    return boxes


def _worst(row: Sequence[float], side: float) -> float:
    """The highest ratio of sides in a row laid along a side."""
    total = sum(row)
    if not total or not side:
        return float("inf")
    return max(side * side * row[0] / (total * total), total * total / (side * side * row[-1]))


def _lay(row: Sequence[float], box: Box) -> Iterator[Box]:
    """The boxes of a row along the shorter side."""
    total, at = sum(row), 0.0
    for area in row:
        if box.width >= box.height:
            thickness = total / box.height
            yield Box(box.x, box.y + at, thickness, area / thickness)
            at += area / thickness
        else:
            thickness = total / box.width
            yield Box(box.x + at, box.y, area / thickness, thickness)
            at += area / thickness


def _rest(used: float, box: Box) -> Box:
    if box.width >= box.height:
        thickness = used / box.height
        return Box(box.x + thickness, box.y, max(0.0, box.width - thickness), box.height)
    thickness = used / box.width
    return Box(box.x, box.y + thickness, box.width, max(0.0, box.height - thickness))
