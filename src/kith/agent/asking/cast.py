"""Cast the roles of a session: a model opened on first use, a router's choice, or a panel."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from kith.agent.asking.roles import find_role, make_player
from kith.agent.asking.routes import need_router
from kith.agent.asking.terms import Terms
from kith.agent.project import Project
from kith.agent.roles import Cast, Player, RoleSpec
from kith.core.errors import LimitError, ModelError, NoModelError
from kith.core.events import Called, Notice
from kith.core.run import Run
from kith.models.account import Budget
from kith.models.stack import Opened
from kith.models.traits import billions
from kith.settings.features import need_part
from kith.settings.values import ROUTE
from kith.tools import ReadLimits, standard_tools
from kith.tools.symbols import Look

_FEW_BILLIONS = 5.0  # parameters, below which a model gets the short words and one thing at a time


class Panels(Protocol):
    """The panels of one session."""

    def members(self, spec: RoleSpec) -> tuple[str, ...]:
        """The models that play a role whose spec names a panel: one, where several are known not to pay."""

    def seat(self, seats: Sequence[tuple[Opened, Player]]) -> Player:
        """The role, played by all of them: the first reads and opens, and one reply comes out."""


def open_panels(terms: Terms, role: str) -> Panels:
    """The panels of a session in which `role` names one. Raises UsageError."""
    make: Callable[[Terms], Panels] = need_part(
        lambda feature: feature.panels, f"The role {role}, which names a panel,"
    )
    return make(terms)


@asynccontextmanager
async def open_cast(project: Project, run: Run, id: str, look: Look | None = None) -> AsyncIterator[Cast]:
    """The roles of session `id`; their models are let go of, and what they taught is kept, at the end.

    `look` asks an index, if there is one. Each call of the cast begins a step: with the tokens and seconds
    of one. Raises UsageError for a role badly written, NoModelError, ModelError.
    """
    company = _Company(Terms(project, run, id), look)
    try:
        yield company.play
    finally:
        await company.part()


class _Company(Struct):
    """The models of one session, each opened when a role first needs it."""

    terms: Terms
    look: Look | None
    opened: dict[str, Opened] = field(default_factory=dict)
    panels: Panels | None = None  # from the first role on that names one

    async def play(self, name: str) -> Player:
        """Return the player of a role: one model, a router's choice, or a panel."""
        spec = find_role(name, self.terms.project.settings)
        names = self._names(spec)
        if names == (ROUTE,):
            return await self._play_in_turn(spec)
        await self._open(names, name)
        there = [self.opened[each] for each in names if each in self.opened]
        seats = [(one, play(self.terms, spec, one, self.look, readers=there)) for one in there]
        return self._panels(name).seat(seats) if len(seats) > 1 else seats[0][1]

    def _names(self, spec: RoleSpec) -> tuple[str, ...]:
        """Return the models of a role: one, or a panel unless it is known not to pay."""
        if spec.panel:
            return self._panels(spec.name).members(spec)
        return (spec.model or self.terms.project.settings.model,)

    def _panels(self, role: str) -> Panels:
        self.panels = self.panels or open_panels(self.terms, role)
        return self.panels

    async def _open(self, names: Sequence[str], role: str) -> None:
        """Open what is not open yet; a panel goes on without those that cannot be. Raises where none can."""
        failure: ModelError | NoModelError | None = None
        for name in names:
            try:
                if name not in self.opened:
                    self.opened[name] = await self.terms.open(name)
            except (ModelError, NoModelError) as error:
                failure = error
                if len(names) > 1:
                    notice = f"{name} does not take part as {role}: {error}"
                    self.terms.run.emit(Notice(notice, "warning"))
        if failure and not any(name in self.opened for name in names):
            raise failure

    async def _play_in_turn(self, spec: RoleSpec) -> Player:
        """The player that a router chooses."""
        turn = await need_router().take_turn(self.terms, spec, self.opened)
        await self.terms.admit(turn.opened)
        player = play(self.terms, spec, turn.opened, self.look)
        return replace(player, role=turn.watch(player.role), leg=turn.leg)

    async def part(self) -> None:
        """Let go of the models, and keep what they taught."""
        for each in self.opened.values():
            self.terms.project.learn(self.terms.run, self.terms.session, each)
            await each.aclose()


def play(
    terms: Terms,
    spec: RoleSpec,
    opened: Opened,
    look: Look | None = None,
    *,
    readers: Sequence[Opened] = (),
) -> Player:
    """The role, played by a model that was admitted, in one step of the session. Raises LimitError.

    `readers` are the models that get to read what this one finds.
    """
    project = terms.project
    past = project.log.past(terms.session)
    budget = Budget(_tokens_left(project, past.calls), project.settings.build.step_seconds)
    tools = standard_tools(past.todo, look=look, limits=ReadLimits.of_window(opened.window))
    # Roles take turns, so the cache is bound to be lost: that is worth no word.
    model = terms.wrap(opened, past.compacted, budget=budget, tells=False)
    small = is_small_model(opened)
    shown, veiled = terms.show(opened, tools, *readers), terms.veils(opened, *readers)
    return make_player(project, spec, opened, model, shown, small=small, veiled=veiled)


def is_small_model(opened: Opened) -> bool:
    """True if a model has few parameters, by its name."""
    return (billions(opened.facts.name) or _FEW_BILLIONS) < _FEW_BILLIONS


def _tokens_left(project: Project, calls: Sequence[Called]) -> int | None:
    """Return the token limit of one step: its own, or the session's rest. Raises LimitError at zero."""
    chosen = project.settings
    if chosen.max_task_tokens is None:
        return chosen.build.step_tokens
    used = sum(call.usage.new + call.usage.output for call in calls)
    left = chosen.max_task_tokens - used
    if left <= 0:
        raise LimitError(f"The {chosen.max_task_tokens:,} tokens of this task are spent.")
    return min(left, chosen.build.step_tokens or left)
