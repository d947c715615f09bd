"""Estimate a model at a task: priors, then success, cost and time as measured."""

import math
import random
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from msgspec import Struct, field

from kith.features.measure.intervals import Beta, Count, chance_of, logit
from kith.features.measure.rows import LegRow
from kith.features.route.difficulty import Difficulty, Usual, looks_of

# Plans, and what they are worth: models asked one after the other until one has solved the task.


Plan = tuple[str, ...]  # names of models; each but the last is followed by a check
Dial = Literal["frugal", "balanced", "quality"]
PRICES: dict[Dial, float] = {"frugal": 0.5, "balanced": 0.2, "quality": 0.05}


class Utility(Struct, frozen=True):
    """The weights of cost, in solved tasks: `price` is the cost of an average run of the frontier model.

    `unit_usd` is the cost of that run, including its time at `second_usd` a second.
    """

    price: float
    unit_usd: float = 0.05
    second_usd: float = 0.0002

    def cost(self, usd: float, seconds: float) -> float:
        """Money and waiting in solved tasks."""
        return self.price * (usd + self.second_usd * seconds) / self.unit_usd

    def worth(self, outlook: "Outlook") -> float:
        return outlook.solves - self.cost(outlook.usd, outlook.seconds)


class PlanLeg(NamedTuple):
    """One model's part in a plan: its chance, and what a run of it takes."""

    solves: float
    usd: float
    seconds: float


class Errors(NamedTuple):
    """The error rates of the check: it passes wrong work, or fails right work."""

    false_pass: float
    false_fail: float


class Outlook(NamedTuple):
    """The expected result of a plan."""

    solves: float
    usd: float
    seconds: float


def foresee(legs: Sequence[PlanLeg], errors: Errors) -> Outlook:
    """Expected result of running the legs until the check passes one; the last one's change stays.

    With chances p for the first and q for the second, the second is asked with

        g = (1 - p)(1 - fp) + p ff

    so solved = p (1 - ff) + g q.
    """
    solves = usd = seconds = 0.0
    reach = 1.0
    for number, leg in enumerate(legs, start=1):
        usd += reach * leg.usd
        seconds += reach * leg.seconds
        if number == len(legs):
            solves += reach * leg.solves
        else:
            solves += reach * leg.solves * (1 - errors.false_fail)
            reach *= (1 - leg.solves) * (1 - errors.false_pass) + leg.solves * errors.false_fail
    return Outlook(solves, usd, seconds)


def price_of(dial: Dial, *, budget_left: float = 1.0, time_left: float = 1.0) -> float:
    """The dial as a price; it rises when a budget runs out faster than its time (both as shares left)."""
    return PRICES[dial] * max(1.0, time_left / max(budget_left, 0.01))


def possible_plans(locals_: tuple[str, ...], frontier: str, *, verifiable: bool) -> tuple[Plan, ...]:
    """All plans over local models, the cheapest first, and the frontier model ("" for none).

    Work that nothing can check is asked of one model only: nobody would know when to ask the next.
    """
    ends = (frontier,) if frontier else ()
    alone: list[Plan] = [(name,) for name in (*locals_, *ends)]
    if not verifiable:
        return tuple(alone)
    pairs: list[Plan] = [(one, two) for i, one in enumerate(locals_) for two in locals_[i + 1 :]]
    last: list[Plan] = [(name, *ends) for name in locals_] if ends else []
    return (*alone, *last, *((*pair, *ends) for pair in pairs))


# What is expected of a model at a task: priors, then success, cost and time as measured.


# What a run of a model takes, in money and time: means that forget, and how sure they are.

_EXPECTED_RUNS: Final = 5.0  # that an expectation is worth: runs differ widely, and one must not decide
_EXPECTED_SPREAD: Final = 0.1  # squared, as a share of the mean


