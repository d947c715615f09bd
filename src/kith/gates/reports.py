"""Reports of a test run and of a coverage run, and the places in the project they point to."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from kith.core.values import Ran

Outcome = Literal["passed", "failed", "error", "skipped"]


class CaseResult(Struct, frozen=True):
    """One test: `id` as its tool names it and takes it back, and where inside the project it failed.

    `message` is the assertion or error. `frames` are the project's own, outermost first: `path:line in name`.
    `error` is its type as the runner tells it, as far as it does: `AssertionError`, `panic`, `SIGSEGV`.
    """

    id: str
    outcome: Outcome
    message: str = ""
    path: str = ""
    line: int = 0
    frames: tuple[str, ...] = ()
    seconds: float = 0.0
    error: str = ""


class Coverage(Struct, frozen=True):
    """Lines that ran and lines that did not, by file; `branches` as (taken, all) where they were measured."""

    ran: Mapping[str, frozenset[int]]
    missed: Mapping[str, frozenset[int]]
    branches: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """Of all lines that can run, the part that did; 1.0 when there are none."""
        ran, missed = (sum(map(len, lines.values())) for lines in (self.ran, self.missed))
        return ran / (ran + missed) if ran + missed else 1.0


class SuiteReport(Struct, frozen=True, dict=True):
    """A run of tests. `problem` says why it tells nothing: not installed, no tests.

    `built` is False when the build or the collection failed before a test could run. `unmeasured` says why
    there is no coverage although it was asked for. `sources` are files of tests that a build tells, whatever
    their names. `parts` are the commands around the tests.
    """

    ran: Ran
    cases: tuple[CaseResult, ...] = ()
    coverage: Coverage | None = None
    problem: str = ""
    built: bool = True
    unmeasured: str = ""
    sources: tuple[str, ...] = ()
    parts: tuple[Ran, ...] = ()

    @property
    def figures(self) -> dict[str, float]:
        """Numbers for a verdict: tests, failed, and coverage (0 to 1) when it was measured."""
        figures: dict[str, float] = {}
        if self.cases:
            figures |= {"tests": len(self.cases), "failed": len(self.failed)}
            if skipped := sum(case.outcome == "skipped" for case in self.cases):
                figures["skipped"] = skipped
        if self.coverage:
            figures["coverage"] = round(self.coverage.share, 4)
        return figures

    @cached_property
    def by_id(self) -> Mapping[str, CaseResult]:
        return {case.id: case for case in self.cases}

    @cached_property
    def passed(self) -> frozenset[str]:
        return frozenset(case.id for case in self.cases if case.outcome == "passed")

    @cached_property
    def failed(self) -> tuple[CaseResult, ...]:
        return tuple(case for case in self.cases if case.outcome in ("failed", "error"))

    def fails(self, id: str) -> bool:
        """True if a test ran and did not pass."""
        return id in self.by_id and self.by_id[id].outcome in ("failed", "error")

    def skips(self, id: str) -> bool:
        """True if a test was skipped."""
        return id in self.by_id and self.by_id[id].outcome == "skipped"

    def lacks(self, id: str) -> bool:
        """True if the report has tests, and this one is not among them."""
        return bool(self.cases) and id not in self.by_id

    @property
    def ok(self) -> bool:
        """True when the command said so and no test says otherwise."""
        return self.ran.code == 0 and not self.failed


def seen_from_top(report: SuiteReport, folder: str, prefix: str) -> SuiteReport:
    """A report of a project in a folder: `prefix` is for the names of its tests, the folder for its files."""

    def at(path: str) -> str:
        return path and f"{folder}/{path}"

    cases = tuple(
        replace(case, id=f"{prefix}{case.id}", path=at(case.path), frames=tuple(map(at, case.frames)))
        for case in report.cases
    )
    measured = report.coverage and Coverage(
        {at(path): lines for path, lines in report.coverage.ran.items()},
        {at(path): lines for path, lines in report.coverage.missed.items()},
        {at(path): counts for path, counts in report.coverage.branches.items()},
    )
    return replace(report, cases=cases, coverage=measured, sources=tuple(map(at, report.sources)))


def file_of(id: str) -> str:
    """The file of a test, for runners whose ids say it."""
    return id.partition("::")[0]


def join_reports(first: SuiteReport, second: SuiteReport) -> SuiteReport:
    """Two parts of one suite."""
    worst = max(first, second, key=lambda report: (report.ran.timed_out, report.ran.code))
    ran = replace(worst.ran, seconds=first.ran.seconds + second.ran.seconds)
    return replace(worst, ran=ran, cases=(*first.cases, *second.cases), built=first.built and second.built)


# Where in the project a report points: paths and frames as tools write them, against the files there
# are.

FRAMES: Final = 6  # the last ones: nearest to the failure
MESSAGE: Final = 3_000  # characters
ERROR: Final = 100
_FRAME: Final = re.compile(
    r'^[ \t]*(?:File "(?P<file>[^"\n]+)", line (?P<at>\d+)(?:, in (?P<name>[^\n]+))?'
    r"|(?P<path>[^\s:][^:\n]*\.\w+):(?P<line>\d+): ?(?:in (?P<inside>\S+))?)",
    re.M,
)


class ProjectPaths(Struct, frozen=True):
    """The root as the tests saw it, and the project's files relative to it."""

    root: str
    files: frozenset[str]

    def locate(self, path: str) -> str:
        """The path relative to the root; "" for a file that is not the project's."""
        plain = posixpath.normpath(path.replace("\\", "/"))
        root = self.root.replace("\\", "/").rstrip("/")
        inside = plain.removeprefix(f"{root}/") if root else plain
        return inside if inside in self.files else ""

    def frames(self, text: str) -> tuple[tuple[str, int, str], ...]:
        """(path, line, function) of each frame in the project's own files, in the order of the text."""
        found = []
        for match in _FRAME.finditer(text):
            path = self.locate(match["file"] or match["path"])
            if path:
                line = int((match["at"] or match["line"])[:9])
                found.append((path, line, (match["name"] or match["inside"] or "").strip()))
        return tuple(dict.fromkeys(found))

    def case(
        self,
        id: str,
        outcome: Outcome,
        message: str = "",
        text: str = "",
        seconds: float = 0.0,
        error: str = "",
    ) -> CaseResult:
        """A result whose place and frames are read from `text`."""
        if outcome not in ("failed", "error"):
            return CaseResult(id, outcome, seconds=seconds)
        frames = self.frames(text)
        path, line, _ = frames[-1] if frames else ("", 0, "")
        shown = tuple(
            f"{path}:{line}{f' in {name}' if name else ''}" for path, line, name in frames[-FRAMES:]
        )
        return CaseResult(id, outcome, message.strip()[:MESSAGE], path, line, shown, seconds, error[:ERROR])


def worst_of(cases: Iterable[CaseResult]) -> tuple[CaseResult, ...]:
    """One result for each id: a test that passes and then breaks in its teardown is told twice."""
    kept: dict[str, CaseResult] = {}
    for case in cases:
        before = kept.get(case.id)
        if before is None or (case.outcome in ("failed", "error") and not before.message):
            kept[case.id] = case
    return tuple(kept.values())


def tell_apart(cases: Iterable[CaseResult]) -> Iterator[CaseResult]:
    """Number tests of one name in their order: several programs print into one output."""
    seen = Counter[str]()
    for case in cases:
        seen[case.id] += 1
        yield case if seen[case.id] == 1 else replace(case, id=f"{case.id} ({seen[case.id]})")
