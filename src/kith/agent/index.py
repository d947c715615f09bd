"""The index of a project while it is worked on: queried if there is one, updated in the background."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.project import Project
from kith.context.brief import Fitting, fit_nothing
from kith.context.outline import SymbolReferences
from kith.core.errors import KithError
from kith.core.event_loop import leave
from kith.core.events import Notice
from kith.core.model import Emit
from kith.memory.index import Index, open_index, refresh
from kith.memory.past_tasks import PastTask, past_tasks, weigh_files
from kith.tools.symbols import Look

MOST: Final = 50_000  # files of a tree whose index is made without being asked for, in one run or several
WORTH: Final = 200  # files, from which on a tool that finds definitions is worth its place in the prompt
_LATER: Final = 3.0  # seconds, after which a first index holds up no short task any more
_PATIENCE: Final = 0.3  # seconds; what changed since the last time rarely takes longer


def has_symbols(project: Project) -> bool:
    """True if the project's index is worth a tool; ask once for a conversation."""
    try:
        index = open_index(project.settings.cache, project.root)
        try:
            return index.complete and index.size >= WORTH
        finally:
            index.close()
    except KithError:
        return False


def look_nowhere(name: str) -> SymbolReferences:
    """In place of an index: nothing is known beyond the tree's own changes."""
    return SymbolReferences()


class Known(Struct, frozen=True):
    """The index of the project, and the task that updates it; None where there is none."""

    index: Index | None = None
    work: asyncio.Future[None] | None = None
    tasks: Sequence[PastTask] = ()

    @property
    def look(self) -> Look | None:
        """Return the lookup of definitions, for the tool `symbols`."""
        return self.index.find if self.index else None

    async def fitting(self) -> Fitting:
        """Return the scores of files for a task, by the current tree if that is quickly known."""
        fitting: Fitting = fit_nothing
        if self.index is not None and self.work is not None:
            await asyncio.wait([self.work], timeout=_PATIENCE)
            fitting = self.index.fitting
        tasks = self.tasks
        return (lambda words: replace(fitting(words), tasks=weigh_files(words, tasks))) if tasks else fitting


@asynccontextmanager
async def open_known(project: Project, emit: Emit) -> AsyncIterator[Known]:
    """Open the project's index; update it in the background.

    Without an index, one is begun for the next time. Leaving interrupts that, and the next time continues
    it. An unusable index is reported and ignored.
    """
    try:
        index = open_index(project.settings.cache, project.root)
        complete = index.complete
    except KithError as error:
        emit(Notice(f"Working without an index: {error}", "warning"))
        yield Known()
        return
    tasks = past_tasks(project.log, str(project.root))
    if index.note:
        emit(Notice(index.note))
    work = asyncio.ensure_future(_keep(index, project, complete, emit))
    try:
        yield Known(index, work, tasks) if complete else Known(tasks=tasks)
    finally:
        await leave(work)
        index.close()


async def _keep(index: Index, project: Project, complete: bool, emit: Emit) -> None:
    """Look at what changed. Nobody waits for it, so a failure is said and no more."""
    if not complete:
        await asyncio.sleep(_LATER)
    try:
        if complete or len(await project.tree.files()) <= MOST:
            await refresh(index, project.tree)
    except KithError as error:
        emit(Notice(f"The index was not updated: {error}", "warning"))
