"""A request becomes tested code: the driver takes one step after the other, as the table says."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from kith.agent.attempt import Outcome
from kith.agent.judges import Judges
from kith.agent.kept_trial import kept_trial
from kith.agent.roles import Cast
from kith.core.events import Advanced
from kith.core.run import Run, Thread
from kith.core.values import Message
from kith.features.build.covering import cover, prove
from kith.features.build.finishing import apply, approve, commit, finish, tell
from kith.features.build.implementing import check, implement, refine, review, roll_back, weigh
from kith.features.build.planning import agree, choose, measure, plan
from kith.features.build.specifying import lock, specify
from kith.features.build.state import ENDS, Build, BuildStep
from kith.features.build.work import BuildOptions, Work

# The entry point for the app. `run` is on the person's own tree; `name` is the trial's, found again after a
# crash; `earlier` is the fold of the session's log so far and `threads` are its conversations, for a build
# that is taken up again. A build that failed keeps its trial, so that other options may still bring it home.


# What came of a step, and words about it: for the person, or for who works next.
Ended = tuple[str, str]

STEPS: Final[Mapping[BuildStep, Callable[[Work], Awaitable[Ended]]]] = {
    BuildStep.PLAN: plan,
    BuildStep.AGREE: agree,
    BuildStep.MEASURE: measure,
    BuildStep.NEXT: choose,
    BuildStep.SPECIFY: specify,
    BuildStep.LOCK: lock,
    BuildStep.IMPLEMENT: implement,
    BuildStep.CHECK: check,
    BuildStep.REVIEW: review,
    BuildStep.ROLL_BACK: roll_back,
    BuildStep.REFINE: refine,
    BuildStep.WEIGH: weigh,
    BuildStep.FINISH: finish,
    BuildStep.COVER: cover,
    BuildStep.PROVE: prove,
    BuildStep.APPROVE: approve,
    BuildStep.APPLY: apply,
    BuildStep.COMMIT: commit,
}


async def build(
    run: Run,
    cast: Cast,
    request: str,
    judges: Judges,
    options: BuildOptions,
    *,
    name: str = "",
    earlier: Build | None = None,
    threads: Mapping[str, Sequence[Message]] | None = None,
) -> Outcome:
    """Turn a request into tested code in a trial, ask the person once, and apply it.

    With `earlier`, go on after the last finished step; a step in which a model was already at work goes on
    in its own conversation. Raises KithError.
    """
    state = earlier or Build()
    said = {name: Thread(name, messages) for name, messages in (threads or {}).items()}
    async with kept_trial(run.workspace, name) as held:
        if earlier:
            await held.trial.withdraw()
        inside = run.inside(held.trial)
        work = Work(inside, run, held.trial, cast, judges, options, request, state, said)
        outcome = await _drive(work)
        held.adopted, held.resumable = outcome.status == "done", outcome.status == "failed"
    return outcome


async def _drive(work: Work) -> Outcome:
    state = work.build
    if state.step is BuildStep.FAILED and state.last:  # once more, perhaps with other options
        state.step = BuildStep(state.last.step)
    await _recover(work)
    while state.step not in ENDS:
        await _take_step(work, state.step)
    text = state.last.text if state.last else ""
    match state.step:
        case BuildStep.DONE:
            return Outcome("done", tell(state))
        case BuildStep.REJECTED:
            return Outcome("rejected", text)
        case _:
            return Outcome("failed", text)


async def _recover(work: Work) -> None:
    """Let the trial be what it was when the step that comes now began, unless a model was at work in it."""
    state = work.build
    if state.finished and not state.spoken and state.applied is None:
        await work.trial.go_back(state.checkpoint)


async def _take_step(work: Work, step: BuildStep) -> None:
    """One step, its checkpoint, and the word that it is finished: in this order, whatever happens between."""
    state, task = work.build, work.build.task
    if step is BuildStep.NEXT:
        task = state.upcoming
    state.begin(step)
    with work.run.step(f"{step} {task}".strip(), kind=step, task=task) as inside:
        outcome, text = await STEPS[step](replace(work, run=inside))
    if state.wrote(step, outcome):
        changes = await work.trial.checkpoint(state.new_checkpoint)
        work.seen[state.new_checkpoint] = await work.trial.remember(changes)
    work.tell(Advanced(step, outcome, task, state.attempt, text))
