"""Who plays a role where kith chooses: decided for each role and each task of a build."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from kith.app.project import Project
from kith.app.route import look_around
from kith.app.way import Way
from kith.core.decisions import Routed
from kith.core.run import Run
from kith.memory.log import Record
from kith.models.stack import Opened
from kith.models.wrappers.limited import Spent
from kith.routing.kinds import kind_of
from kith.routing.learner import Task
from kith.workflows.build.state import ROLES, Build
from kith.workflows.relay import GivenUp
from kith.workflows.roles import RoleSpec

_STEPS: Final[Mapping[str, str]] = {role: str(step) for step, role in ROLES.items()}
# Whose work is judged by tests, whatever the words of the task are like.
_JUDGED: Final = ("spec-author", "implementer", "refiner")


RELIEVED: Final = "implementer"  # the role in which another model takes over where one does not get on


@dataclass(frozen=True, slots=True)
class Turns:
    """The decisions of one session; `opened` are the models of its cast."""

    project: Project
    run: Run
    id: str
    opened: dict[str, Opened]

    async def take(self, spec: RoleSpec) -> tuple[Opened, Way]:
        """The model whose turn it is in a role, and the way of its task.

        Raises ModelError, NoModelError when nobody can be asked.
        """
        records, build = list(self.project.log.events(self.id)), Build()
        for record in records:
            build.take(record.event, record.path, record.at)
        where = f"{_STEPS.get(spec.name, spec.name)} {build.task}".strip()
        routes = _routes(records, where)
        run = replace(self.run, path=(where,))
        way = Way(self.project, run, Spent(), await look_around(self.project), self.opened)
        opened = await way.begin(self._task(spec, build), routes, f"{self.id}/{where}")
        if spec.name == RELIEVED and build.task and way.plan[1:]:
            first = next((each.plan for each in routes if not each.after), way.plan)
            tries = -(-(self.project.settings.build.max_retries + 1) // len(first))
            if build.piece.refusals >= tries * (way.relays + 1):
                why = f"after {build.piece.refusals} tries, {build.piece.refusal.strip().splitlines()[0]}"
                opened = await way.follow(GivenUp(opened.facts.name, why)) or opened
        return opened, way

    def _task(self, spec: RoleSpec, build: Build) -> Task:
        words = f"{build.piece.task.title}\n{build.piece.task.text}" if build.task else build.request
        files = len(build.piece.task.files) if build.task else 0
        kind = kind_of(words, purpose=spec.purpose, files=files)
        return Task(kind, words, str(self.project.root), spec.name in _JUDGED)


def _routes(records: list[Record], where: str) -> tuple[Routed, ...]:
    """What was decided for a role and a task so far."""
    return tuple(
        record.event for record in records if isinstance(record.event, Routed) and record.path[:1] == (where,)
    )
