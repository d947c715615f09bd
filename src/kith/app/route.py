"""Which models a task goes to, one after the other: what there is to choose from, and the choice."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kith.app.project import Project
from kith.core.decisions import Routed
from kith.core.run import Run
from kith.models.stack import Opened
from kith.routing.hopeless import Known, step_cap
from kith.routing.rows import LegRow
from kith.settings import Settings
from kith.workflows.judges import find_project_toolchains

ROUTE: Final = "route"  # in place of a model's name: let kith choose


@dataclass(frozen=True, slots=True)
class Choice:
    """What there is to choose from, by name as after -m, and what was measured of it.

    `local` is in the person's order; `frontier` is "" where there is none to ask.
    """

    local: tuple[str, ...] = ()
    frontier: str = ""
    legs: tuple[LegRow, ...] = ()

    @property
    def arms(self) -> tuple[str, ...]:
        return (*self.local, *filter(None, [self.frontier]))


def is_routed(chosen: Settings) -> bool:
    """Whether kith chooses who is asked, instead of the person."""
    return chosen.model == ROUTE


async def look_around(project: Project) -> Choice:
    """The models that may be asked, and what is known of them by now."""
    chosen = project.settings
    return Choice(chosen.route.local or await _found(project), chosen.route.frontier, ())


async def _found(project: Project) -> tuple[str, ...]:
    """The local model that kith finds by itself, where the person named none."""
    from dataclasses import replace

    from kith.app.models import default_model, engine_of, places_of
    from kith.models.discovery.places import servers_of

    chosen = replace(project.settings, model="")
    name = await default_model(chosen, await servers_of(places_of(chosen)), engine_of(chosen))
    return (name,) if name else ()


async def decide(project: Project, run: Run, words: str, choice: Choice, seed: str) -> Routed:
    """The plan for a task; `seed` makes the same choice again where the same is known."""
    kind = "edit"
    verifiable = await _is_verifiable(project, run)
    if verifiable or not choice.frontier:
        plan = (*choice.local[:1], *filter(None, [choice.frontier]))
    else:
        plan = (choice.frontier,)
    return Routed(
        kind, plan, "the local model first, since tests can tell" if verifiable else "nothing can tell"
    )


async def _is_verifiable(project: Project, run: Run) -> bool:
    """Whether commands will decide about the change: the person named one, or the project has its own."""
    named = project.settings.check
    if named or project.settings.read_only:
        return named != ("none",) and not project.settings.read_only
    return bool(await find_project_toolchains(run))


def know(legs: Sequence[LegRow], opened: Opened, kind: str, *, cap: bool) -> Known:
    """What tells a hopeless run of a model, opened now, from one that takes its time."""
    facts = opened.facts
    rate = float(opened.card_of(facts.digest).get("write_rate") or 0.0)
    steps = step_cap(legs, facts.name, kind, facts.digest) if cap else 0
    return Known(steps, opened.window, rate)
