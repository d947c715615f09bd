"""Route a task to models: the pinned one, or a router's choices, one after the other."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct, field

from kith.agent.asking.terms import Terms
from kith.agent.judges import Audit
from kith.agent.project import Project
from kith.agent.relay import GivenUp
from kith.agent.roles import RoleSpec
from kith.context.task_kinds import kind_of
from kith.core.decisions import Routed
from kith.core.model import Role, Tool
from kith.models.stack import Opened
from kith.settings import Settings
from kith.settings.features import find_part, need_part


class Route(Protocol):
    """The models of one task: the first one begins, the next one takes over where it gave up."""

    @property
    def opened(self) -> Mapping[str, Opened]:
        """The models that were opened for the task."""

    @property
    def more(self) -> bool:
        """True if another model could take over from the present one."""

    async def begin(self, words: str, routes: Sequence[Routed], seed: str) -> Opened:
        """The model to begin a task with; where `routes` hold a decision, the one to continue with.

        `seed` makes the same choice again where the same is known. Raises NoModelError, ModelError.
        """

    async def follow(self, given_up: GivenUp) -> Opened | None:
        """The model that takes over, told of in the log; None when nobody is left, or nothing to spend."""

    def watch(self, role: Role) -> Role:
        """The role, stopped when the model that works now is in vain and another one could take over."""

    def audit(self, goal: str, seed: str) -> Audit | None:
        """Return the second check of a change that passes its checks, if there is one."""


class Pinned(Struct, frozen=True):
    """The route of a task that has one model: `held` open already, or else opened when the task begins."""

    terms: Terms
    held: Opened | None = None
    opened: dict[str, Opened] = field(default_factory=dict)
    more: bool = False

    async def begin(self, words: str, routes: Sequence[Routed], seed: str) -> Opened:
        """The model, and in the log who chose it. Raises NoModelError, ModelError."""
        project, run = self.terms.project, self.terms.run
        opened = self.held or await project.open_model(run.emit)
        self.opened[opened.facts.name] = opened
        if not routes:
            run.emit(_pin(project.settings, opened, kind_of(words)))
        return opened

    async def follow(self, given_up: GivenUp) -> Opened | None:
        """Nobody."""
        return None

    def watch(self, role: Role) -> Role:
        """The role as it is."""
        return role

    def audit(self, goal: str, seed: str) -> Audit | None:
        """Nobody."""
        return None


def _pin(chosen: Settings, opened: Opened, kind: str) -> Routed:
    """No choice for a task of this kind: the model that the person named, or the one that was found."""
    plan, origin = (opened.facts.name,), chosen.origin.get("model", "the conversation")
    if not chosen.model:
        return Routed(kind, plan, "the first that was found", by="rule")
    return Routed(kind, plan, f"named {'with -m' if origin == 'flag' else f'in {origin}'}", by="person")


class Turn(Struct, frozen=True):
    """The present turn in a role. `leg` counts the models that have played it; `watch` as a route's."""

    opened: Opened
    leg: int
    watch: Callable[[Role], Role]


class Router(Protocol):
    """Chooses models where the person leaves that to kith."""

    def route(self, terms: Terms) -> Route:
        """The route of one task."""

    async def first_choice(self, project: Project) -> str:
        """The name of the model that a task would begin with, most likely. Raises NoModelError."""

    async def take_turn(self, terms: Terms, spec: RoleSpec, opened: dict[str, Opened]) -> Turn:
        """The model that plays a role now; it is put into `opened`, those of the session.

        Raises ModelError, NoModelError when nobody can be asked.
        """

    def errands(self, terms: Terms, giver: Opened) -> tuple[Tool, ...]:
        """The tools with which `giver`, a model in the cloud, hands work to local ones."""


def find_router() -> Router | None:
    """Find the router, if there is one."""
    found: Router | None = find_part(lambda feature: feature.router)
    return found


def need_router() -> Router:
    """Find the router that the person asked for. Raises UsageError."""
    found: Router = need_part(lambda feature: feature.router, "-m route")
    return found