class Taken(NamedTuple):
    """Sums over `runs`; `spread` sums the squares of how far each was off the mean, as shares of it."""

    runs: float = 0.0
    usd: float = 0.0
    seconds: float = 0.0
    spread: float = 0.0

    def plus(self, usd: float, seconds: float, keep: float = 1.0) -> "Taken":
        """With one more run; those before still count `keep` of what they did."""
        mean, value = (self.usd, usd) if self.usd else (self.seconds, seconds)
        off = value * self.runs / mean - 1 if mean else 0.0
        return Taken(
            keep * self.runs + 1,
            keep * self.usd + usd,
            keep * self.seconds + seconds,
            keep * self.spread + off * off,
        )

    def less(self, part: "Taken") -> "Taken":
        """Subtract a part, never below zero."""
        return Taken(*(max(0.0, whole - some) for whole, some in zip(self, part, strict=True)))

    def estimate(self, expected: "Takes") -> "Takes":
        """Estimate the next run, given a prior `expected`: a normal-inverse-gamma belief.

        A large difference from the prior makes it less certain, as the spread of the runs does.
        """
        before = min(expected.runs, _EXPECTED_RUNS)
        runs = self.runs + before
        usd = (self.usd + before * expected.usd) / runs
        seconds = (self.seconds + before * expected.seconds) / runs
        mean, was = (usd, expected.usd) if usd else (seconds, expected.seconds)
        off = (mean - was) / max(mean, was) if mean else 0.0
        surprise = before * runs / self.runs * off * off if self.runs else 0.0
        return Takes(usd, seconds, (self.spread + before * expected.spread + surprise) / runs, runs)


class Takes(NamedTuple):
    """Expected dollars and seconds of one run, its relative variance, and how many runs that rests on."""

    usd: float
    seconds: float
    spread: float = _EXPECTED_SPREAD
    runs: float = _EXPECTED_RUNS

    def times(self, factor: float) -> "Takes":
        """So many times of it, as sure as before."""
        return self._replace(usd=self.usd * factor, seconds=self.seconds * factor)

    def doubt(self, rng: random.Random) -> float:
        """A factor for what is expected, as likely as the true mean is believed to be off by it."""
        return max(0.0, rng.gauss(1.0, (self.spread / self.runs) ** 0.5))


# What is expected of a model before anything was measured.

# The curves fit the published pass rates of 59 models of known size on HumanEval+ and MBPP+. They leave 0.8
# and 0.5 logits unexplained, so what they say is worth no more than four outcomes.


MASS: Final = 4.0  # outcomes that an expectation is worth
FRONTIER: Final = 0.65  # the chance that a frontier model solves a task
_AFTER_A_MISS: Final = -0.6  # logits: what is left is harder (-0.3 to -1.4 on open tables of outcomes)
_MANY_FILES: Final = -1.5  # logits: a guess, until there is data
_MANY: Final = ("edit-multi", "refactor")
_TYPICAL: Final = 7.0  # billions of parameters, of a model that does not tell


def expected(kind: str, parameters: float | None = None, *, frontier: bool = False) -> float:
    """The chance that a model of so many billions of parameters solves a task of this kind."""
    if frontier:
        return FRONTIER
    size = math.log10(parameters or _TYPICAL)
    harder = _MANY_FILES if kind in _MANY else 0.0
    return chance_of(((-0.98 + 1.21 * size) + (-0.60 + 0.84 * size)) / 2 + harder)


def expected_after_a_miss(first: float) -> float:
    """The chance where another model has failed, from the chance that there would have been at first."""
    return chance_of(logit(min(max(first, 0.01), 0.99)) + _AFTER_A_MISS)


def expected_before_a_miss(after: float) -> float:
    """The inverse: the chance at first, from the one where another model has failed."""
    return chance_of(logit(min(max(after, 0.01), 0.99)) - _AFTER_A_MISS)


Head = Literal["first", "after"]  # a model was asked at first, or after another one had given up
_KEEP: Final = 0.99  # what evidence still counts once there is one more piece of it
_WIDER: Final = 8.0  # outcomes that evidence from other kinds of work is worth at most
_DOUBTS: Final = Beta(0.5, 9.5)  # that a check is wrong, where nobody has looked
# Reasons of a reward that do not rest on the check, so that they can tell whether it was right.
_INDEPENDENT: Final = frozenset({"accepted", "rejected", "undone", "audit"})


class Cell(NamedTuple):
    """The key of evidence: the model, the part of a plan, and the kind of work ("": any)."""

    who: str
    head: Head
    kind: str = ""


def who(model: str, digest: str = "") -> str:
    """A model is its weights: under another digest it is another one, of which nothing is known yet."""
    return f"{model}@{digest}" if digest else model


