"""The ways of working that councils are held against, played with the product's own decisions."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from kith.core.decisions import Claimed
from kith.features.confer.council_rules import (
    Proposal,
    Revision,
    TriedPlan,
    agree,
    are_level,
    cheapest,
    choose_tried,
    in_order,
    is_decided,
    may_revise,
    objections,
    take_revision,
)


@dataclass(frozen=True)
class World:
    """The chances of what no table tells, and what things cost in tokens (read and written)."""

    recall: float = 0.5  # a critic that is right itself names the fault of a wrong plan
    blind: float = 0.15  # one that is wrong itself does
    precision: float = 0.5  # of all that critics claim, the part that is true
    show: float = 0.6  # a true claim comes with evidence that a tool can confirm
    slip: float = 0.05  # a false claim is confirmed all the same
    accept: float = 0.9  # an author gives in to a claim that holds
    mend: float = 0.4  # a wrong plan is right after a true claim
    spoil: float = 0.3  # a right plan is wrong after a false one
    alike: float = 0.3  # two plans of which one is wrong look the same
    same: float = 0.9  # two right plans do
    judge: float = 0.65  # a judge prefers the right plan of two
    passes_wrong: float = 0.10  # the tests pass a wrong change
    fails_right: float = 0.05  # the tests fail a right one
    work: int = 12_000  # carrying a task out once
    propose: int = 1_900
    criticise: int = 500
    revise: int = 550
    decide: int = 1_200  # a judge


@dataclass
class Tally:
    """What an arm did: by task, how often it was solved and its tokens."""

    solved: list[float] = field(default_factory=list)
    tokens: list[float] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Task:
    """One task in one seed: who would be right, try after try, and the dice for the rest."""

    right: dict[str, list[bool]]
    dice: random.Random
    ability: dict[str, float]  # of the models, over all tasks


Arm = Callable[[Task, World, Counter[str]], tuple[bool, int]]


def draw(row: dict[str, float], ability: dict[str, float], seed: str) -> Task:
    dice = random.Random(seed)
    return Task({model: [dice.random() < row[model] for _ in range(4)] for model in ability}, dice, ability)


# --- the arms ------------------------------------------------------------------------------------


def passes(right: bool, task: Task, world: World) -> bool:
    """What the tests say of a change."""
    return task.dice.random() >= world.fails_right if right else task.dice.random() < world.passes_wrong


def once(model: str) -> Arm:
    return lambda task, world, seen: (task.right[model][0], world.work)


def in_turn(*models: str) -> Arm:
    """One after the other until the tests pass: a cascade, or the best of k."""

    def arm(task: Task, world: World, seen: Counter[str]) -> tuple[bool, int]:
        used: Counter[str] = Counter()
        for number, model in enumerate(models, 1):
            right = task.right[model][used[model]]
            used[model] += 1
            if passes(right, task, world):
                return right, number * world.work
        return False, len(models) * world.work

    return arm


def council(weak: str, strong: str, *, full: bool, tests: bool) -> Arm:
    """Proposals of both, then (if `full`) claims and one revision; tests or else a judge decide."""

    def arm(task: Task, world: World, seen: Counter[str]) -> tuple[bool, int]:
        names = {"A": weak, "B": strong}
        ability = {label: task.ability[name] for label, name in names.items()}
        right = {label: task.right[name][0] for label, name in names.items()}
        plans = {label: plan_of(label, right, task, world) for label in names}
        if right["A"] != right["B"] or not right["A"]:
            lookalike = task.dice.random() < world.alike
        else:
            lookalike = task.dice.random() < world.same
        if lookalike:
            plans["B"] = replace(plans["B"], symbols=plans["A"].symbols)
        tokens, claims = 2 * world.propose, list[Claimed]()
        seen["councils"] += 1
        if agree(list(plans.values())):
            seen["early"] += 1
            first = cheapest({"A": (0.0, 1.0), "B": (1.0, 1.0)}) if tests else in_order("AB", {}, ability)[0]
            order = (first, *(label for label in "AB" if label != first))
        else:
            if full:
                tokens += 2 * world.criticise
                claims = list(criticise(right, task, world))
                for label in may_revise(claims):
                    tokens += world.revise
                    revise(label, plans, right, claims, task, world, seen)
            against = objections(claims)
            order = in_order("AB", against, ability)
            undecided = not tests and not is_decided("AB", against) and not agree(list(plans.values()))
            if undecided and are_level(*ability.values()):
                tokens += world.decide
                order = ask_judge(order, right, task, world)
        if not tests:
            return right[order[0]], tokens
        return carry_out(order, right, tokens, task, world)

    return arm


def plan_of(label: str, right: dict[str, bool], task: Task, world: World) -> Proposal:
    return Proposal(f"plan {label}", ("a file",), (f"symbol {label}",))


def criticise(right: dict[str, bool], task: Task, world: World) -> Iterator[Claimed]:
    """One claim at the most of each about the other. False ones are as many as the precision says."""
    for by, of in (("A", "B"), ("B", "A")):
        recall = world.recall if right[by] else world.blind
        true = not right[of] and task.dice.random() < recall
        false = not true and task.dice.random() < recall * (1 - world.precision) / world.precision
        if not true and not false:
            continue
        holds = task.dice.random() < (world.show if true else world.slip)
        yield Claimed("", f"c{of}{'t' if true else 'f'}", by, of, "", "", "confirmed" if holds else "refuted")


def revise(
    label: str,
    plans: dict[str, Proposal],
    right: dict[str, bool],
    claims: Sequence[Claimed],
    task: Task,
    world: World,
    seen: Counter[str],
) -> None:
    """What an author makes of the claims against it; the product's code says whether that counts."""
    against = [each for each in claims if each.of == label]
    accepts = task.dice.random() < world.accept
    wish = Revision(tuple(each.id for each in against) if accepts else (), (), Proposal("another plan"))
    plan, accepted = take_revision(plans[label], wish, against)
    if not accepted:
        return
    held = any(each.check == "confirmed" for each in against)
    seen["revised"] += 1
    seen["revised without a claim that holds"] += not held
    before, true = right[label], any(each.id.endswith("t") for each in against if each.check == "confirmed")
    if not before and true:
        right[label] = task.dice.random() < world.mend
    elif before:
        right[label] = task.dice.random() >= world.spoil
    seen["wrong -> right"] += right[label] and not before
    seen["right -> wrong"] += before and not right[label]
    plans[label] = replace(plan, files=plans[label].files, symbols=plans[label].symbols)


