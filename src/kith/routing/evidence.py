"""What the rows teach, as counts: who solved what, what it took, and how often the checks were wrong."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from kith.routing.beta import Beta, Count
from kith.routing.priors import MASS
from kith.routing.rows import LegRow

Head = Literal["first", "after"]  # asked at first, or after another model had given up
KEEP = 0.98  # what evidence still counts when there is one more piece of it
SHRINK = 8.0  # tasks that the next wider cell's mean is worth
PSEUDO_RUNS = 5.0  # runs that an expected cost is worth: costs are heavy-tailed, and one run must not decide
CHECK_ERRORS = Beta(0.5, 9.5)  # expected of a check that nobody has checked


class Cell(NamedTuple):
    """Where evidence is kept: which model, in which part, on what sort of work ("" for any)."""

    who: str
    head: Head
    sort: str = ""


class Spent(NamedTuple):
    """Sums over runs, in dollars and seconds."""

    runs: float = 0.0
    usd: float = 0.0
    seconds: float = 0.0

    def plus(self, usd: float, seconds: float, keep: float) -> "Spent":
        return Spent(keep * self.runs + 1, keep * self.usd + usd, keep * self.seconds + seconds)

    def mean(self, expected: "Spent") -> "Spent":
        """What one run takes, shrunk towards what was expected of it."""
        runs = self.runs + PSEUDO_RUNS
        return Spent(
            1.0,
            (self.usd + PSEUDO_RUNS * expected.usd) / runs,
            (self.seconds + PSEUDO_RUNS * expected.seconds) / runs,
        )


def who(model: str, digest: str = "") -> str:
    """A model is its weights: another digest or quantisation is another model, of which nothing is known."""
    return f"{model}@{digest}" if digest else model


def sorts_of(kind: str, words: str = "", root: str = "") -> tuple[str, ...]:
    """The ever narrower sorts of work that a task is of; evidence of a narrow one leans on the wider."""
    return ("", kind)


@dataclass(slots=True)
class Evidence:
    """A fold of rows; `observe` is the only way it grows."""

    solved: dict[Cell, Count] = field(default_factory=dict)
    spent: dict[Cell, Spent] = field(default_factory=dict)
    begun: dict[str, int] = field(default_factory=dict)  # by model: tasks with an outcome that it had first
    false_pass: Count = Count()
    false_fail: Count = Count()

    def observe(self, row: LegRow) -> None:
        model = who(row.model, row.digest)
        head: Head = "after" if row.after else "first"
        for sort in sorts_of(row.kind, row.words, row.root):
            cell = Cell(model, head, sort)
            if row.reward is not None:
                keep = KEEP**row.weight
                self.solved[cell] = self.solved.get(cell, Count()).plus(row.reward, row.weight, keep)
            if row.usd is not None or row.seconds:
                self.spent[cell] = self.spent.get(cell, Spent()).plus(row.usd or 0.0, row.seconds, KEEP)
        if row.reward is not None and head == "first":
            self.begun[model] = self.begun.get(model, 0) + 1
        self._check_the_check(row)

    def _check_the_check(self, row: LegRow) -> None:
        """Only a verdict that does not rest on the check itself can tell whether the check was right."""
        if row.reward is None or row.passed is None or row.reason == "tests":
            return
        if row.reward < 0.5:
            self.false_pass = self.false_pass.plus(float(row.passed), row.weight, KEEP)
        else:
            self.false_fail = self.false_fail.plus(float(not row.passed), row.weight, KEEP)

    def chance(self, model: str, head: Head, sorts: tuple[str, ...], expected: float) -> Beta:
        """The belief that `model` solves a task of the narrowest of `sorts`, from the widest to it."""
        belief, mass = Beta(MASS * expected, MASS * (1 - expected)), MASS
        for sort in sorts:
            belief = self.solved.get(Cell(model, head, sort), Count()).belief(belief.mean, mass)
            mass = SHRINK
        return belief

    def cost(self, model: str, head: Head, sorts: tuple[str, ...], expected: Spent) -> Spent:
        """What a run of `model` on a task of the narrowest of `sorts` takes."""
        for sort in sorts:
            expected = self.spent.get(Cell(model, head, sort), Spent()).mean(expected)
        return expected


def fold(rows: Iterable[LegRow]) -> Evidence:
    """Evidence in the order in which the tasks were done, whenever their verdicts came or were corrected."""
    evidence = Evidence()
    for row in sorted(rows, key=lambda row: (row.at, row.session, row.task, row.part)):
        evidence.observe(row)
    return evidence
