"""The place where tests are tried: a trial, the project's toolchain, and one file that may be written."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kith.core.run import Run
from kith.core.workspace import ExecLimits
from kith.features.testgen.target import CodeUnderTest
from kith.gates.reports import CaseResult, SuiteReport
from kith.gates.results.run import run_suite
from kith.gates.suites import Part, find_parts, part_of
from kith.gates.toolchains import Toolchain

WHOLE: Final = ""  # the name of a test file that cannot be taken apart, as if it were one test


@dataclass(frozen=True, slots=True)
class MutationBench:
    """`run` is in a trial; `out` is the file of tests; mutants are tried until the clock says `until`."""

    run: Run
    toolchain: Toolchain
    limits: ExecLimits
    out: str
    target: CodeUnderTest
    until: float  # time.monotonic()

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.until - time.monotonic())

    async def test(self, only: Sequence[str] = (), *, coverage: bool = False) -> SuiteReport:
        """Run the file, or only some of its tests by their ids."""
        chosen = only or self.all
        return await run_suite(self.run, self.toolchain, self.limits, coverage=coverage, only=chosen)

    @property
    def all(self) -> tuple[str, ...]:
        """The names that run the file, and as little beside it as the runner can."""
        return (self.out,) if self.toolchain.runner in ("pytest", "unittest") else ()

    @property
    def whole(self) -> bool:
        """Tell whether the runner tells of no single test: then the file is judged as if it were one."""
        return self.toolchain.runner == "command"

    def parts(self, text: bytes) -> tuple[Part, ...]:
        """The tests of a file. Raises SyntaxError."""
        return () if self.whole else find_parts(self.out, text)

    async def put(self, text: bytes) -> None:
        """Write the file of tests; b"" takes it away."""
        there = self.out in await self.run.workspace.files()
        if text or there:
            await self.run.workspace.write(self.out, text or None)


def cases_of(report: SuiteReport, parts: Sequence[Part]) -> Mapping[str, list[CaseResult]]:
    """The results by test; those of other files are left out. A whole file has the command's exit code."""
    if not parts:
        outcome = CaseResult("", "passed" if report.ok else "failed", report.ran.output[-2_000:])
        return {WHOLE: [outcome]}
    found: dict[str, list[CaseResult]] = {}
    for case in report.cases:
        part = part_of(case.id, parts)
        if part is not None:
            found.setdefault(part.name, []).append(case)
    return found


def names_of(ids: frozenset[str], parts: Sequence[Part]) -> frozenset[str]:
    """The tests that a runner means by these ids."""
    if not parts:
        return frozenset({WHOLE})
    return frozenset(part.name for id in ids if (part := part_of(id, parts)))


def passes(report: SuiteReport, parts: Sequence[Part], name: str) -> bool:
    """Tell whether a test ran and nothing of it failed."""
    results = cases_of(report, parts).get(name, [])
    return bool(results) and all(case.outcome in ("passed", "skipped") for case in results)
