"""The model that the runtime serves: loaded once, asked by many, in a role or without one."""

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from kith.agent.project import Project
from kith.core.errors import NoModelError
from kith.core.events import Event
from kith.core.model import Emit
from kith.core.values import Reply
from kith.features.gateway.answering.answer import answer
from kith.features.gateway.answering.models import OpenModels
from kith.features.gateway.answering.request import ChatRequest, in_role, list_roles
from kith.features.gateway.runtime.request_queue import RequestQueue, RuntimeCounts
from kith.settings import Settings

ROLE: Final = "role/"  # before a role's name, in a model's place
_PLAIN: Final = "none"  # as it is counted where no role is played


@dataclass(slots=True)
class ServedModel:
    """`asked_as` is the model as the person named it, `name` as it is listed once it is there.

    `parallel`: answers at once, 0 for as many as its server has slots. `longest`: tokens of one answer.
    """

    project: Project
    asked_as: str
    parallel: int
    longest: int
    queue: RequestQueue
    name: str = ""
    window: int = 0
    models: OpenModels = field(default_factory=lambda: OpenModels(idle_s=math.inf))
    counts: RuntimeCounts = field(init=False)

    def __post_init__(self) -> None:
        self.counts = RuntimeCounts(self.queue)

    @property
    def settings(self) -> Settings:
        return self.project.settings

    @property
    def state(self) -> str:
        """How it is: loading, busy (a new request would wait), or ok."""
        if not self.name:
            return "loading"
        return "busy" if self.queue.running >= self.queue.parallel else "ok"

    async def load(self, tell: Callable[[Event], None]) -> None:
        """Open the model, and let the first requests in. Raises NoModelError, ModelError."""
        held = await self.models.take(self.project, self.asked_as, tell)
        self.models.give_back(held)
        facts = held.opened.facts
        self.name, self.window = facts.name, held.opened.window
        self.queue.open(self.parallel or facts.slots)

    async def ask(self, request: ChatRequest, role: str, listen: Emit, session: str) -> Reply:
        """The reply to a request, once it is its turn. Raises TurnedAwayError, and what `answer` raises."""
        with self.counts.request(role or _PLAIN, listen) as hear:
            async with self.queue.turn():
                self._check_name(request.model)
                asked = in_role(request, list_roles(self.settings)[role], self.window) if role else request
                longest = min(asked.sampling.max_tokens or self.longest, self.longest)
                sampling = replace(asked.sampling, max_tokens=longest)
                asked = replace(asked, model=self.asked_as, sampling=sampling)
                return await answer(self.project, self.models, asked, hear, session)

    def role_in(self, model: str) -> str:
        """The role that stands in a model's place; "" for none. Raises NoModelError for an unknown one."""
        role = model.removeprefix(ROLE) if model.startswith(ROLE) else ""
        if model.startswith(ROLE):
            self.check_role(role)
        return role

    def check_role(self, name: str) -> None:
        """Raises NoModelError for a role that is not there."""
        there = list_roles(self.settings)
        if name not in there:
            raise NoModelError(f"There is no role {name!r:.60} here; there are: {', '.join(there)}.")

    def _check_name(self, model: str) -> None:
        if model not in (self.name, self.asked_as) and not model.startswith(ROLE):
            raise NoModelError(f"There is no model {model!r:.60} here; it is {self.name}, or {ROLE}NAME.")

    async def close(self) -> None:
        """Let go of the model."""
        await asyncio.shield(self.models.close())
