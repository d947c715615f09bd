"""A change that was left in its trial: looked at, adopted after all, or thrown away."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kith.core.events import Notice, Proposed
from kith.core.run import Run
from kith.core.values import Changes
from kith.core.workspace import Trial, Workspace
from kith.edits import summarise
from kith.workflows.attempt import Outcome, adopt
from kith.workflows.judges import Judges
from kith.workflows.verdicts import ask_gates, in_a_line


class _LeftError(Exception):
    """The trial is left as it is."""


@asynccontextmanager
async def left_trial(workspace: Workspace, name: str) -> AsyncIterator[Trial]:
    """The trial of this name, which waits on after the block."""
    try:
        async with workspace.trial(name) as trial:
            yield trial
            raise _LeftError
    except _LeftError:
        return


async def read_left(workspace: Workspace, name: str) -> Changes:
    """The change that waits in a trial."""
    async with left_trial(workspace, name) as trial:
        return await trial.changes()


async def discard(workspace: Workspace, name: str) -> None:
    """Throw away the change that waits in a trial."""
    async with workspace.trial(name):
        pass


async def adopt_left(run: Run, name: str, judges: Judges) -> Outcome:
    """Check the change that waits in a trial, and ask for it again; it is thrown away once it is applied.

    There is no model that could mend it, so what the gates say against it is told, and the person decides.
    """
    changes = await read_left(run.workspace, name)
    async with run.workspace.trial() as trial:
        await trial.apply(changes)
        inside = run.inside(trial)
        inside.emit(Proposed(summarise(changes)))
        verdict = await ask_gates(inside, await judges.gates(), changes, 1)
        if not verdict.ok:
            inside.emit(Notice(f"It does not pass: {in_a_line(verdict)}", "warning"))
        decision = await judges.person(inside, changes, verdict.evidence)
        if not decision.ok:
            return Outcome("rejected", decision.feedback or "Nothing was applied; it waits on.")
        outcome = await adopt(
            run, trial, judges, changes, decision, ""
        )  # whoever sees it applied needs no words
    if outcome.status == "done":
        await discard(run.workspace, name)
    return outcome
