"""The sessions whose change waits, for lists: found without opening a project."""

from pathlib import Path

from kith.trees.waiting_changes import list_waiting


def waiting_sessions(state: Path, root: Path | None = None) -> tuple[str, ...]:
    """Sessions (of one folder, if given) with a change that was not applied, the newest change first."""
    found = [each for each in reversed(list_waiting(state)) if root in (None, each.root)]
    return tuple(dict.fromkeys(each.session for each in found))
