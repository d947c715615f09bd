"""Draw a codebase as a treemap: folders and files as large as their code, coloured by where the work is."""

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final
from xml.sax.saxutils import escape

from msgspec import Struct

from kith.context.source import NO_CODE
from kith.features.scan.report import Report, Survey
from kith.view.document import visible


class TreemapBox(Struct, frozen=True):
    """A rectangle: its corner, width and height, in pixels."""

    x: float
    y: float
    width: float
    height: float

    @property
    def area(self) -> float:
        return self.width * self.height

    def shrunk(self, side: float, top: float) -> "TreemapBox":
        """The box within a border and a taller one at the top; never negative."""
        width, height = max(0.0, self.width - 2 * side), max(0.0, self.height - side - top)
        return TreemapBox(self.x + side, self.y + top, width, height)


def squarify(weights: Sequence[float], box: TreemapBox) -> list[TreemapBox]:
    """A box for each weight (positive, the largest first), which together fill `box`.

    Bruls, Huizing and van Wijk, Squarified Treemaps (2000): a row grows while its worst box gets squarer.
    """
    total = sum(weights)
    if not total or not box.area:
        return [TreemapBox(box.x, box.y, 0.0, 0.0) for _ in weights]
    areas = [weight * box.area / total for weight in weights]
    boxes: list[TreemapBox] = []
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


def _lay(row: Sequence[float], box: TreemapBox) -> Iterator[TreemapBox]:
    """The boxes of a row along the shorter side."""
    total, at = sum(row), 0.0
    for area in row:
        if box.width >= box.height:
            thickness = total / box.height
            yield TreemapBox(box.x, box.y + at, thickness, area / thickness)
            at += area / thickness
        else:
            thickness = total / box.width
            yield TreemapBox(box.x + at, box.y, area / thickness, thickness)
            at += area / thickness


def _rest(used: float, box: TreemapBox) -> TreemapBox:
    if box.width >= box.height:
        thickness = used / box.height
        return TreemapBox(box.x + thickness, box.y, max(0.0, box.width - thickness), box.height)
    thickness = used / box.width
    return TreemapBox(box.x, box.y + thickness, box.width, max(0.0, box.height - thickness))


# --- the picture -----------------------------------------------------------------------------


_WIDTH: Final = 1200
_HEIGHT: Final = 820
_MAP: Final = TreemapBox(20, 76, _WIDTH - 40, _HEIGHT - 96)
_SMALLEST: Final = 60.0  # square pixels of a tile; what is smaller is drawn as one with others
_OPENED: Final = 2_600.0  # square pixels of a folder in which its files can be told apart
_HEAD: Final = 17.0  # pixels of a folder's name
_SMALL: Final = 10  # pixels of the letters in a tile; a folder's are 11
_NARROW, _BROAD = frozenset("fijlrt.,:;!'|()[]/ "), frozenset("mwMW@%")
_LEAST: Final = 7  # letters of a name that is cut
_STEPS: Final = 6
# Fill and text of each step from cold to hot, on a light and on a dark page.
_LIGHT: Final = (
    *(("#e6ebf0", "#24303c"), ("#f6e6cf", "#24303c"), ("#f8d2a0", "#24303c"), ("#f2b06b", "#24303c")),
    *(("#e88c49", "#1d1208"), ("#cf5a2b", "#ffffff"), ("#a93418", "#ffffff")),
)
_DARK: Final = (
    *(("#2b3641", "#d5dde5"), ("#47403a", "#e6dccf"), ("#684b35", "#f2e5d6"), ("#8c5630", "#fbeee0")),
    *(("#b5622b", "#ffffff"), ("#dd7430", "#1d1208"), ("#ff9248", "#1d1208")),
)


class _Node(Struct):
    """A folder or file: its code, in lines, and the heat of all lines together."""

    path: str
    name: str
    lines: int = 0
    heat: float = 0.0
    children: "dict[str, _Node] | None" = None

    @property
    def mean(self) -> float:
        """The heat of a line, from 0 to 1."""
        return self.heat / self.lines if self.lines else 0.0