def sorts_of(kind: str) -> tuple[str, ...]:
    """The sorts of work that a task is of, the widest first; what is known of one leans on the wider."""
    return ("", kind) if kind else ("",)


class Learned(Struct):
    """A fold of rows; `observe` is the only way it grows.

    `reads_words`: it learns from how tasks look, too. That takes ten times as long.
    """

    solved: dict[Cell, Count] = field(default_factory=dict)
    taken: dict[Cell, Taken] = field(default_factory=dict)
    passed: Count = Count()  # of all that was checked
    wrong_though_passed: Count = Count()  # of what was looked at independently
    right_though_failed: Count = Count()
    reads_words: bool = False
    usual: Usual = field(default_factory=Usual)
    difficulties: dict[tuple[str, Head], Difficulty] = field(default_factory=dict)

    def observe(self, row: LegRow) -> None:
        """Learn from one more row, in the order in which the work was done."""
        head: Head = "after" if row.after else "first"
        if self.reads_words and row.reward is not None and row.words:
            self._learn_difficulty(row, row.reward, head)
        for kind in sorts_of(row.kind):
            cell = Cell(who(row.model, row.digest), head, kind)
            if row.reward is not None:
                count = self.solved.get(cell, Count())
                self.solved[cell] = count.plus(row.reward, row.weight, _KEEP**row.weight)
            if row.usd is not None:
                self.taken[cell] = self.taken.get(cell, Taken()).plus(row.usd, row.seconds, _KEEP)
        if row.passed is not None:
            self._doubt_the_check(row.passed, row)

    def _learn_difficulty(self, row: LegRow, reward: float, head: Head) -> None:
        """Learn how far the outcome differs from the model's usual one at this kind of work."""
        model, looks = who(row.model, row.digest), looks_of(row.words)
        self.usual.add(looks)
        usual = self.chance(model, head, sorts_of(row.kind), 0.5).mean
        difficulty = self.difficulties.setdefault((model, head), Difficulty())
        difficulty.learn(self.usual.apart(looks), reward, usual, row.root)

    def suited(self, belief: Beta, model: str, head: Head, words: str, root: str = "") -> Beta:
        """The belief that a model solves a task, moved by how its words look and by its project."""
        difficulty = self.difficulties.get((model, head))
        if difficulty is None or not words:
            return belief
        return difficulty.move(belief, self.usual.apart(looks_of(words)), root)

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
        """The belief that `model` solves a task of the narrowest of `sorts`, given a prior `expected`.

        The prior is worth `mass` outcomes. Each sort's own evidence is added to the belief from all wider
        work, which is worth a limited number of outcomes. This is a hierarchical Beta model with its
        upper levels fixed at their means.
        """
        counts = [self.seen(model, head, sort) for sort in sorts]
        belief = Beta(MASS * expected, MASS * (1 - expected))
        for wide, narrow in pairwise([*counts, Count()]):
            belief = wide.less(narrow).belief(belief.mean, min(belief.mass, _WIDER))
        return belief

    def takes(self, model: str, head: Head, sorts: Sequence[str], expected: Takes) -> Takes:
        """Estimate a run of `model` on a task of the narrowest of `sorts`, in the same way."""
        sums = [self.taken.get(Cell(model, head, sort), Taken()) for sort in sorts]
        for wide, narrow in pairwise([*sums, Taken()]):
            expected = wide.less(narrow).estimate(expected)
        return expected

    @property
    def errors(self) -> Errors:
        """Estimate the check's false passes and false failures (Bayes' rule over its results)."""
        passes = self.passed.belief(0.5, 2.0).mean
        wrong = passes * self.wrong_though_passed.belief(_DOUBTS.mean, _DOUBTS.mass).mean
        right = (1 - passes) * self.right_though_failed.belief(_DOUBTS.mean, _DOUBTS.mass).mean
        return Errors(wrong / (wrong + 1 - passes - right), right / (right + passes - wrong))


def fold(rows: Iterable[LegRow], *, reads_words: bool = False) -> Learned:
    """Evidence in the order in which the work was done, whenever its verdicts came or were corrected."""
    evidence = Learned(reads_words=reads_words)
    for row in sorted(rows, key=lambda row: (row.at, row.session, row.task, row.part)):
        evidence.observe(row)
    return evidence
