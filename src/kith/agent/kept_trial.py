"""A trial whose change waits in it until it is adopted, made again where its files were edited since."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kith.core.errors import TreeError
from kith.core.trial_names import session_of
from kith.core.values import SYMLINK, Change, Changes
from kith.core.workspace import Trial, Workspace
from kith.edits import EditError, find_edits, make_changes, unified_diff
from kith.trees.waiting_changes import list_unsaved, list_waiting


class KeptTrial(Struct):
    """A trial at work. `adopted`: it is not needed any more; `resumable`: it stays whole, even when empty."""

    trial: Trial
    adopted: bool = False
    resumable: bool = False


class _WaitsError(Exception):
    """Leaves the trial's block in a way that keeps the trial."""


@asynccontextmanager
async def kept_trial(workspace: Workspace, name: str) -> AsyncIterator[KeptTrial]:
    """A trial called `name`; unless `adopted` is set, a change in it waits, however the block ends.

    Without a name nothing waits. After a crash, what waits is the change as it was last remembered.
    """
    try:
        async with workspace.trial(name) as trial:
            held = KeptTrial(trial)
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


async def save_left(workspace: Workspace, name: str, *, resumable: bool) -> None:
    """Let the change wait that a killed process left in a trial. Raises BusyError, TreeError."""
    async with kept_trial(workspace, name) as held:
        held.resumable = resumable


async def _try_to_remember(trial: Trial, *, only: bool = False) -> bool:
    """True if the trial holds a change; if it cannot be read now, an earlier record counts."""
    try:
        return bool(await trial.remember(only=only))
    except TreeError:
        return True


def has_killed(state: Path, root: Path, at_work: Collection[str]) -> bool:
    """True if a killed process may have left a change of a folder in a trial that does not wait yet."""
    return any(session_of(name) not in at_work for name in list_unsaved(state, root, ""))


def waiting_sessions(state: Path, root: Path | None = None) -> tuple[str, ...]:
    """Sessions (of one folder, if given) with a change that was not applied, the newest change first."""
    found = [each for each in reversed(list_waiting(state)) if root in (None, each.root)]
    return tuple(dict.fromkeys(each.session for each in found))


# A change whose files were edited since it was made, made again on what they are now.


async def renew(tree: Workspace, changes: Changes) -> Changes:
    """The changes with the present contents of the tree as what was before.

    Each hunk is applied at the present place of its lines, exactly and once. Raises TreeError where they do
    not any more.
    """
    renewed = [await _renew(tree, change) for change in changes]
    return tuple(
        change for change in renewed if change.before != change.after or change.mode != change.mode_before
    )


async def _renew(tree: Workspace, change: Change) -> Change:
    now = await _read(tree, change.path)
    if now == change.after and change.mode == change.mode_before:
        return replace(change, before=now)  # the tree has it already
    if now == change.before or SYMLINK in (change.mode, change.mode_before):
        return change
    if now is None or change.before is None or change.after is None:
        raise TreeError(f"{change.path} was made or deleted in your tree meanwhile; nothing was changed")
    try:
        (made,) = make_changes(find_edits(unified_diff(change), {change.path}), {change.path: now})
    except (EditError, ValueError):
        words = "was edited in your tree meanwhile, in the same places; nothing was changed"
        raise TreeError(f"{change.path} {words}") from None
    return Change(change.path, now, made.after, change.mode, change.mode_before)


async def _read(tree: Workspace, path: str) -> bytes | None:
    try:
        return await tree.read(path)
    except TreeError:
        if path in await tree.files():
            raise
        return None
