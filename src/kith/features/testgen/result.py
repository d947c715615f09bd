"""What came of writing tests: what was kept and why, what was not, and what nothing covers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kith.features.testgen.mutants import Mutant
from kith.features.testgen.mutation import Tried
from kith.gates.reports import CaseResult, Coverage, SuiteReport


@dataclass(frozen=True, slots=True)
class Dropped:
    """A test that was not kept. `suspect`: it fails on the present code, which may be a bug of the code."""

    name: str
    reason: str
    suspect: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """What is kept so far: the file, its tests with the mutants each was the first to notice, its run."""

    text: bytes = b""
    kills: Mapping[str, tuple[Mutant, ...]] = field(default_factory=dict)
    report: SuiteReport | None = None

    @property
    def coverage(self) -> Coverage | None:
        return self.report.coverage if self.report else None


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the judge says of one candidate: what is held now, what was dropped, what became of mutants.

    `refusal` is a letter to the model when the file as a whole tells nothing.
    """

    held: Held
    dropped: tuple[Dropped, ...] = ()
    failures: str = ""
    tried: tuple[Tried, ...] = ()
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Written:
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
