"""The report of a scan as values; the surfaces and the Markdown are made from these."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from kith.core.values import Finding
from kith.features.scan.complexity import FunctionMeasures
from kith.features.scan.duplicates import Duplicate, Prints
from kith.features.scan.entries import EntryPoint
from kith.features.scan.facts import FileFacts


class Survey(Struct, frozen=True):
    """The facts of each file that was looked at, by path (sorted); `files` are all of the tree.

    `sizes` in bytes; a file that could not be read has an empty digest.
    """

    files: Sequence[str] = ()
    facts: Mapping[str, FileFacts] = field(default_factory=dict)
    prints: Mapping[str, Prints] = field(default_factory=dict)
    digests: Mapping[str, bytes] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)


class LanguageSize(Struct, frozen=True):
    """The size of one language; `code` lines are neither blank nor comment."""

    name: str
    files: int
    lines: int
    code: int
    comment: int
    blank: int


class Size(Struct, frozen=True):
    """All files; `binary` and `unread` (too large) ones have no lines; `tests` are files of tests."""

    files: int
    bytes: int
    lines: int
    binary: int = 0
    unread: int = 0
    copies: int = 0
    tests: int = 0
    test_lines: int = 0


class Commands(Struct, frozen=True):
    """The commands that configure, build and test the project; "" for nothing to do. `why`: what says so."""

    name: str
    language: str
    why: str
    configure: str
    build: str
    test: str


class Cycle(Struct, frozen=True):
    """Modules that depend on each other in a circle: `modules` of them, `way` a shortest round trip."""

    way: tuple[str, ...]
    modules: int


class Used(Struct, frozen=True):
    """A module, and how many others depend on it directly."""

    path: str
    by: int


class ModuleGraph(Struct, frozen=True):
    """The project's own modules and what they import of each other.

    `cycles` shows one of each knot of modules that all depend on each other, of `knots` the largest.
    """

    modules: int = 0
    imports: int = 0
    cycles: tuple[Cycle, ...] = ()
    most_used: tuple[Used, ...] = ()
    knots: int = 0


class Complex(Struct, frozen=True):
    """A function that is hard to follow, and its file."""

    path: str
    function: FunctionMeasures


class Functions(Struct, frozen=True):
    """All functions; `above` counts those over `limit` of cyclomatic complexity, `worst` lists the most."""

    functions: int = 0
    types: int = 0
    complexity: int = 0
    limit: int = 0
    above: int = 0
    worst: tuple[Complex, ...] = ()


class HotSpot(Struct, frozen=True):
    """A file that is often changed and complex; `score` is 1.0 for the hottest."""

    path: str
    commits: int
    complexity: int
    score: float


class History(Struct, frozen=True):
    """The hot spots of the last year. `unknown` says why nothing is known."""

    hotspots: tuple[HotSpot, ...] = ()
    unknown: str = ""


class Copied(Struct, frozen=True):
    """Duplicated code: pairs, lines of one side together, and the longest pairs."""

    pairs: int = 0
    lines: int = 0
    longest: tuple[Duplicate, ...] = ()


class Covered(Struct, frozen=True):
    """The share of code that tests ran, from 0 to 1, as a report in the tree says; "" if there is none."""

    share: float = 0.0
    source: str = ""


class LintFindings(Struct, frozen=True):
    """The findings of linters and type checkers. `problems`: which did not run, and why."""

    tools: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    problems: tuple[str, ...] = ()


class Report(Struct, frozen=True):
    """The results of a scan of a codebase. `folder` is the part that was looked at, "" for the whole."""

    name: str
    folder: str
    size: Size
    languages: tuple[LanguageSize, ...] = ()
    layout: str = ""
    entries: tuple[EntryPoint, ...] = ()
    toolchains: tuple[Commands, ...] = ()
    covered: Covered = Covered()
    modules: ModuleGraph = ModuleGraph()
    functions: Functions = Functions()
    history: History = History()
    copied: Copied = Copied()
    linted: LintFindings = LintFindings()
