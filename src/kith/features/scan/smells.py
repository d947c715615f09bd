"""Find code that is hard to follow, by numbers: tangled functions, copies, long files, import cycles."""

import ast
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from kith.context.imports import Resolver, imports_of_module
from kith.features.scan.complexity import FunctionMeasures, functions
from kith.features.scan.duplicates import find_duplicates
from kith.features.scan.graph import find_knots, shortest_cycle

Kind = Literal["function", "copy", "file", "circle", "unused"]

# What is above these is worth a look: lines of a function, McCabe's number (his own limit, 1976), how deep
# its control structures stand, its parameters; lines of a file; tokens that stand twice.
LIMITS: Final[Mapping[str, int]] = {"lines": 60, "cyclomatic": 10, "nesting": 4, "parameters": 6}
FILE_LINES: Final = 600
COPIED_TOKENS: Final = 100
_CIRCLE: Final = 1.0  # how much a circle of imports weighs


@dataclass(frozen=True, slots=True)
class Smell:
    """A place that could be better, and by which numbers.

    Lines count from 1. `figures` holds what exceeds its limit; `weight` by how much it does, all together
    (1.0: once over). `other` is the second place of a copy, or the way round a circle.
    """

    kind: Kind
    path: str
    first: int
    last: int
    name: str
    weight: float
    figures: Mapping[str, float] = field(default_factory=dict)
    other: str = ""


def find_smells(texts: Mapping[str, str]) -> tuple[Smell, ...]:
    """The smells of source texts by their paths, the worst first; nothing a text holds makes it raise."""
    found = [
        *(smell for path, text in texts.items() for smell in _function_smells(path, text)),
        *(smell for path, text in texts.items() for smell in _file_smells(path, text)),
        *_copies(texts),
        *_circles(texts),
    ]
    return tuple(sorted(found, key=rank))


def rank(smell: Smell) -> tuple[float, str, int]:
    """The order of smells: by weight, the same weight by place."""
    return -smell.weight, smell.path, smell.first


def exceeded(measured: FunctionMeasures) -> dict[str, float]:
    """The figures of a function that are above their limits."""
    values = {name: getattr(measured, name) for name in LIMITS}
    return {name: value for name, value in values.items() if value > LIMITS[name]}


def _function_smells(path: str, text: str) -> Iterator[Smell]:
    for each in functions(path, text):
        figures = exceeded(each)
        if figures:
            weight = sum(value / LIMITS[name] - 1 for name, value in figures.items())
            yield Smell("function", path, each.first, each.last, each.name, weight, figures)


def _file_smells(path: str, text: str) -> Iterator[Smell]:
    lines = text.count("\n") + (not text.endswith("\n"))
    if lines > FILE_LINES:
        yield Smell("file", path, 1, lines, "", lines / FILE_LINES - 1, {"lines": lines})


def _copies(texts: Mapping[str, str]) -> Iterator[Smell]:
    for each in find_duplicates(texts, COPIED_TOKENS):
        place, other = each.place, each.other
        where = f"{other.path}:{other.first}-{other.last}"
        weight = each.tokens / COPIED_TOKENS - 1
        yield Smell("copy", place.path, place.first, place.last, "", weight, {"tokens": each.tokens}, where)


def _circles(texts: Mapping[str, str]) -> Iterator[Smell]:
    """Modules that import each other when they are loaded; what is imported later makes no circle."""
    resolver = Resolver(sorted(texts))
    graph = {
        path: frozenset(
            target for target, late in resolver.resolve(path, _imports(text)) if not late and target != path
        )
        for path, text in texts.items()
        if path.endswith(".py")
    }
    for knot in find_knots(graph):
        way = shortest_cycle(graph, knot)
        yield Smell("circle", way[0], 1, 1, "", _CIRCLE, {"modules": len(knot)}, " -> ".join([*way, way[0]]))


def _imports(text: str) -> tuple[str, ...]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a foreign file's invalid escapes are not our news
            return imports_of_module(ast.parse(text), text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
