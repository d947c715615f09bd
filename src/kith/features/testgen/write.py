"""Tests are written in a trial, target by target, and the person sees one diff of what proved something."""

from collections.abc import Sequence

from kith.agent.attempt import Outcome, adopt, not_adopted
from kith.agent.judges import Judges
from kith.agent.kept_trial import kept_trial
from kith.agent.roles import Cast
from kith.agent.verdicts import decide
from kith.core.errors import LimitError, ModelError
from kith.core.events import Notice
from kith.core.evidence import CheckEvidence, combine
from kith.core.run import Run
from kith.core.workspace import ExecLimits, Trial
from kith.features.testgen.place import Place
from kith.features.testgen.progress import tell
from kith.features.testgen.result import Written
from kith.features.testgen.rounds import Desk, Wish, play_round, set_up, start_over
from kith.features.testgen.target import Target


async def write_tests(
    run: Run, cast: Cast, work: Sequence[tuple[Target, Place]], limits: ExecLimits, wish: Wish, judges: Judges
) -> tuple[Outcome, tuple[Written, ...]]:
    """Tests for each target at its place, all in one trial; adopted when the person agrees."""
    async with kept_trial(run.workspace, run.trial_name) as held:
        outcome, written = await _write(run, held.trial, cast, work, limits, wish, judges)
        held.adopted = outcome.status == "done"
    return outcome, written


async def _write(
    run: Run,
    trial: Trial,
    cast: Cast,
    work: Sequence[tuple[Target, Place]],
    limits: ExecLimits,
    wish: Wish,
    judges: Judges,
) -> tuple[Outcome, tuple[Written, ...]]:
    inside, desks = run.inside(trial), list[Desk]()
    for target, place in work:
        with inside.step(f"tests for {target.label}") as step:
            desks.append(await set_up(step, cast, target, place, limits, wish))
            await _play(step, desks[-1])
    while True:
        written, changes = tuple(desk.sum_up() for desk in desks), await trial.changes()
        if not changes:
            return Outcome("failed", "No test was kept."), written
        await trial.remember(changes)
        evidence = combine([CheckEvidence("mutation testing", "held", "reached")])
        decision = await decide(run, trial, judges, changes, evidence)
        if decision.unmet:
            return not_adopted(decision), written
        if decision.ok:
            text = "\n".join(tell(each) for each in written)
            return await adopt(run, trial, judges, changes, decision, text), written
        if not decision.feedback:
            return Outcome("rejected", "Nothing was applied."), written
        await start_over(desks[-1], decision.feedback, wish)
        await _play(inside, desks[-1])


async def _play(run: Run, desk: Desk) -> None:
    """Rounds until nothing is missing or the tries are spent. What is kept outlives a model that gives up."""
    for number in range(1, run.limits.tries + 1):
        try:
            if await play_round(desk, number, last=number == run.limits.tries):
                return
        except (LimitError, ModelError) as error:
            if not desk.work.own:
                raise
            run.emit(Notice(f"{error} What was kept until then stays.", "warning"))
            return
