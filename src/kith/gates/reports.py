"""What a run of tests and a measurement of coverage say, whichever tool said it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kith.core.values import Ran

Outcome = Literal["passed", "failed", "error", "skipped"]


@dataclass(frozen=True, slots=True)
class CaseResult:
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


@dataclass(frozen=True, slots=True)
class Coverage:
    """Lines that ran and lines that did not, by file; `branches` as (taken, all) where they were measured."""

    ran: Mapping[str, frozenset[int]]
    missed: Mapping[str, frozenset[int]]
    branches: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """Of all lines that can run, the part that did; 1.0 when there are none."""
        ran, missed = (sum(map(len, lines.values())) for lines in (self.ran, self.missed))
        return ran / (ran + missed) if ran + missed else 1.0


@dataclass(frozen=True, slots=True)
class SuiteReport:
    """A run of tests. `problem` says why it tells nothing: not installed, no tests.

    `built` is False when the build or the collection failed before a test could run. `unmeasured` says why
    there is no coverage although it was asked for.
    """

    ran: Ran
    cases: tuple[CaseResult, ...] = ()
    coverage: Coverage | None = None
    problem: str = ""
    built: bool = True
    unmeasured: str = ""

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

    @property
    def passed(self) -> frozenset[str]:
        return frozenset(case.id for case in self.cases if case.outcome == "passed")

    @property
    def failed(self) -> tuple[CaseResult, ...]:
        return tuple(case for case in self.cases if case.outcome in ("failed", "error"))

    @property
    def ok(self) -> bool:
        """True when the command said so and no test says otherwise."""
        return self.ran.code == 0 and not self.failed
