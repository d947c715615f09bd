"""How far the tests of one target are, and what to say of them in the end."""

from dataclasses import dataclass, field

from kith.features.testgen.mutants import Mutant
from kith.features.testgen.result import Dropped, Held, Ruling, Written
from kith.features.testgen.target import Target
from kith.gates.reports import Coverage


@dataclass(slots=True)
class Work:
    """What is known while the rounds go on; `there` are tests that the file held before.

    `before` is what the present tests run. `alive` are the mutants that nothing noticed yet, `untried` those
    of them for which there was no time.
    """

    held: Held
    there: frozenset[str]
    alive: list[Mutant]
    before: Coverage | None = None
    dropped: dict[str, Dropped] = field(default_factory=dict)
    untried: frozenset[Mutant] = frozenset()

    @property
    def own(self) -> dict[str, int]:
        """The kept tests, with how many mutants each was the first to notice."""
        return {name: len(seen) for name, seen in self.held.kills.items() if name not in self.there}

    @property
    def killed(self) -> list[Mutant]:
        return [mutant for seen in self.held.kills.values() for mutant in seen]

    @property
    def survivors(self) -> list[Mutant]:
        """What the kept tests were shown and did not notice."""
        return [mutant for mutant in self.alive if mutant not in self.untried]

    def take_in(self, ruling: Ruling) -> None:
        """What a round brought."""
        known = {*self.alive, *self.killed}
        known -= {each.mutant for each in ruling.tried if each.state == "unbuilt"}
        self.held = ruling.held
        self.alive = sorted(known - set(self.killed), key=lambda mutant: (mutant.path, mutant.start))
        decided = {each.mutant for each in ruling.tried if each.state != "untried"}
        new = {each.mutant for each in ruling.tried if each.state == "untried"}
        self.untried = frozenset(self.untried - decided | new)
        self.dropped |= {each.name: each for each in ruling.dropped}

    def missed(self, target: Target) -> tuple[int, ...]:
        """The target's lines that no test runs."""
        if self.held.coverage is None:
            return ()
        lines = self.held.coverage.missed.get(target.path, frozenset())
        lines -= self.before.ran.get(target.path, frozenset()) if self.before else frozenset()
        return tuple(sorted(line for line in lines if target.holds(line)))

    def sum_up(self, target: Target, out: str) -> Written:
        kept = self.own
        return Written(
            target.label,
            out,
            kept,
            tuple(each for name, each in self.dropped.items() if name not in kept),
            tuple(self.killed),
            tuple(self.survivors),
            len(self.untried),
            share(target, self.before),
            share(target, self.before, self.held.coverage) if kept else share(target, self.before),
            self.missed(target),
            (self.held.report.unmeasured,) if self.held.report and self.held.report.unmeasured else (),
        )


def share(target: Target, *measured: Coverage | None) -> float | None:
    """The part of the target's lines that ran in any of these runs; None where nobody measured."""
    ran, missed = set[int](), set[int]()
    for each in measured:
        ran |= set(each.ran.get(target.path, ())) if each else set()
        missed |= set(each.missed.get(target.path, ())) if each else set()
    ran, missed = ({line for line in lines if target.holds(line)} for lines in (ran, missed - ran))
    return len(ran) / (len(ran) + len(missed)) if ran or missed else None


def tell(written: Written) -> str:
    """The end of it in a line, for a person; the rest is in the value."""
    number = len(written.kept)
    kept = f"{number} {'test' if number == 1 else 'tests'} for {written.target} in {written.out}"
    return f"{kept}: {len(written.killed)} of {written.mutants} planted faults are noticed."
