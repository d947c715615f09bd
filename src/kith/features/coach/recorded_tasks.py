"""Find recorded tasks that can be done again: the project's own, and kith's exercises."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kith.agent.project import Project
from kith.features.measure.bench.exercises import find_exercises
from kith.features.measure.rows import LegRow

# Why a part counts as it does, where that is no matter of taste or of a server that was down.
_DECIDED = frozenset({"tests", "timeout", "malformed", "failed", "limit", "accepted", "rejected"})


@dataclass(frozen=True, slots=True)
class Recorded:
    """One task. `root` and `commit` say where it began; instead of both, `exercise` names one of kith's own.

    `check` are the commands of which each must succeed; `at` when it was given (seconds since the epoch).
    """

    words: str
    kind: str
    check: tuple[str, ...]
    root: str = ""
    commit: str = ""
    exercise: str = ""
    at: float = 0.0

    @property
    def id(self) -> str:
        """The same for the same task."""
        told = "\0".join((self.words, *self.check, self.root, self.commit, self.exercise))
        return hashlib.sha256(told.encode()).hexdigest()[:12]


def find_recorded(legs: Iterable[LegRow], root: str = "") -> tuple[Recorded, ...]:
    """The tasks of the log that can be done again, the newest first, those of one folder where it is given.

    A task that was given up before its checks ran is checked as the folder's other tasks are. Only those
    count that something spoke for or against: a suite that passed before says nothing of what was done.
    """
    newest = [leg for leg in sorted(legs, key=lambda leg: -leg.at) if root in ("", leg.root)]
    usual = {leg.root: leg.check for leg in reversed(newest) if leg.check}
    found = dict[str, Recorded]()
    for leg in newest:
        check = leg.check or usual.get(leg.root, ())
        if leg.words and leg.commit and check and leg.reason in _DECIDED and not (leg.part or leg.after):
            task = Recorded(leg.words, leg.kind, check, leg.root, leg.commit, at=leg.at)
            found.setdefault(task.id, task)
    return tuple(found.values())


def find_tasks(project: Project, legs: Sequence[LegRow]) -> dict[str, tuple[Recorded, ...]]:
    """By kind of work, what can be done again: the project's own tasks, the newest first, then exercises.

    The best form of edits hardly depends on their purpose, so the exercises represent each kind.
    """
    own = find_recorded(legs, str(project.root))
    kinds = dict.fromkeys([*(task.kind for task in own), *(each.kind for each in find_exercises())])
    bundled = tuple(
        Recorded(each.words, each.kind, (each.check,), exercise=each.name) for each in find_exercises()
    )
    return {kind: (*(task for task in own if task.kind == kind), *bundled) for kind in kinds}
