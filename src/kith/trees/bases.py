"""Notices when the user changes a file that a trial has changed as well, so that no edit is lost."""

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kith.core.errors import TreeError
from kith.core.values import Changes
from kith.trees.guard import show_path


@dataclass(frozen=True, slots=True)
class Bases:
    """Which states of the user's files a trial started from: those from before `begun` (nanoseconds, as in
    ctime) and those noted in `file`."""

    root: Path
    begun: int
    file: Path

    def note(self, path: str) -> None:
        """The trial is about to change `path`, starting from what the user's file is now."""
        # Even of an old file: its time moves when the user edits it and takes that back.
        if (self.root / path).is_file():
            with suppress(OSError), self.file.open("a") as lines:
                lines.write(json.dumps([path, _digest((self.root / path).read_bytes())]) + "\n")

    def check(self, changes: Changes) -> None:
        """Raises TreeError when a change would undo what the user did to a file in the meantime."""
        newer = [each for each in changes if each.before is not None and self._is_newer(each.path)]
        if not newer:
            return
        noted = self._load()
        for change in newer:
            if (change.path, _digest(change.before or b"")) not in noted:
                raise TreeError(
                    f"{show_path(change.path)} was changed in your tree while the trial changed it too;"
                    " nothing was applied, so run the task again on what you have now"
                )

    def _is_newer(self, path: str) -> bool:
        # ctime, because no program can set it back.
        try:
            return (self.root / path).lstat().st_ctime_ns > self.begun
        except OSError:
            return False

    def _load(self) -> set[tuple[str, str]]:
        try:
            return {(path, digest) for path, digest in map(json.loads, self.file.read_text().splitlines())}
        except FileNotFoundError:
            return set()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
