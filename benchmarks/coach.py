"""Whether the coach adopts what helps and nothing else: models that truly depend on how they are asked.

    python benchmarks/coach.py            200 simulated courses for each change, and the exact chances
    python benchmarks/coach.py --runs 1000

A stand-in reads the prompt that the product's own code has made of a strategy. Asked for edits by tools it
solves 45 % of all tasks; asked for whole files, so many points more or less. Whether a task is easy holds for
both ways, but a share of them (`chance`) comes out anew each time, as it does with real models. Each course
goes through the code of `kith coach run` (pair by pair, look by look), then a canary on live work.
"""

import argparse
import asyncio
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from kith.core.decisions import Coached
from kith.core.model import Emit, Prompt, Role
from kith.core.policy import READ_ONLY
from kith.core.run import Run
from kith.core.values import Answer, Message, Question, Reply, Text, say
from kith.features.coach.adaptation import dress
from kith.features.coach.adoption import watch
from kith.features.coach.experiment import Experiment, Recorded, ReplayResult, try_out
from kith.features.coach.sequential_test import HORIZON, chances
from kith.features.coach.strategy import ORIGINAL, Levers, Strategy, fold_ways, phrase
from kith.features.measure.rows import LegRow

BASE = 0.45  # share of tasks that the original way solves
KIND, MODEL = "edit-small", "stand-in"
CHANGED = Strategy(Levers(edits="whole", wording="Be brief.\n\n{task}"))
TASKS = tuple(Recorded(f"task {number}", KIND, ("true",), "/", "c") for number in range(HORIZON))


@dataclass(frozen=True)
class Change:
    """What a change truly does: a share of tasks gained, and the share that comes out anew each time."""

    name: str
    gain: float
    chance: float
    within: int = HORIZON

    @property
    def shares(self) -> tuple[float, float]:
        """The shares of pairs that the changed way truly wins and loses."""
        after, same = BASE + self.gain, 1 - self.chance
        won = same * max(0.0, self.gain) + self.chance * after * (1 - BASE)
        return won, same * max(0.0, -self.gain) + self.chance * BASE * (1 - after)


CHANGES = (
    Change("no change", 0.0, 0.3),
    Change("no change", 0.0, 0.5),
    Change("8 points worse", -0.08, 0.12),
    Change("8 points worse", -0.08, 0.3),
    Change("14 points better", 0.14, 0.05, 100),
    Change("14 points better", 0.14, 0.12, 100),
    Change("14 points better", 0.14, 0.17, 100),
    Change("8 points better", 0.08, 0.08),
    Change("8 points better", 0.08, 0.12),
    Change("8 points better", 0.08, 0.17),
)