def ask_judge(order: Sequence[str], right: dict[str, bool], task: Task, world: World) -> tuple[str, ...]:
    one, other = order
    if right[one] == right[other]:
        return (one, other)
    better, worse = (one, other) if right[one] else (other, one)
    return (better, worse) if task.dice.random() < world.judge else (worse, better)


def carry_out(
    order: Sequence[str], right: dict[str, bool], tokens: int, task: Task, world: World
) -> tuple[bool, int]:
    """The plans in their order, until the tests pass one."""
    for label in order:
        tokens += world.work
        if choose_tried([TriedPlan(label, passes(right[label], task, world))]):
            return right[label], tokens
    return False, tokens


def arms_of(weak: str, strong: str) -> dict[str, Arm]:
    """All arms; those before the first council are what a council is held against."""
    return {
        "weak once": once(weak),
        "strong once": once(strong),
        "best of 2 strong": in_turn(strong, strong),
        "best of 3 strong": in_turn(strong, strong, strong),
        "best of 4 strong": in_turn(strong, strong, strong, strong),
        "cascade": in_turn(weak, strong),
        "cascade, strong twice": in_turn(weak, strong, strong),
        "cascade, strong 3 times": in_turn(weak, strong, strong, strong),
        "R0 + tests": council(weak, strong, full=False, tests=True),
        "council + tests": council(weak, strong, full=True, tests=True),
    }


def arms_without_tests(weak: str, strong: str) -> dict[str, Arm]:
    """An answer or a plan: nobody carries it out, so one call costs what a proposal costs."""

    def ask(model: str) -> Arm:
        return lambda task, world, seen: (task.right[model][0], world.propose)

    return {
        "weak once": ask(weak),
        "strong once": ask(strong),
        "R0 + judge": council(weak, strong, full=False, tests=False),
        "council + judge": council(weak, strong, full=True, tests=False),
    }