def draw(report: Report, survey: Survey) -> str:
    """One SVG document without anything from elsewhere: the same report gives the same text.

    The area is in proportion to lines of code. The colour tells changes in the last year times complexity,
    or where there is no history complexity alone.
    """
    heat, meaning = _heat(report, survey)
    root = _grow(survey, heat)
    title = visible(f"{report.name}/{report.folder}" if report.folder else report.name)
    words = (
        f"{report.size.lines:,} lines in {report.size.files:,} files; area: lines of code; colour: {meaning}"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        f' font-family="system-ui, sans-serif" font-size="11">',
        f"<title>{escape(title)}</title>",
        f"<style>{_style()}</style>",
        f'<rect class="page" width="{_WIDTH}" height="{_HEIGHT}"/>',
        f'<text class="ink" x="20" y="38" font-size="22" font-weight="600">{escape(title)}</text>',
        f'<text class="soft" x="20" y="60" font-size="13">{words}</text>',
        *_legend(),
        *_draw_folder(root, _MAP),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _heat(report: Report, survey: Survey) -> tuple[dict[str, float], str]:
    if report.history.hotspots:
        heat = {each.path: each.score for each in report.history.hotspots}
        return heat, "changes in the last year × complexity"
    most = max((each.complexity for each in survey.facts.values()), default=0) or 1
    return {path: each.complexity / most for path, each in survey.facts.items()}, "complexity"


def _grow(survey: Survey, heat: Mapping[str, float]) -> _Node:
    """The tree of folders and files of code."""
    root = _Node("", "", children={})
    for path, facts in survey.facts.items():
        code = facts.lines - facts.blank - facts.comment
        if not facts.language or facts.language in NO_CODE or code <= 0:
            continue
        node = root
        parts = path.split("/")
        for number, name in enumerate(parts):
            _add(node, code, heat.get(path, 0.0))
            if node.children is None:
                node.children = {}
            node = node.children.setdefault(name, _Node("/".join(parts[: number + 1]), name))
        _add(node, code, heat.get(path, 0.0))
    return root


def _add(node: _Node, lines: int, heat: float) -> None:
    node.lines += lines
    node.heat += heat * lines


# --- drawing -----------------------------------------------------------------------------------


def _draw_folder(folder: _Node, box: TreemapBox) -> Iterator[str]:
    """Draw what is in a folder; what would be too small to see is one tile together."""
    children = sorted((folder.children or {}).values(), key=lambda each: (-each.lines, each.name))
    if not children or not folder.lines:
        return
    scale = box.area / folder.lines
    seen = [each for each in children if each.lines * scale >= _SMALLEST]
    small = children[len(seen) :]
    if small:
        rest = _Node(folder.path, f"{len(small)} more", sum(each.lines for each in small))
        rest.heat = sum(each.heat for each in small)
        seen = sorted([*seen, rest], key=lambda each: -each.lines)
    for node, place in zip(seen, squarify([each.lines for each in seen], box), strict=True):
        if node.children and place.area >= _OPENED and min(place.width, place.height) > 3 * _HEAD:
            yield from _draw_opened(node, place)
        else:
            yield from _draw_tile(node, place)


def _draw_opened(node: _Node, box: TreemapBox) -> Iterator[str]:
    inner = box.shrunk(1.0, 1.0)
    while node.children and len(node.children) == 1:  # a folder that holds but one is named with it
        child = next(iter(node.children.values()))
        if child.children is None:
            break
        node = _Node(child.path, f"{node.name}/{child.name}", child.lines, child.heat, child.children)
    yield f'<g><title>{_hint(node)}</title><rect class="folder" {_at(inner)} rx="3"/></g>'
    if label := _fit(f"{node.name}/", inner.width - 8, 11):
        yield _text(label, inner.x + 4, inner.y + 12.5, "ink")
    yield from _draw_folder(node, inner.shrunk(3.0, _HEAD))


def _draw_tile(node: _Node, box: TreemapBox) -> Iterator[str]:
    step = _step(node.mean)
    inner = box.shrunk(0.75, 0.75)
    yield f'<g><title>{_hint(node)}</title><rect class="h{step}" {_at(inner)} rx="2"/>'
    if inner.height >= 15 and (label := _fit(node.name, inner.width - 6, _SMALL)):
        yield _text(label, inner.x + 3, inner.y + 12, f"tile t{step}")
    yield "</g>"


def _step(heat: float) -> int:
    """From 0, cold, to 6; the root lets the middle be told apart, where most files are."""
    return 0 if heat <= 0 else min(_STEPS, 1 + int(math.sqrt(heat) * (_STEPS - 0.001)))


def _fit(name: str, room: float, size: int) -> str:
    """A name in so many pixels, cut at its end; "" where too little would be left to tell it by."""
    shown = visible(name)
    widths = [size * (0.36 if char in _NARROW else 0.92 if char in _BROAD else 0.6) for char in shown]
    if sum(widths) <= room:
        return shown
    kept = bisect_right(list(accumulate(widths)), room - size)
    return f"{shown[:kept]}…" if kept >= _LEAST else ""


def _text(words: str, x: float, y: float, style: str) -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def _hint(node: _Node) -> str:
    more = f"{node.path}/" if node.children else node.path
    return escape(f"{visible(more or node.name)}: {node.lines:,} lines of code")


def _at(box: TreemapBox) -> str:
    return f'x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'


def _legend() -> Iterator[str]:
    """Cold to hot, at the top right."""
    x, y, width = _WIDTH - 20 - 22 * (_STEPS + 1), 46, 22
    for step in range(_STEPS + 1):
        yield f'<rect class="h{step}" x="{x + step * width}" y="{y}" width="{width - 2}" height="14" rx="2"/>'
    yield f'<text class="soft" x="{x}" y="{y - 6}">cold</text>'
    yield f'<text class="soft" x="{_WIDTH - 22}" y="{y - 6}" text-anchor="end">hot</text>'


def _style() -> str:
    light = ".page{fill:#ffffff}.ink{fill:#1f2a35}.soft{fill:#5b6875}.folder{fill:#f4f6f8;stroke:#c9d1d9}"
    dark = ".page{fill:#12181f}.ink{fill:#dbe3ea}.soft{fill:#95a3b0}.folder{fill:#1a222b;stroke:#3a4652}"
    tile = f".tile{{font-size:{_SMALL}px}}"
    return f"{tile}{light}{_steps(_LIGHT)}@media (prefers-color-scheme: dark){{{dark}{_steps(_DARK)}}}"


def _steps(colours: tuple[tuple[str, str], ...]) -> str:
    return "".join(
        f".h{step}{{fill:{fill}}}.t{step}{{fill:{text}}}" for step, (fill, text) in enumerate(colours)
    )
