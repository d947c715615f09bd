"""Which models a task goes to, one after the other: what there is to choose from, and the choice."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from kith.agent.models import default_model, measured_name, places_of, sources_of
from kith.agent.prices import prices_of
from kith.agent.project import Project
from kith.context.task_kinds import is_verifiable, kind_of
from kith.core.decisions import Routed
from kith.core.errors import NoModelError
from kith.core.events import Notice
from kith.core.model import Emit
from kith.core.run import Run
from kith.core.values import Usage
from kith.features.measure.measured_rows import read_measured
from kith.features.measure.rows import LegRow
from kith.features.route.beliefs import Arm, Task, usual_run
from kith.features.route.early_stopping import Habits, step_cap
from kith.features.route.estimates import Learned, fold
from kith.features.route.plan_decision import choose
from kith.features.route.plans import Utility, price_of
from kith.memory.queries import paid_today
from kith.models.discovery.advice import advise
from kith.models.discovery.servers import Wait, servers_of
from kith.models.sources import files_of
from kith.models.stack import Opened
from kith.models.traits import billions
from kith.settings import Settings

_TYPICAL: Final = Usage(input=60_000, output=4_000, cached=40_000)  # of a task, where none was measured
_DAY_S: Final = 86_400


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What there is to choose from, by name as after -m, and what was measured of it.

    `local` is in the person's order; `frontier` is "" where there is none to ask.
    """

    local: tuple[str, ...] = ()
    frontier: str = ""
    legs: tuple[LegRow, ...] = ()

    @property
    def arms(self) -> tuple[str, ...]:
        return (*self.local, *filter(None, [self.frontier]))

    def measured_as(self, name: str) -> str:
        """The name under which a model's calls are in the log."""
        asked = {leg.plan[0]: leg.model for leg in self.legs if leg.plan}
        tails = (leg.model for leg in reversed(self.legs) if name.endswith(f"/{leg.model}"))
        return asked.get(name) or next(tails, name)


async def look_around(project: Project, emit: Emit) -> ModelChoice:
    """The models that may be asked and, where there is a choice, what was measured of them."""
    chosen = project.settings
    found = ModelChoice(chosen.route.local or await _find_local(project, emit), chosen.route.frontier)
    if len(found.arms) < 2:
        return found
    return replace(found, legs=read_measured(project.log, cache=chosen.cache).legs)


async def _find_local(project: Project, emit: Emit) -> tuple[str, ...]:
    """The local model that kith finds by itself; () where there is only the frontier model.

    Raises NoModelError where there is none at all.
    """
    chosen = replace(project.settings, model="")
    places, files = places_of(chosen), files_of(sources_of(chosen))
    servers = await servers_of(places, wait=Wait(places.stall_s, emit))
    name = await default_model(chosen, servers, files)
    if not name and not chosen.route.frontier:
        raise NoModelError(await files.excuse() or advise(places, servers))
    return (name,) if name else ()


async def describe_task(project: Project, run: Run, words: str) -> Task:
    """What is known of a task before it is done."""
    kind = kind_of(words)
    may_be = bool(project.settings.check) or is_verifiable(kind)
    return Task(kind, words, str(project.root), may_be and await project.is_tested(run))


async def decide(project: Project, run: Run, task: Task, choice: ModelChoice, seed: str) -> Routed:
    """The plan for a task; `seed` makes the same choice again where the same is known."""
    if len(choice.arms) < 2:
        return Routed(task.kind, choice.arms, "there is no other model", by="rule")
    if not task.verifiable and choice.local and _stays_here(project.settings):
        why = "nothing can check it, so it stays local; --dial quality asks the frontier model"
        return Routed(task.kind, choice.local[:1], why, by="rule")
    left = _money_left(project)
    if left <= 0 and choice.local:
        run.emit(Notice(f"The money of the day is spent (max_day_usd), so {choice.frontier} is not asked."))
        choice = replace(choice, frontier="")
    arms = [_arm(project, choice, name) for name in choice.arms]
    evidence = fold(choice.legs)
    utility = _utility(project, evidence, arms, left)
    decision = choose(evidence, task, arms, utility, random.Random(seed))
    asked = {arm.name: name for arm, name in zip(arms, choice.arms, strict=True)}

    def as_asked(plan: Sequence[str]) -> tuple[str, ...]:
        return tuple(asked[name] for name in plan)

    table = tuple({**row, "plan": as_asked(row["plan"])} for row in decision.table)
    plan, chance = as_asked(decision.plan), decision.propensity
    return Routed(task.kind, plan, decision.why, propensity=chance, table=table)


def _stays_here(chosen: Settings) -> bool:
    """Whether work that nobody can check is not worth a question about the cloud, or money."""
    return chosen.cloud != "allow" and chosen.route.dial != "quality"


def _arm(project: Project, choice: ModelChoice, name: str) -> Arm:
    """A model with what is expected of it before anything was measured."""
    known = choice.measured_as(name)
    digest = next((leg.digest for leg in reversed(choice.legs) if leg.model == known), "")
    frontier = name == choice.frontier
    priced = measured_name(project.settings, name)
    usd = prices_of(project.settings).cost(priced, _TYPICAL) if frontier else 0.0
    return Arm(known, digest, frontier, billions(name), usd=usd or 0.0)


def _utility(project: Project, evidence: Learned, arms: Sequence[Arm], left: float) -> Utility:
    """What a solved task is worth to the person, by the dial and the money that is left of the day's."""
    chosen, now = project.settings.route, datetime.now()
    time_left = 1 - (now - now.replace(hour=0, minute=0, second=0)).seconds / _DAY_S
    price = price_of(chosen.dial, budget_left=left, time_left=time_left)
    dear = max(arms, key=lambda arm: arm.usd)
    if not dear.usd:
        return Utility(price, second_usd=chosen.second_usd)
    # A solved task is worth more where tasks are larger than was thought, and no less where they are small.
    usual = usual_run(evidence, dear)
    unit = max(run.usd + chosen.second_usd * run.seconds for run in (dear, usual))
    return Utility(price, unit, chosen.second_usd)


def _money_left(project: Project) -> float:
    """The share of the day's money that is not spent yet; 1.0 where there is no limit."""
    limit = project.settings.max_day_usd
    if limit is None:
        return 1.0
    return max(0.0, 1 - paid_today(project.log) / limit) if limit else 0.0


def habits_of(legs: Sequence[LegRow], opened: Opened, kind: str, *, cap: bool) -> Habits:
    """What a model, opened now, is like at a kind of work: it tells a hopeless run from a slow one."""
    facts = opened.facts
    rate = float(opened.card_of(facts.digest).get("write_rate") or 0.0)
    steps = step_cap(legs, facts.name, kind, facts.digest) if cap else 0
    return Habits(steps, opened.window, rate)
