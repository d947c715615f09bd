"""A trial whose change waits in it, under the trial's name, until it is adopted."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from kith.core.errors import TreeError
from kith.core.workspace import Trial, Workspace


@dataclass(slots=True)
class Held:
    """A trial at work. `adopted`: it is not needed any more; `resumable`: it stays whole, even when empty."""

    trial: Trial
    adopted: bool = False
    resumable: bool = False


class _WaitsError(Exception):
    """Leaves the trial's block in a way that keeps the trial."""


@asynccontextmanager
async def kept_trial(workspace: Workspace, name: str) -> AsyncIterator[Held]:
    """A trial called `name`; unless `adopted` is set, a change in it waits, however the block ends.

    Without a name nothing waits. After a crash, what waits is the change as it was last remembered.
    """
    try:
        async with workspace.trial(name) as trial:
            held = Held(trial)
            try:
                yield held
            except BaseException:
                if name:
                    await _try_to_remember(trial)
                raise
            if (
                name
                and not held.adopted
                and (await _try_to_remember(trial, only=not held.resumable) or held.resumable)
            ):
                raise _WaitsError
    except _WaitsError:
        return


async def discard(workspace: Workspace, name: str) -> None:
    """Throw away the change that waits in a trial, and the trial."""
    async with workspace.trial(name):
        pass


async def save_left(workspace: Workspace, name: str) -> None:
    """Let the change wait that a killed process left in a trial. Raises BusyError, TreeError."""
    async with kept_trial(workspace, name) as held:
        held.resumable = True


async def _try_to_remember(trial: Trial, *, only: bool = False) -> bool:
    """Whether the trial holds a change; where its end cannot be read, what was remembered before counts."""
    try:
        return bool(await trial.remember(only=only))
    except TreeError:
        return True
