"""Mutants tried one after the other: the fault is written, the tests run, and the file is put back."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from kith.core.events import Progress
from kith.core.run import Run
from kith.core.workspace import ExecLimits
from kith.features.testgen.mutants import Mutant, apply_mutant, find_mutants, spread_mutants
from kith.features.testgen.target import CodeUnderTest
from kith.gates.reports import Coverage, SuiteReport
from kith.gates.results.run import run_suite
from kith.gates.toolchains import Toolchain

# How much longer than on the code as it is: the tests themselves, and what they need to begin and be built.
_SLOWER, _SLOWER_START, _LEAST_SECONDS = 10, 3, 3.0
_MEMORY: Final = 4 << 30  # bytes: a fault may make a program eat all there is
_COMPILE_ERROR: Final = re.compile(r"^[^\s:]+:\d+:(?:\d+:)? (?:fatal )?error: ", re.M)


@dataclass(frozen=True, slots=True)
class TriedMutant:
    """The fate of a mutant, and the ids of the tests that noticed it.

    "untested": no test runs its statement. "unbuilt": it does not compile. "untried": there was no time.
    `broke`: it was noticed because the run as a whole broke or took too long, so nobody says by which test.
    """

    mutant: Mutant
    state: Literal["killed", "survived", "untested", "unbuilt", "untried"]
    by: frozenset[str] = frozenset()
    broke: bool = False


@dataclass(frozen=True, slots=True)
class Mutation:
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
