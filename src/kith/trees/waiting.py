"""Changes that were not applied: each waits in its trial, as it was proposed last."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kith.core.trial_names import session_of
from kith.core.values import Changes
from kith.trees.checkpoints import Checkpoints
from kith.trees.trial_folder import NAMELESS, claim_folder
from kith.trees.walk import remove_tree

PROPOSED: Final = "proposed"  # the checkpoint that holds the change, with the contents it was made from
_LOWER: Final = "lower"  # the link to the tree
_CHECKPOINTS: Final = "checkpoints"
_EMPTY: Final = len("[]")  # bytes of a checkpoint that holds no change


@dataclass(frozen=True, slots=True)
class Waiting:
    """A change that waits: the name of its trial, the tree it belongs to, when it was proposed."""

    name: str
    root: Path
    at: float

    @property
    def session(self) -> str:
        """The session whose work it is."""
        return session_of(self.name)


@dataclass(slots=True)
class Held:
    """A change that waits and is looked after now. `done`: it need not wait any more."""

    changes: Changes
    done: bool = False


class _WaitsError(Exception):
    """Leaves the trial's block in a way that keeps the trial."""


def list_waiting(state: Path) -> tuple[Waiting, ...]:
    """Every change that waits, oldest first. No trial is locked, so one that is at work is listed, too."""
    return tuple(sorted(_find(state / "trials"), key=lambda each: each.at))


def read_waiting(state: Path, name: str) -> Changes:
    """The change that waits in the trial of this name. Raises TreeError where none does, or it is damaged."""
    return _checkpoints(state / "trials" / name).load(PROPOSED)


def list_unsaved(state: Path, root: Path, beginning: str) -> tuple[str, ...]:
    """Trials of a tree whose names begin so, and whose processes never came to keep their change."""
    trials, found = state / "trials", list[str]()
    for folder in trials.iterdir() if trials.is_dir() else ():
        if not folder.name.startswith(beginning) or folder.name.startswith(NAMELESS):
            continue
        with suppress(OSError):
            if (folder / _LOWER).readlink() == root and not _checkpoints(folder).path(PROPOSED).exists():
                found.append(folder.name)
    return tuple(found)


@contextmanager
def hold_waiting(state: Path, root: Path, name: str) -> Iterator[Held]:
    """A change that waits, while no other process can have it; its trial is removed once it is `done`.

    Raises BusyError where another process has it, TreeError where it does not wait any more.
    """
    held = Held(read_waiting(state, name))
    with suppress(_WaitsError), claim_folder(state, root, name):
        held.changes = read_waiting(state, name)
        yield held
        if not held.done:
            raise _WaitsError


def keep_change(trial: Path) -> None:
    """Remove all of a trial's folder but the change: copies and what was built there may be large."""
    for each in trial.iterdir():
        if each.name in (_LOWER, _CHECKPOINTS):
            continue
        if each.is_dir() and not each.is_symlink():
            remove_tree(each)
        else:
            with suppress(OSError):
                each.unlink()


def _find(trials: Path) -> Iterator[Waiting]:
    for folder in trials.iterdir() if trials.is_dir() else ():
        if folder.name.startswith(NAMELESS):
            continue
        try:
            found = _checkpoints(folder).path(PROPOSED).stat()
            root = (folder / _LOWER).readlink()
        except OSError:  # no change yet, or just removed
            continue
        if found.st_size > _EMPTY:
            yield Waiting(folder.name, root, found.st_mtime)


def _checkpoints(folder: Path) -> Checkpoints:
    return Checkpoints(folder / _CHECKPOINTS)
