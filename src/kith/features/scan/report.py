"""The report of a scan as values: sizes, modules, hot spots, copies; surfaces are drawn from it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kith.core.values import Finding
from kith.features.scan.duplicates import Duplicate, Prints
from kith.features.scan.entries import Entry
from kith.features.scan.facts import FileFacts
from kith.features.scan.function_measure import FunctionMeasure

# Where changes and complexity meet: the files that a project's own history points at.


@dataclass(frozen=True, slots=True)
class Changed:
    """How often a file was committed, and how many lines that added and removed together."""

    commits: int
    lines: int


@dataclass(frozen=True, slots=True)
class HotSpot:
    """A file that is often changed and complex; `score` is 1.0 for the hottest."""

    path: str
    commits: int
    complexity: int
    score: float


def count_changes(records: Iterable[str]) -> dict[str, Changed]:
    """What `git log --numstat` tells of each file; a record is `added<TAB>removed<TAB>path`, `-` for binary.

    Records of another form are left out.
    """
    found: dict[str, Changed] = {}
    for record in records:
        added, _, rest = record.strip("\n").partition("\t")
        removed, _, path = rest.partition("\t")
        if not path:
            continue
        known = found.get(path, Changed(0, 0))
        lines = sum(int(number) for number in (added, removed) if number.isdecimal())
        found[path] = Changed(known.commits + 1, known.lines + lines)
    return found


def find_hotspots(changes: Mapping[str, Changed], complexity: Mapping[str, int]) -> tuple[HotSpot, ...]:
    """The files by commits times complexity, the hottest first (after Tornhill, Your Code as a Crime Scene).

    A file without complexity (no functions, not code) or without changes is no hot spot.
    """
    products = {
        path: each.commits * complexity[path] for path, each in changes.items() if complexity.get(path, 0) > 0
    }
    most = max(products.values(), default=0) or 1
    spots = (
        HotSpot(path, changes[path].commits, complexity[path], product / most)
        for path, product in products.items()
    )
    return tuple(sorted(spots, key=lambda each: (-each.score, each.path)))


@dataclass(frozen=True, slots=True)
class Survey:
    """What is known of each file that was looked at, by path (sorted); `files` are all of the tree.

    `sizes` in bytes; a file that could not be read has an empty digest.
    """

    files: Sequence[str] = ()
    facts: Mapping[str, FileFacts] = field(default_factory=dict)
    prints: Mapping[str, Prints] = field(default_factory=dict)
    digests: Mapping[str, bytes] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LanguageSize:
    """How much there is in one language; `code` lines are neither blank nor comment."""

    name: str
    files: int
    lines: int
    code: int
    comment: int
    blank: int


@dataclass(frozen=True, slots=True)
class Size:
    """All files; `binary` and `unread` (too large) ones have no lines; `tests` are files of tests."""

    files: int
    bytes: int
    lines: int
    binary: int = 0
    unread: int = 0
    copies: int = 0
    tests: int = 0
    test_lines: int = 0


@dataclass(frozen=True, slots=True)
class Commands:
    """How the project is configured, built, tested; "" where there is nothing to do. `why`: what says so."""

    name: str
    language: str
    why: str
    configure: str
    build: str
    test: str


@dataclass(frozen=True, slots=True)
class Cycle:
    """Modules that depend on each other in a circle: `modules` of them, `way` a shortest round trip."""

    way: tuple[str, ...]
    modules: int


@dataclass(frozen=True, slots=True)
class Used:
    """A module, and how many others depend on it directly."""

    path: str
    by: int


@dataclass(frozen=True, slots=True)
class Modules:
    """The project's own modules and what they import of each other.

    `cycles` shows one of each knot of modules that all depend on each other, of `knots` the largest.
    """

    modules: int = 0
    imports: int = 0
    cycles: tuple[Cycle, ...] = ()
    most_used: tuple[Used, ...] = ()
    knots: int = 0


@dataclass(frozen=True, slots=True)
class Complex:
    """A function that is hard to follow, and its file."""

    path: str
    function: FunctionMeasure


@dataclass(frozen=True, slots=True)
class Functions:
    """All functions; `above` counts those over `limit` of cyclomatic complexity, `worst` lists the most."""

    functions: int = 0
    types: int = 0
    complexity: int = 0
    limit: int = 0
    above: int = 0
    worst: tuple[Complex, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """Where the work of the last year went. `unknown` says why nothing is known."""

    hotspots: tuple[HotSpot, ...] = ()
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Copied:
    """Code that stands in more than one place: pairs, lines of one side together, and the longest pairs."""

    pairs: int = 0
    lines: int = 0
    longest: tuple[Duplicate, ...] = ()


@dataclass(frozen=True, slots=True)
class Covered:
    """How much of the code the tests ran, from 0 to 1, as a report in the tree says; "" if there is none."""

    share: float = 0.0
    source: str = ""


@dataclass(frozen=True, slots=True)
class Linted:
    """What linters and type checkers found. `problems`: which did not run, and why."""

    tools: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What a codebase is. `folder` is the part that was looked at, "" for the whole."""

    name: str
    folder: str
    size: Size
    languages: tuple[LanguageSize, ...] = ()
    layout: str = ""
    entries: tuple[Entry, ...] = ()
    toolchains: tuple[Commands, ...] = ()
    covered: Covered = Covered()
    modules: Modules = Modules()
    functions: Functions = Functions()
    history: History = History()
    copied: Copied = Copied()
    linted: Linted = Linted()
