"""The recorded tasks of a project: those of its log, and the exercises that come with kith."""

from collections.abc import Sequence

from kith.app.project import Project
from kith.routing.rows import LegRow
from kith.workflows.coach.recorded import Recorded, find_recorded


def find_tasks(project: Project, legs: Sequence[LegRow]) -> tuple[Recorded, ...]:
    """What can be done again: the project's own tasks, the newest first, then the exercises."""
    return find_recorded(legs, str(project.root))
