"""What the kernel asks where kith chooses the models: routes of tasks, turns in roles, errands."""

from dataclasses import dataclass
from typing import Final

from kith.agent.asking.routes import Route, Router, Turn
from kith.agent.asking.terms import Terms
from kith.agent.project import Project
from kith.agent.roles import RoleSpec
from kith.core.model import Tool
from kith.features.route.choose import look_around
from kith.features.route.helpers import delegation_tools
from kith.features.route.relay import Relay
from kith.features.route.turns import take_turn
from kith.models.stack import Opened


@dataclass(frozen=True, slots=True)
class LearnedRouter:
    """Chooses by what was measured of the models here."""

    def route(self, terms: Terms) -> Route:
        """The route of one task."""
        return Relay(terms, terms.run)

    async def first_choice(self, project: Project) -> str:
        """The name of the model that a task would begin with, most likely. Raises NoModelError."""
        return (await look_around(project, lambda event: None)).arms[0]

    async def take_turn(self, terms: Terms, spec: RoleSpec, opened: dict[str, Opened]) -> Turn:
        """The model whose turn it is in a role. Raises ModelError, NoModelError."""
        return await take_turn(terms, spec, opened)

    def errands(self, terms: Terms, giver: Opened) -> tuple[Tool, ...]:
        """The tools with which `giver` hands work to local models."""
        return delegation_tools(terms, giver)


ROUTER: Final[Router] = LearnedRouter()
