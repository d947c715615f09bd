"""Answer the kernel where kith chooses the models: routes of tasks, turns in roles, errands."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.asking.routes import Route, Router, Turn
from kith.agent.asking.terms import Terms
from kith.agent.project import Project
from kith.agent.relay import GivenUp
from kith.agent.roles import RoleSpec
from kith.context.task_kinds import kind_of
from kith.core.decisions import Routed
from kith.core.model import Tool
from kith.features.build.state import ROLES, Build
from kith.features.route.beliefs import Task
from kith.features.route.choose import look_around
from kith.features.route.delegation import delegation_tools
from kith.features.route.relay import Relay
from kith.memory.database import Record
from kith.models.stack import Opened

# Who plays a role where kith chooses: decided for each role and each task of a build.

# The first step of a role names its part: the spec author's later tests are one with its first ones.
_STEPS: Final[Mapping[str, str]] = {role: str(step) for step, role in reversed(tuple(ROLES.items()))}
# Whose work is judged by tests, whatever the words of the task are like.
_JUDGED: Final = ("spec-author", "implementer", "refiner")
_RELIEVED: Final = "implementer"  # the role in which another model takes over where one does not get on


async def take_turn(terms: Terms, spec: RoleSpec, opened: dict[str, Opened]) -> Turn:
    """The model that plays a role now; `opened` are those of the cast.

    Raises ModelError, NoModelError when nobody can be asked.
    """
    project, build = terms.project, Build()
    records = list(project.log.events(terms.session))
    for record in records:
        build.take(record.event, record.path, record.at)
    where = f"{_STEPS.get(spec.name, spec.name)} {build.task}".strip()
    routes = _routes(records, where)
    relay = Relay(
        terms, replace(terms.run, path=(where,)), await look_around(project, terms.run.emit), opened
    )
    one = await relay.set_out(_describe(spec, build, str(project.root)), routes, f"{terms.session}/{where}")
    if spec.name == _RELIEVED and build.task and relay.plan[1:]:
        first = next((each.plan for each in routes if not each.after), relay.plan)
        tries = -(-(project.settings.build.max_retries + 1) // len(first))
        if build.piece.refusals >= tries * (relay.handovers + 1):
            tried = f"{build.piece.refusals} tries" if build.piece.refusals > 1 else "one try"
            why = f"after {tried}, {_first_line(build.piece.refusal)}"
            one = await relay.follow(GivenUp(one.facts.name, why)) or one
    watched = spec.name == _RELIEVED
    return Turn(one, relay.handovers + 1, relay.watch if watched else lambda role: role)


def _describe(spec: RoleSpec, build: Build, root: str) -> Task:
    """Describe a role's part before it is done."""
    words, files = build.request, 0
    if build.task:
        task = build.piece.task
        words, files = f"{task.title}\n{task.text}", len(task.files)
    return Task(kind_of(words, purpose=spec.purpose, files=files), words, root, spec.name in _JUDGED)


def _first_line(text: str) -> str:
    return next(iter(text.strip().splitlines()), "the gates say no")


def _routes(records: list[Record], where: str) -> tuple[Routed, ...]:
    """Return the decisions for a role and a task so far."""
    return tuple(
        record.event for record in records if isinstance(record.event, Routed) and record.path[:1] == (where,)
    )


class LearnedRouter(Struct, frozen=True):
    """Chooses by what was measured of the models here."""

    def route(self, terms: Terms) -> Route:
        """The route of one task."""
        return Relay(terms, terms.run)

    async def first_choice(self, project: Project) -> str:
        """The name of the model that a task would begin with, most likely. Raises NoModelError."""
        return (await look_around(project, lambda event: None)).arms[0]

    async def take_turn(self, terms: Terms, spec: RoleSpec, opened: dict[str, Opened]) -> Turn:
        """The model that plays a role now. Raises ModelError, NoModelError."""
        return await take_turn(terms, spec, opened)

    def errands(self, terms: Terms, giver: Opened) -> tuple[Tool, ...]:
        """The tools with which `giver` hands work to local models."""
        return delegation_tools(terms, giver)


ROUTER: Final[Router] = LearnedRouter()
