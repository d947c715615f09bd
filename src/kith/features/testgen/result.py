"""The results of writing tests: what was kept and why, what was not, and what nothing covers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kith.features.testgen.mutants import Mutant
from kith.features.testgen.mutation import TriedMutant
from kith.gates.reports import CaseResult, Coverage, SuiteReport


@dataclass(frozen=True, slots=True)
class Dropped:
    """A test that was not kept. `suspect`: it fails on the present code, which may be a bug of the code."""

    name: str
    reason: str
    suspect: bool = False


@dataclass(frozen=True, slots=True)
class KeptTests:
    """The tests kept so far: the file, the mutants that each was the first to notice, its run."""

    text: bytes = b""
    kills: Mapping[str, tuple[Mutant, ...]] = field(default_factory=dict)
    report: SuiteReport | None = None

    @property
    def coverage(self) -> Coverage | None:
        return self.report.coverage if self.report else None


@dataclass(frozen=True, slots=True)
class TestRuling:
    """The judge's ruling on one candidate: what is held now, what was dropped, the fate of mutants.

    `refusal` is a message to the model when the file as a whole tells nothing.
    """

    held: KeptTests
    dropped: tuple[Dropped, ...] = ()
    failures: str = ""
    tried: tuple[TriedMutant, ...] = ()
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class TestsWritten:
    """The tests for one target: `kept` maps each to the mutants that it was the first to notice.

    Coverage is the part of the target's lines that ran, None where nobody measured.
    """

    target: str
    out: str
    kept: Mapping[str, int] = field(default_factory=dict)
    dropped: tuple[Dropped, ...] = ()
    killed: tuple[Mutant, ...] = ()
    alive: tuple[Mutant, ...] = ()
    untried: int = 0
    before: float | None = None
    after: float | None = None
    uncovered: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def mutants(self) -> int:
        return len(self.killed) + len(self.alive)


def why_failed(case: CaseResult) -> str:
    """A failed test in one line."""
    return (case.message.strip().splitlines() or ["no message"])[0][:200]
