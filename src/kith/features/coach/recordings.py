"""The recorded tasks of a project: those of its log, and the exercises that come with kith."""

from collections.abc import Sequence

from kith.agent.project import Project
from kith.features.coach.recorded import Recorded, find_recorded
from kith.features.measure.bench.exercises import find_exercises
from kith.features.measure.rows import LegRow


def find_tasks(project: Project, legs: Sequence[LegRow]) -> dict[str, tuple[Recorded, ...]]:
    """By kind of work, what can be done again: the project's own tasks, the newest first, then exercises.

    How edits are best written hardly depends on what they are for, so the exercises stand in for each kind.
    """
    own = find_recorded(legs, str(project.root))
    kinds = dict.fromkeys([*(task.kind for task in own), *(each.kind for each in find_exercises())])
    bundled = tuple(
        Recorded(each.words, each.kind, (each.check,), exercise=each.name) for each in find_exercises()
    )
    return {kind: (*(task for task in own if task.kind == kind), *bundled) for kind in kinds}
