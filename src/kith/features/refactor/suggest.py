"""Suggest what could be better in a project, by numbers, the worst first, and how to change it."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import Struct, field

from kith.context.imports import Resolver, imports_of_python
from kith.core.errors import UsageError
from kith.core.run import Run
from kith.core.workspace import read_readable
from kith.edits.rename import language_of
from kith.features.refactor.by_syntax import Organise, Remove, Wanted
from kith.features.refactor.syntax.codebase import Codebase
from kith.features.refactor.syntax.organise import unused_definitions, unused_imports
from kith.features.scan.complexity import FunctionMeasures, functions
from kith.features.scan.duplicates import find_duplicates
from kith.features.scan.graph import find_knots, shortest_cycle
from kith.gates.untouched import is_test_file

# Find code that is hard to follow, by numbers: tangled functions, copies, long files, import cycles.

Kind = Literal["function", "copy", "file", "circle", "unused"]

# What is above these is worth a look: lines of a function, McCabe's number (his own limit, 1976), how deep
# its control structures stand, its parameters; lines of a file; tokens that stand twice.
LIMITS: Final[Mapping[str, int]] = {"lines": 60, "cyclomatic": 10, "nesting": 4, "parameters": 6}
FILE_LINES: Final = 600
COPIED_TOKENS: Final = 100
_CIRCLE: Final = 1.0  # how much a circle of imports weighs


class Smell(Struct, frozen=True):
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
            target
            for target, late in resolver.resolve(path, imports_of_python(text))
            if not late and target != path
        )
        for path, text in texts.items()
        if path.endswith(".py")
    }
    for knot in find_knots(graph):
        way = shortest_cycle(graph, knot)
        yield Smell("circle", way[0], 1, 1, "", _CIRCLE, {"modules": len(knot)}, " -> ".join([*way, way[0]]))


MOST_FILES = 3_000  # that are looked at closely; more would take minutes
_UNUSED = 0.2  # the weight of one unused import, and of an unused definition


class RefactoringSuggestion(Struct, frozen=True):
    """A smell, in words; `wanted` changes it without a model, None where only a model can."""

    smell: Smell
    text: str
    wanted: Wanted | None = None

    @property
    def place(self) -> str:
        """The place, as `path:first-last`."""
        first, last = self.smell.first, self.smell.last
        lines = f"{first}-{last}" if last > first else f"{first}"
        return f"{self.smell.path}:{lines}" if self.smell.kind != "file" else self.smell.path

    def command(self, number: int) -> str:
        """The command that applies it."""
        match self.wanted:
            case Organise(where):
                return f"kith refactor organise-imports {where}"
            case Remove(path, name):
                return f"kith refactor remove {path}:{name}"
        return f"kith refactor --apply {number}"

    def describe(self, number: int) -> dict[str, Any]:
        """As plain data, for `--json`."""
        smell = self.smell
        return {
            "number": number,
            "kind": smell.kind,
            "path": smell.path,
            "first": smell.first,
            "last": smell.last,
            "name": smell.name,
            "weight": round(smell.weight, 3),
            "figures": dict(smell.figures),
            "other": smell.other,
            "text": self.text,
            "needs_model": self.wanted is None,
            "command": self.command(number),
        }


async def suggest(run: Run, where: str = ".") -> tuple[RefactoringSuggestion, ...]:
    """Suggest what could be better in a file or folder of the workspace (".": in all of it), the worst first.

    Tests are only looked at for what nothing uses. Raises UsageError for a place without source files, or
    with too many.
    """
    files = await run.workspace.files()
    source = [path for path in files if language_of(path)]
    chosen = [path for path in source if where in (".", path) or path.startswith(f"{where}/")]
    if not chosen:
        raise UsageError(f"There is no source file at {where}.")
    if len(chosen) > MOST_FILES:
        raise UsageError(f"{len(chosen):,} files are too many to look at closely; name a folder of them.")
    python = [path for path in source if path.endswith(".py")] if len(source) <= MOST_FILES else []
    contents = await read_readable(run.workspace, [*chosen, *python])
    # Parsing takes seconds, and a face must stay alive meanwhile.
    return await asyncio.to_thread(_look, contents, frozenset(chosen), frozenset(files))


def _look(
    contents: Mapping[str, bytes], chosen: frozenset[str], files: frozenset[str]
) -> tuple[RefactoringSuggestion, ...]:
    texts = {
        path: content.decode("utf-8", "replace")
        for path, content in contents.items()
        if path in chosen and not is_test_file(path)
    }
    found = [RefactoringSuggestion(smell, _words(smell)) for smell in find_smells(texts)]
    python = {path: content for path, content in contents.items() if path.endswith(".py")}
    code = Codebase.of(python, files)
    for path in sorted(chosen & python.keys()):
        found += _unused_in(code, path)
    return tuple(sorted(found, key=lambda each: rank(each.smell)))


def _unused_in(code: Codebase, path: str) -> Iterator[RefactoringSuggestion]:
    try:
        dead = [alias for _, alias, doubt in unused_imports(code, path) if not doubt]
        definitions = unused_definitions(code, path)
    except UsageError:  # it does not parse; its own tools say so better
        return
    if dead:
        names = ", ".join(alias.asname or alias.name for alias in dead)
        line = min(alias.lineno for alias in dead)
        smell = Smell("unused", path, line, line, "", _UNUSED * len(dead), {"imports": len(dead)})
        yield RefactoringSuggestion(
            smell, f"imports {names} and does not use {'them' if len(dead) > 1 else 'it'}", Organise(path)
        )
    for name, node in definitions:
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        smell = Smell(
            "unused", path, node.lineno, node.lineno + lines - 1, name, _UNUSED * 2, {"lines": lines}
        )
        yield RefactoringSuggestion(smell, f"nothing uses {name}", Remove(path, name))


_MEASURES = {
    "lines": "{:g} lines",
    "cyclomatic": "{:g} ways through it",
    "nesting": "{:g} levels deep",
    "parameters": "{:g} parameters",
}


def _words(smell: Smell) -> str:
    """A smell for people: what is measured, with its numbers."""
    match smell.kind:
        case "function":
            measures = [_MEASURES[name].format(value) for name, value in smell.figures.items()]
            return f"{smell.name}: {', '.join(measures)}"
        case "copy":
            return f"the same {smell.figures['tokens']:g} tokens are in {smell.other}"
        case "file":
            return f"a file of {smell.figures['lines']:,g} lines"
    return f"these modules import each other: {smell.other}"


def pick(suggestions: Sequence[RefactoringSuggestion], number: int) -> RefactoringSuggestion:
    """The suggestion of that number, from 1. Raises UsageError."""
    if not 0 < number <= len(suggestions):
        many = f"there are {len(suggestions)}" if suggestions else "there is none"
        raise UsageError(f"There is no suggestion {number}; {many}.")
    return suggestions[number - 1]
