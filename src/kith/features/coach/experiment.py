"""One experiment: a proposed way to ask against the present one, on recorded tasks, pair by pair."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kith.core.decisions import Coached, Compared
from kith.core.events import Notice, Progress
from kith.core.run import Run
from kith.features.coach.recorded_tasks import Recorded
from kith.features.coach.sequential_test import HORIZON, Pair, TestDecision, decide
from kith.features.coach.strategy import Strategy


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """A recorded task that was done again: whether its checks pass now, and in how many seconds."""

    solved: bool
    seconds: float = 0.0


# Does a recorded task once more, in this way; None where that says nothing (its checks pass all the same).
Replay = Callable[[Recorded, Strategy], Awaitable[ReplayResult | None]]


@dataclass(frozen=True, slots=True)
class Experiment:
    """A strategy on trial for one model's work of one kind; `champion` is the way that holds.

    `pairs`: task's id -> what was found before. `most`: how many there may be.
    """

    digest: str
    model: str
    kind: str
    champion: Strategy
    strategy: Strategy
    pairs: Mapping[str, Pair]
    most: int = HORIZON

    def tell(self, run: Run, state: Literal["proposed", "refused", "canary"], decision: TestDecision) -> None:
        """Say in the log where the strategy stands now."""
        run.emit(
            Coached(
                self.digest,
                self.model,
                self.kind,
                self.strategy.data,
                state,
                decision.why,
                self.strategy.author,
                dict(decision.figures),
            )
        )


async def try_out(
    run: Run, experiment: Experiment, tasks: Sequence[Recorded], replay: Replay, has_time: Callable[[], bool]
) -> TestDecision:
    """Do recorded tasks in both ways until that is settled, there is no time, or no task is left.

    Every pair is told as Compared before the next one begins, so that nothing is lost but the one at hand.
    What is not settled goes on another day.
    """
    pairs = dict(experiment.pairs)
    decision = decide([*pairs.values()], experiment.most)
    for task in tasks:
        if decision.verdict != "go on" or not has_time():
            break
        if task.id in pairs:
            continue
        pair = await _compare(run, experiment, task, replay)
        if pair is None:
            continue
        pairs[task.id] = pair
        decision = decide([*pairs.values()], experiment.most)
        run.emit(Progress("pairs", len(pairs), experiment.most))
    return decision


async def _compare(run: Run, experiment: Experiment, task: Recorded, replay: Replay) -> Pair | None:
    """One task in both ways; None where either says nothing."""
    before = await replay(task, experiment.champion)
    after = await replay(task, experiment.strategy) if before else None
    if before is None or after is None:
        run.emit(Notice(f"{_first_words(task.words)}: this says nothing, it is left out."))
        return None
    run.emit(
        Compared(
            experiment.strategy.id,
            task.id,
            before.solved,
            after.solved,
            round(before.seconds, 3),
            round(after.seconds, 3),
        )
    )
    return Pair(before.solved, after.solved, before.seconds, after.seconds)


def _first_words(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= 60 else f"{line[:57]}..."
