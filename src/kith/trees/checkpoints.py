"""Moments of a trial that one may want to return to, kept on the disk so that a crash loses none."""

import json
import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from kith.core.codec import decode, encode
from kith.core.errors import TreeError
from kith.core.values import Change, Changes


@dataclass(frozen=True, slots=True)
class Checkpoints:
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
    """What to change so that `present` becomes `wanted`, both seen from the same tree."""
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
