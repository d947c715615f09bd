"""Takes a change back without losing what was edited since: a three-way merge per file."""

import tempfile
from pathlib import Path

from kith.core.errors import TreeError
from kith.core.values import SYMLINK, Change, Changes
from kith.trees.files import show_path
from kith.trees.git import run_git
from kith.trees.records import load_changes
from kith.trees.swap import is_same, look


class GoneError(TreeError):
    """Nothing is left of a change, so it cannot be undone."""


async def undo_changes(root: Path, state: Path, change_id: str) -> Changes:
    """Compute the changes that undo the applied change `change_id`, the last one or an older one.

    A file without later edits gets its old content; in an edited one, the edits stay and the change is taken
    out around them. Nothing is written: hand the result to `apply_changes` with `undoes=change_id`. Raises
    TreeError naming the files where the two overlap, GoneError where nothing is left of the change.
    """
    wanted, conflicts = list[Change](), list[str]()
    for change in load_changes(state, change_id):
        try:
            undone = await _take_out(root, change)
        except _Conflict:
            conflicts.append(show_path(change.path))
            continue
        if undone is not None:
            wanted.append(undone)
    if conflicts:
        raise TreeError(f"edited since, in the same places: {', '.join(conflicts)}; nothing was changed")
    if not wanted:
        raise GoneError("nothing of this change is in your files any more")
    return tuple(wanted)


class _Conflict(Exception):
    """A later edit prevents the undo of one file."""


async def _take_out(root: Path, change: Change) -> Change | None:
    """The change that undoes `change` in the file as it is now; None when that has happened already."""
    found = look(root, change.path)
    if is_same(found, change.after, change.mode):
        return change.inverse
    if is_same(found, change.before, change.mode_before):
        return None
    if found is None or change.before is None or change.after is None:
        raise _Conflict
    if SYMLINK in (found.mode, change.mode, change.mode_before):
        raise _Conflict
    mode = change.mode_before if found.mode == change.mode else found.mode
    content = await merge_three(found.content, change.after, change.before)
    if content is None:
        raise _Conflict
    return Change(change.path, found.content, content, mode, found.mode)


async def merge_three(current: bytes, base: bytes, other: bytes) -> bytes | None:
    """`current` with the step from `base` to `other` made in it; None when both changed the same lines."""
    if current in (base, other):
        return other
    if base == other:
        return current
    with tempfile.TemporaryDirectory(prefix="kith-merge-") as folder:
        for name, content in (("current", current), ("base", base), ("other", other)):
            Path(folder, name).write_bytes(content)
        ran = await run_git(Path(folder), "merge-file", "-p", "-q", "current", "base", "other")
    return ran.stdout if ran.ok else None
