"""Try mutants one after the other on a bench: the fault is written, the tests run, the file is put back."""

import re
import time
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from kith.core.events import Progress
from kith.core.run import Run
from kith.core.workspace import ExecLimits
from kith.features.testgen.merging import part_of
from kith.features.testgen.mutants import Mutant, apply_mutant, find_mutants, spread_mutants
from kith.features.testgen.target import CodeUnderTest
from kith.gates.reports import CaseResult, Coverage, SuiteReport
from kith.gates.results.run import run_suite
from kith.gates.suites import (
    Part,
    find_parts,
)
from kith.gates.toolchain import COMMAND, Toolchain

# How much longer than on the code as it is: the tests themselves, and what they need to begin and be built.
_SLOWER, _SLOWER_START, _LEAST_SECONDS = 10, 3, 3.0
_MEMORY: Final = 4 << 30  # bytes: a fault may make a program eat all there is
_COMPILE_ERROR: Final = re.compile(r"^[^\s:]+:\d+:(?:\d+:)? (?:fatal )?error: ", re.M)


class TriedMutant(Struct, frozen=True):
    """The fate of a mutant, and the ids of the tests that noticed it.

    "untested": no test runs its statement. "unbuilt": it does not compile. "untried": there was no time.
    `broke`: it was noticed because the run as a whole broke or took too long, so nobody says by which test.
    """

    mutant: Mutant
    state: Literal["killed", "survived", "untested", "unbuilt", "untried"]
    by: frozenset[str] = frozenset()
    broke: bool = False


class Mutation(Struct, frozen=True):
    """The mutants by their fate. `untested`: those in statements that no test runs.

    `untried`: there was no time for them; what does not compile is not counted at all.
    """

    killed: tuple[Mutant, ...] = ()
    survived: tuple[Mutant, ...] = ()
    untested: tuple[Mutant, ...] = ()
    untried: tuple[Mutant, ...] = ()

    @property
    def share(self) -> float:
        """Of the mutants that were decided, the part that is noticed; 1.0 when there are none."""
        decided = len(self.killed) + len(self.survived) + len(self.untested)
        return len(self.killed) / decided if decided else 1.0

    @classmethod
    def of(cls, tried: Sequence[TriedMutant]) -> "Mutation":
        def those(state: str) -> tuple[Mutant, ...]:
            return tuple(each.mutant for each in tried if each.state == state)

        return cls(those("killed"), those("survived"), those("untested"), those("untried"))


def mutants_of(targets: Sequence[CodeUnderTest], limit: int) -> tuple[Mutant, ...]:
    """The faults to try, at most `limit`, in the order in which to try them."""
    found = [mutant for each in targets for mutant in find_mutants(each.path, each.source, each.lines)]
    return spread_mutants(found, limit)


async def mutation_score(
    run: Run,
    toolchain: Toolchain,
    targets: Sequence[CodeUnderTest],
    tests: Sequence[str],
    limits: ExecLimits,
    budget_s: float,
    most: int = 100,
) -> Mutation:
    """Measure how well `tests` (files, or ids of earlier reports; () for all) guard the targets, in a trial.

    It ends after `budget_s` seconds with what was tried until then. Tests that do not pass on the code as it
    is are no measure: then nothing is tried.
    """
    base = await run_suite(run, toolchain, limits, coverage=True, only=tests)
    mutants = mutants_of(targets, most)
    if base.problem or base.failed or (not base.cases and not base.ok):
        return Mutation(untried=mutants)
    return Mutation.of(await try_mutants(run, toolchain, mutants, tests, base, budget_s))


async def try_mutants(
    run: Run,
    toolchain: Toolchain,
    mutants: Sequence[Mutant],
    tests: Sequence[str],
    base: SuiteReport,
    budget_s: float,
) -> list[TriedMutant]:
    """Each mutant against `tests`, whose run on the code as it is was `base`, until `budget_s` is spent."""
    limits = mutant_limits(base)
    began, tried = time.monotonic(), list[TriedMutant]()
    for number, mutant in enumerate(mutants):
        run.emit(Progress("trying planted faults", number, len(mutants)))
        if not _runs(mutant, base.coverage):
            tried.append(TriedMutant(mutant, "untested"))
        elif time.monotonic() - began > budget_s:
            tried.append(TriedMutant(mutant, "untried"))
        else:
            tried.append(await try_mutant(run, toolchain, limits, mutant, tests))
    return tried


def mutant_limits(base: SuiteReport) -> ExecLimits:
    """Limits of a run on a mutant, by what `base` took; a fault that makes it longer counts as noticed."""
    own = min(sum(case.seconds for case in base.cases), base.ran.seconds) if base.cases else base.ran.seconds
    seconds = _SLOWER * own + _SLOWER_START * (base.ran.seconds - own)
    return ExecLimits(max(_LEAST_SECONDS, seconds), memory=_MEMORY)


async def try_mutant(
    run: Run, toolchain: Toolchain, limits: ExecLimits, mutant: Mutant, tests: Sequence[str]
) -> TriedMutant:
    """One mutant: whatever happens, the file is put back."""
    source = await run.workspace.read(mutant.path)
    await run.workspace.write(mutant.path, apply_mutant(source, mutant))
    try:
        report = await run_suite(run, toolchain, limits, only=tests)
    finally:
        await run.workspace.write(mutant.path, source)
    if _is_unbuilt(report, toolchain):
        return TriedMutant(mutant, "unbuilt")
    if report.failed:
        return TriedMutant(mutant, "killed", frozenset(case.id for case in report.failed))
    if report.ok:
        return TriedMutant(mutant, "survived")
    return TriedMutant(mutant, "killed", broke=True)


def _runs(mutant: Mutant, coverage: Coverage | None) -> bool:
    """Tell whether any test runs the mutant's statement, as far as anybody measured."""
    missed = coverage.missed.get(mutant.path, frozenset()) if coverage else frozenset[int]()
    return not missed.intersection((mutant.line, mutant.statement))


def _is_unbuilt(report: SuiteReport, toolchain: Toolchain) -> bool:
    """A fault that the compiler refuses says nothing of the tests; one that Python cannot import does."""
    if report.ran.timed_out or report.cases:
        return False
    if toolchain.build:
        return not report.built
    return report.ran.code != 0 and bool(_COMPILE_ERROR.search(report.ran.output))


# The place where tests are tried: a trial, the project's toolchain, and one file that may be written.

WHOLE: Final = ""  # the name of a test file that cannot be taken apart, as if it were one test


class MutationBench(Struct, frozen=True):
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
        return (self.out,) if self.toolchain.runner.direct else ()

    @property
    def whole(self) -> bool:
        """True if the runner does not report single tests: then the file is judged as one test."""
        return self.toolchain.runner is COMMAND

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
