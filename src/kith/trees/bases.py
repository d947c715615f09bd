"""Notices when the user changes a file that a trial has changed as well, so that no edit is lost."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from kith.core.errors import TreeError
from kith.core.values import Change, Changes
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
            with suppress(OSError):
                content = (self.root / path).read_bytes()
                digest = _digest(content)
                self._contents.mkdir(mode=0o700, exist_ok=True)
                (self._contents / digest).write_bytes(content)
                with self.file.open("a") as lines:
                    lines.write(json.dumps([path, digest]) + "\n")

    def check(self, changes: Changes) -> Changes:
        """The same changes. Raises TreeError when one would undo what the user did to a file meanwhile."""
        for change in self._overtaken(changes):
            raise TreeError(
                f"{show_path(change.path)} was changed in your tree while the trial changed it too;"
                " nothing was applied, so run the task again on what you have now"
            )
        return changes

    def restore(self, changes: Changes) -> Changes:
        """The changes from what each file held then. Raises TreeError where that is not known."""
        known = dict(self._load())  # the last state of a path counts
        restored = {change.path: self._restore(change, known) for change in self._overtaken(changes)}
        return tuple(restored.get(change.path, change) for change in changes)

    def _restore(self, change: Change, known: Mapping[str, str]) -> Change:
        try:
            return replace(change, before=(self._contents / known[change.path]).read_bytes())
        except (KeyError, OSError):
            raise TreeError(
                f"{show_path(change.path)} was changed in your tree while a command in the trial changed it "
                "too, and what it was before is not known"
            ) from None

    def _overtaken(self, changes: Changes) -> Iterator[Change]:
        """Those whose files the user has edited since the trial began with them."""
        if not any(each.before is None or self._is_newer(each.path) for each in changes):
            return
        noted = set(self._load())
        begun_with = {path for path, _ in noted}
        for each in changes:
            if each.before is None:
                if each.path in begun_with:  # the user has deleted it
                    yield each
            elif self._is_newer(each.path) and (each.path, _digest(each.before)) not in noted:
                yield each

    @property
    def _contents(self) -> Path:
        return self.file.with_suffix(".d")

    def _is_newer(self, path: str) -> bool:
        # ctime, because no program can set it back.
        try:
            return (self.root / path).lstat().st_ctime_ns > self.begun
        except OSError:
            return False

    def _load(self) -> Sequence[tuple[str, str]]:
        """Paths and the digests of what they held, oldest first."""
        try:
            return [(path, digest) for path, digest in map(json.loads, self.file.read_text().splitlines())]
        except FileNotFoundError:
            return ()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