@dataclass
class StandIn:
    """A model that solves more, or less, when its prompt asks for whole files."""

    change: Change
    rng: random.Random
    luck: dict[str, float] = field(default_factory=dict)
    name: str = MODEL

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once: the reply says whether the task is solved."""
        task, whole = prompt.messages[-1].text, "all of the file" in prompt.system
        task = task.removeprefix("Be brief.\n\n") if whole else task
        drawn = self.luck.setdefault(task, self.rng.random())
        if self.rng.random() < self.change.chance and whole:
            drawn = self.rng.random()
        solved = drawn < BASE + (self.change.gain if whole else 0.0)
        return Reply(Message("assistant", (Text("solved" if solved else "no"),)), "end", MODEL)


async def nobody(question: Question) -> Answer:
    raise AssertionError(question.text)


async def course(change: Change, seed: int) -> tuple[int, bool]:
    """One course: after how many pairs the change was accepted (0: never), and whether it was adopted."""
    told = list[tuple[float, Coached]]()
    run = Run(lambda event, path: _keep(told, event), nobody, cast(Any, None))
    model = StandIn(change, random.Random(seed))
    role = Role("worker", "You are kith.\n", model, (_TOOL,), READ_ONLY)

    async def ask(task: Recorded, strategy: Strategy) -> ReplayResult:
        asked = dress(role, strategy)
        words = say(phrase(task.words, strategy.levers))
        reply = await asked.model(Prompt(asked.system, (words,), asked.tools), lambda event: None)
        return ReplayResult(reply.message.text == "solved", 1.0)

    experiment = Experiment("", MODEL, KIND, ORIGINAL, CHANGED, {})
    decision = await try_out(run, experiment, TASKS, ask, lambda: True)
    if decision.verdict != "accept":
        return 0, False
    experiment.tell(run, "canary", decision)
    live, legs = random.Random(seed + 1), list[LegRow]()
    ways = fold_ways(told)[MODEL, KIND]
    while True:
        strategy = CHANGED if live.random() < 0.2 else ORIGINAL
        solved = (await ask(Recorded(f"live {len(legs)}", KIND, ()), strategy)).solved
        legs.append(LegRow("", 1, 1.0, "", MODEL, KIND, strategy=strategy.id, reward=float(solved)))
        if turn := watch(ways, MODEL, legs):
            return int(decision.figures["pairs"]), turn.state == "adopted"


def _keep(told: list[tuple[float, Coached]], event: object) -> None:
    if isinstance(event, Coached):
        told.append((0.0, event))


def best_possible(change: Change, allowed: float = 0.05) -> float:
    """The largest chance that any one look at pairs has to find the change, if it errs that rarely.

    Neyman and Pearson's lemma, against no change with as many pairs that differ. Exact.
    """
    won, lost = change.shares
    same, number = (won + lost) / 2, change.within
    rows = []
    for wins in range(number + 1):
        for losses in range(min(number - wins, 60) + 1):
            likely = _log_chance(number, wins, losses, won, lost)
            null = _log_chance(number, wins, losses, same, same)
            rows.append((likely - null, math.exp(null), math.exp(likely)))
    erred = found = 0.0
    for _, null, likely in sorted(rows, reverse=True):
        part = min(1.0, (allowed - erred) / null) if null else 1.0
        erred, found = erred + part * null, found + part * likely
        if part < 1:
            break
    return found


def _log_chance(number: int, wins: int, losses: int, won: float, lost: float) -> float:
    ties = number - wins - losses
    ways = math.lgamma(number + 1) - sum(math.lgamma(each + 1) for each in (wins, losses, ties))
    return ways + wins * math.log(won) + losses * math.log(lost) + ties * math.log(1 - won - lost)


def _rows(runs: int) -> Iterator[Sequence[str]]:
    for change in CHANGES:
        ended = [asyncio.run(course(change, 1_000 * seed)) for seed in range(runs)]
        accepted = sorted(pairs for pairs, _ in ended if pairs)
        within = [pairs for pairs in accepted if pairs <= change.within]
        adopted = sum(kept for pairs, kept in ended if 0 < pairs <= change.within)
        won, lost = change.shares
        yield (
            change.name,
            f"{won + lost:.0%}",
            str(change.within),
            f"{len(within) / runs:.1%}",
            f"{adopted / runs:.1%}",
            str(accepted[len(accepted) // 2]) if accepted else "",
            f"{chances(won, lost)[change.within]:.1%}",
            f"{best_possible(change):.1%}" if change.gain > 0 else "",
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    names = ("true change", "differ", "pairs", "accepted", "adopted", "median", "exact", "best possible")
    for row in (names, *_rows(parser.parse_args().runs)):
        print("".join(cell.ljust(18 if place == 0 else 11) for place, cell in enumerate(row)).rstrip())


async def _nothing(args: object, run: object) -> Any:
    raise AssertionError("nobody edits here")


def _make_tool() -> Any:
    from kith.core.model import Tool

    return Tool("edit", "edit a file", {"type": "object"}, "write", _nothing)


_TOOL = _make_tool()

if __name__ == "__main__":
    main()
