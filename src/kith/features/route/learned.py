"""What the rows teach: who solved what, what that took, and how often the checks were wrong."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from kith.features.measure.beta import Beta, Count
from kith.features.measure.rows import LegRow
from kith.features.route.plans import Errors
from kith.features.route.priors import MASS
from kith.features.route.takes import Taken, Takes

Head = Literal["first", "after"]  # a model was asked at first, or after another one had given up
_KEEP: Final = 0.99  # what evidence still counts once there is one more piece of it
_WIDER: Final = 8.0  # outcomes that evidence from other kinds of work is worth at most
_DOUBTS: Final = Beta(0.5, 9.5)  # that a check is wrong, where nobody has looked
# Reasons of a reward that do not rest on the check, so that they can tell whether it was right.
_INDEPENDENT: Final = frozenset({"accepted", "rejected", "undone", "audit"})


class Cell(NamedTuple):
    """Where evidence is kept: of which model, in which part of a plan, at which kind of work ("": at any)."""

    who: str
    head: Head
    kind: str = ""


def who(model: str, digest: str = "") -> str:
    """A model is its weights: under another digest it is another one, of which nothing is known yet."""
    return f"{model}@{digest}" if digest else model


def sorts_of(kind: str) -> tuple[str, ...]:
    """The sorts of work that a task is of, the widest first; what is known of one leans on the wider."""
    return ("", kind) if kind else ("",)


@dataclass(slots=True)
class Evidence:
    """A fold of rows; `observe` is the only way it grows."""

    solved: dict[Cell, Count] = field(default_factory=dict)
    taken: dict[Cell, Taken] = field(default_factory=dict)
    passed: Count = Count()  # of all that was checked
    wrong_though_passed: Count = Count()  # of what was looked at independently
    right_though_failed: Count = Count()

    def observe(self, row: LegRow) -> None:
        """Learn from one more row, in the order in which the work was done."""
        head: Head = "after" if row.after else "first"
        for kind in sorts_of(row.kind):
            cell = Cell(who(row.model, row.digest), head, kind)
            if row.reward is not None:
                count = self.solved.get(cell, Count())
                self.solved[cell] = count.plus(row.reward, row.weight, _KEEP**row.weight)
            if row.usd is not None:
                self.taken[cell] = self.taken.get(cell, Taken()).plus(row.usd, row.seconds, _KEEP)
        if row.passed is not None:
            self._doubt_the_check(row.passed, row)

    def _doubt_the_check(self, passed: bool, row: LegRow) -> None:
        self.passed = self.passed.plus(float(passed), keep=_KEEP)
        if row.reward is None or row.reason not in _INDEPENDENT:
            return
        if passed:
            self.wrong_though_passed = self.wrong_though_passed.plus(1 - row.reward, row.weight, _KEEP)
        else:
            self.right_though_failed = self.right_though_failed.plus(row.reward, row.weight, _KEEP)

    def seen(self, model: str, head: Head, kind: str) -> Count:
        return self.solved.get(Cell(model, head, kind), Count())

    def chance(
        self, model: str, head: Head, sorts: Sequence[str], expected: float, mass: float = MASS
    ) -> Beta:
        """The belief that `model` solves a task of the narrowest of `sorts`, where `expected` was expected.

        The expectation is worth `mass` outcomes. Each sort's own evidence is added to the belief that all
        wider work gives, which is worth a limited number of outcomes: a hierarchical Beta model with its
        upper levels fixed at their means.
        """
        counts = [self.seen(model, head, sort) for sort in sorts]
        belief = Beta(MASS * expected, MASS * (1 - expected))
        for wide, narrow in pairwise([*counts, Count()]):
            belief = wide.less(narrow).belief(belief.mean, min(belief.mass, _WIDER))
        return belief

    def takes(self, model: str, head: Head, sorts: Sequence[str], expected: Takes) -> Takes:
        """What a run of `model` on a task of the narrowest of `sorts` takes, learned in the same way."""
        sums = [self.taken.get(Cell(model, head, sort), Taken()) for sort in sorts]
        for wide, narrow in pairwise([*sums, Taken()]):
            expected = wide.less(narrow).estimate(expected)
        return expected

    @property
    def errors(self) -> Errors:
        """How often a check passes what is wrong, and fails what is right (Bayes' rule over what it said)."""
        passes = self.passed.belief(0.5, 2.0).mean
        wrong = passes * self.wrong_though_passed.belief(_DOUBTS.mean, _DOUBTS.mass).mean
        right = (1 - passes) * self.right_though_failed.belief(_DOUBTS.mean, _DOUBTS.mass).mean
        return Errors(wrong / (wrong + 1 - passes - right), right / (right + passes - wrong))


def fold(rows: Iterable[LegRow]) -> Evidence:
    """Evidence in the order in which the work was done, whenever its verdicts came or were corrected."""
    evidence = Evidence()
    for row in sorted(rows, key=lambda row: (row.at, row.session, row.task, row.part)):
        evidence.observe(row)
    return evidence
