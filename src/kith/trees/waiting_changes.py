"""Changes that were not applied: each waits in its trial, with the checkpoints one may return to."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec import Struct

from kith.core.codec import decode, encode
from kith.core.errors import TreeError
from kith.core.trial_names import session_of
from kith.core.values import Change, Changes
from kith.trees.trial_folder import NAMELESS, claim_folder
from kith.trees.walk import remove_tree

# Moments of a trial that one may want to return to, kept on the disk so that a crash loses none.


class Checkpoints(Struct, frozen=True):
    """The checkpoints of one trial, each a file in `folder`."""

    folder: Path

    def save(self, name: str, changes: Changes) -> None:
        """Write a checkpoint, whole or not at all. Raises TreeError when the disk refuses."""
        path = self.path(name)
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            draft = path.with_suffix(".new")
            with draft.open("w", encoding="utf-8") as file:
                json.dump(encode(changes), file)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except OSError as error:
            raise TreeError(f"the trial cannot be remembered: {error.strerror}") from error

    def load(self, name: str) -> Changes:
        """The changes as they were; () for "". Raises TreeError for one never saved, or damaged."""
        if not name:
            return ()
        try:
            text = self.path(name).read_text(encoding="utf-8")
        except OSError as error:
            raise TreeError(f"the trial has no checkpoint {name!r}") from error
        try:
            changes: Changes = decode(json.loads(text), tuple[Change, ...])
        except (ValueError, TypeError, KeyError) as error:
            raise TreeError(f"the checkpoint {name!r} of the trial is damaged") from error
        return changes

    def path(self, name: str) -> Path:
        """The file that holds a checkpoint, if it was ever set."""
        return self.folder / f"{sha256(name.encode()).hexdigest()[:16]}.json"


def way_back(present: Changes, wanted: Changes) -> Changes:
    """Compute the changes that turn `present` into `wanted`, both against the same tree."""
    now = {change.path: change for change in present}
    then = {change.path: change for change in wanted}
    steps = [now[path].inverse for path in now.keys() - then.keys()]
    for path in then.keys() - now.keys():
        steps.append(then[path])
    for path in then.keys() & now.keys():
        old, new = now[path], then[path]
        if (old.after, old.mode) != (new.after, new.mode):
            steps.append(Change(path, old.after, new.after, new.mode, old.mode))
    return tuple(sorted(steps, key=lambda change: change.path))


PROPOSED: Final = "proposed"  # the checkpoint that holds the change, with the contents it was made from
_LOWER: Final = "lower"  # the link to the tree
_CHECKPOINTS: Final = "checkpoints"
_EMPTY: Final = len("[]")  # bytes of a checkpoint that holds no change


class Waiting(Struct, frozen=True):
    """A change that waits: the name of its trial, the tree it belongs to, when it was proposed."""

    name: str
    root: Path
    at: float

    @property
    def session(self) -> str:
        """The session whose work it is."""
        return session_of(self.name)


class Held(Struct):
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
