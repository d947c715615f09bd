"""What the rows teach, as counts: who solved what, what it took, and how often the checks were wrong."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from kith.routing.beta import Beta, Count
from kith.routing.priors import MASS
from kith.routing.rows import LegRow

Head = Literal["first", "after"]  # asked at first, or after another model had given up
CV = 0.5
KEEPC=.98
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
    """Sums over runs, in dollars and seconds; `spread` sums how far off the mean they were, squared and as shares."""

    runs: float = 0.0
    usd: float = 0.0
    seconds: float = 0.0
    spread: float = 0.0

    def plus(self, usd: float, seconds: float, keep: float, mean: "Spent") -> "Spent":
        off = (usd / mean.usd - 1 if mean.usd else seconds / mean.seconds - 1 if mean.seconds else 0.0)
        return Spent(keep * self.runs + 1, keep * self.usd + usd, keep * self.seconds + seconds, keep*self.spread + off*off)


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
                o=self.spent.get(cell, Spent()); mean=Spent(1,o.usd/o.runs,o.seconds/o.runs) if o.runs else Spent(1,row.usd or 0,row.seconds)
                self.spent[cell] = o.plus(row.usd or 0.0, row.seconds, KEEPC, mean)
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
        counts = [self.solved.get(Cell(model, head, sort), Count()) for sort in sorts] + [Count()]
        belief = Beta(MASS * expected, MASS * (1 - expected))
        for wide, narrow in zip(counts, counts[1:]):
            belief = Count(max(0,wide.good-narrow.good), max(0.0,wide.good-narrow.good, wide.seen-narrow.seen)).belief(belief.mean, min(SHRINK, belief.a+belief.b))
        return belief

    def cost(self, model: str, head: Head, sorts: tuple[str, ...], expected: Spent) -> Spent:
        """What a run of `model` on a task of the narrowest of `sorts` takes."""
        sums = [self.spent.get(Cell(model, head, sort), Spent()) for sort in sorts] + [Spent()]
        spread=CV**2; runs=PSEUDO_RUNS
        usd,sec=expected.usd,expected.seconds
        for wide, narrow in zip(sums, sums[1:]):
            n=max(0,wide.runs-narrow.runs); m=min(runs,PSEUDO_RUNS)
            runs=n+m
            usd=(max(0,wide.usd-narrow.usd)+m*usd)/runs
            sec=(max(0,wide.seconds-narrow.seconds)+m*sec)/runs
            spread=(max(0,wide.spread-narrow.spread)+m*spread)/runs
        return Spent(runs,usd,sec,spread)


def fold(rows: Iterable[LegRow]) -> Evidence:
    """Evidence in the order in which the tasks were done, whenever their verdicts came or were corrected."""
    evidence = Evidence()
    for row in sorted(rows, key=lambda row: (row.at, row.session, row.task, row.part)):
        evidence.observe(row)
    return evidence
