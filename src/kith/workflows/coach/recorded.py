"""Tasks that can be done again: words, the state they began from, and the command that decides."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from kith.routing.rows import LegRow

_JUDGED_BY_TESTS = frozenset({"tests", "timeout"})  # of a verdict: a check failed before, or fails now


@dataclass(frozen=True, slots=True)
class Recorded:
    """One task. `root` and `commit` say where it began; `folder` is a folder of kith's own instead of both.

    `check` are the commands of which each must succeed; `at` when it was given (seconds since the epoch).
    """

    words: str
    kind: str
    check: tuple[str, ...]
    root: str = ""
    commit: str = ""
    folder: str = ""
    at: float = 0.0

    @property
    def id(self) -> str:
        """The same for the same task."""
        told = "\0".join((self.words, *self.check, self.root, self.commit, self.folder))
        return hashlib.sha256(told.encode()).hexdigest()[:12]


def find_recorded(legs: Iterable[LegRow], root: str = "") -> tuple[Recorded, ...]:
    """The tasks of the log that can be done again, the newest first, those of one folder where it is given.

    Only those count that tests decided: a suite that passed before says nothing of what was done.
    """
    found = dict[str, Recorded]()
    for leg in sorted(legs, key=lambda leg: leg.at, reverse=True):
        decided = leg.passed is not None and leg.reason in _JUDGED_BY_TESTS | {"accepted", "rejected"}
        if not (leg.words and leg.commit and leg.check and decided) or leg.part or leg.after:
            continue
        if root in ("", leg.root):
            task = Recorded(leg.words, leg.kind, leg.check, leg.root, leg.commit, at=leg.at)
            found.setdefault(task.id, task)
    return tuple(found.values())
