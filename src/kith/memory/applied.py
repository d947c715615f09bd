"""Find an applied change: by its id, by its session, or the last one in effect."""

from collections.abc import Container, Sequence

from kith.core.errors import UsageError
from kith.core.events import Applied
from kith.core.run import SHORT


def short_id(change_id: str) -> str:
    """A change's id as people see and type it: by its end, since all of a tree begin the same."""
    return change_id[-SHORT:]


def short_commit(commit: str) -> str:
    """A commit's hash as people see and type it; another name stays whole."""
    return commit[:7] if commit.isalnum() else commit


def find_applied(
    applied: Sequence[tuple[str, Applied]], wanted: str = "", gone: Container[str] = ()
) -> Applied:
    """The change to undo, of (session, change) pairs, the oldest first. Raises UsageError.

    Undoing an undo redoes the change, so the change is open once more. Those that are `gone` from
    the files (a checkout dropped them) are skipped where others may be meant.
    """
    # Two processes may both have logged what a crash had left unlogged.
    applied = list({each.change_id: (session, each) for session, each in reversed(applied)}.values())[::-1]
    open_ids = _open(applied)
    if not wanted:
        held = (each for _, each in applied if each.change_id in open_ids and not each.undoes)
        last = [each for each in held if each.change_id not in gone]
        if not last:
            raise UsageError("There is nothing to undo here.")
        return last[-1]
    matches = [each for session, each in applied if session.startswith(wanted)]
    if len({session for session, _ in applied if session.startswith(wanted)}) != 1:
        matches = [each for _, each in applied if each.change_id.startswith(wanted)]
        matches = [each for _, each in applied if each.change_id.endswith(wanted)] or matches
        if len(matches) > 1:
            raise UsageError(f"Several changes are called {wanted!r}; give more of the id.")
    if not matches:
        raise UsageError(f"No change {wanted!r} was applied here.")
    still = [each for each in matches if each.change_id in open_ids]
    if not still:
        raise UsageError(f"{short_id(matches[-1].change_id)} is already undone.")
    return ([each for each in still if each.change_id not in gone] or still)[-1]


def holds(applied: Sequence[tuple[str, Applied]], change_id: str) -> bool:
    """True if a change was not undone, or was redone."""
    return change_id in _open(applied)


def _open(applied: Sequence[tuple[str, Applied]]) -> set[str]:
    """The ids of the changes that hold now."""
    undoes = {each.change_id: each.undoes for _, each in applied}
    open_ids: set[str] = set()
    for _, each in applied:
        open_ids.add(each.change_id)
        if each.undoes:
            open_ids.discard(each.undoes)
            open_ids.add(undoes.get(each.undoes, ""))
    return open_ids


def find_undone(applied: Sequence[tuple[str, Applied]]) -> Applied:
    """Return the last undo that is still in effect. Raises UsageError where there is none."""
    undoes = {each.change_id: each.undoes for _, each in applied}
    open_ids = _open(applied)
    for _, each in reversed(applied):
        if each.change_id in open_ids and each.undoes and not undoes.get(each.undoes):
            return each
    raise UsageError("There is nothing to redo here.")
