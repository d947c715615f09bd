"""The report of a scan as values; the surfaces and the Markdown are made from these."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kith.core.values import Finding
from kith.features.scan.complexity import FunctionMeasures
from kith.features.scan.duplicates import Duplicate, Prints
from kith.features.scan.entries import EntryPoint
from kith.features.scan.facts import FileFacts


@dataclass(frozen=True, slots=True)
class Survey:
    """The facts of each file that was looked at, by path (sorted); `files` are all of the tree.

    `sizes` in bytes; a file that could not be read has an empty digest.
    """

    files: Sequence[str] = ()
    facts: Mapping[str, FileFacts] = field(default_factory=dict)
    prints: Mapping[str, Prints] = field(default_factory=dict)
    digests: Mapping[str, bytes] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LanguageSize:
    """The size of one language; `code` lines are neither blank nor comment."""

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
    """The commands that configure, build and test the project; "" for nothing to do. `why`: what says so."""

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
class ModuleGraph:
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
    function: FunctionMeasures


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
class HotSpot:
    """A file that is often changed and complex; `score` is 1.0 for the hottest."""

    path: str
    commits: int
    complexity: int
    score: float


@dataclass(frozen=True, slots=True)
class History:
    """The hot spots of the last year. `unknown` says why nothing is known."""

    hotspots: tuple[HotSpot, ...] = ()
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Copied:
    """Duplicated code: pairs, lines of one side together, and the longest pairs."""

    pairs: int = 0
    lines: int = 0
    longest: tuple[Duplicate, ...] = ()


@dataclass(frozen=True, slots=True)
class Covered:
    """The share of code that tests ran, from 0 to 1, as a report in the tree says; "" if there is none."""

    share: float = 0.0
    source: str = ""


@dataclass(frozen=True, slots=True)
class LintFindings:
    """The findings of linters and type checkers. `problems`: which did not run, and why."""

    tools: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
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
