"""A change whose files were edited since it was made, made again on what they are now."""

from dataclasses import replace

from kith.core.errors import TreeError
from kith.core.values import SYMLINK, Change, Changes
from kith.core.workspace import Workspace
from kith.edits import EditError, find_edits, make_changes, unified_diff


async def renew(tree: Workspace, changes: Changes) -> Changes:
    """The changes with the present contents of the tree as what was before.

    Each hunk lands where its lines stand now, exactly and once. Raises TreeError where they do not any more.
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
