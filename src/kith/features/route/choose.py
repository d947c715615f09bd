"""Choose which models a task goes to, one after the other, and say why in words and figures."""

import math
import random
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.models import (
    default_model,
    places_of,
    sources_of,
)
from kith.agent.project import Project
from kith.context.task_kinds import kind_of
from kith.core.decisions import Routed
from kith.core.errors import NoModelError
from kith.core.events import Notice
from kith.core.model import Emit
from kith.core.numbers import dollars, time_text
from kith.core.run import Run
from kith.core.values import Usage
from kith.features.measure.measured_rows import read_measured
from kith.features.measure.rows import LegRow
from kith.features.route.beliefs import Arm, Belief, Odds, Task, Weighed, believe, usual_run, weigh
from kith.features.route.early_stopping import Habits
from kith.features.route.effort_caps import EffortRange, Stakes, read_weight
from kith.features.route.estimates import Learned, Plan, Utility, fold, possible_plans, price_of
from kith.features.route.outages import doubt, recall_outages
from kith.memory.queries import paid_today
from kith.models.discovery.advice import advise
from kith.models.discovery.servers import Wait, servers_of
from kith.models.prices import load_prices
from kith.models.sources import files_of
from kith.models.stack import Opened
from kith.models.traits import billions
from kith.settings import Settings

# Decide which plan a task gets, and say why in words and figures.

# A decision in words and figures: one line of why, and a row for each plan that was weighed.


class Told(Struct, frozen=True):
    """The facts behind a choice: the plans, the chosen number, the default one, and the belief.

    `sure`: the chance that another plan needs to replace the default. `missing` names unavailable models.
    """

    kind: str
    weighed: Sequence[Weighed]
    number: int
    default: Weighed
    sure: float
    belief: Belief
    missing: str = ""

    @property
    def chosen(self) -> Weighed:
        return self.weighed[self.number]


def tell(told: Told) -> str:
    """Explain the plan's models, its cost, and the certainty of the choice."""
    parts = [f"{told.kind}: {_abilities(told)}", _estimate(told), _doubt(told), told.missing]
    return "; ".join(part for part in parts if part)


def tabulate(told: Told) -> tuple[dict[str, Any], ...]:
    """The plans, the best first. `solves` is the chance, `interval` the one of its first model's own count.

    `n` is how many outcomes that rests on (they fade), `better` the chance that it beats the default plan.
    """
    rows = sorted(told.weighed, key=lambda each: -each.mean)
    return tuple(_row(each, told) for each in rows)


def _row(each: Weighed, told: Told) -> dict[str, Any]:
    count = told.belief.odds[each.plan[0], "first"].counted
    return {
        "plan": each.plan,
        "worth": round(each.mean, 4),
        "solves": round(each.outlook.solves, 4),
        "interval": tuple(round(bound, 4) for bound in count.interval),
        "n": round(count.seen, 1),
        "usd": round(each.outlook.usd, 6),
        "seconds": round(each.outlook.seconds, 1),
        "better": round(each.better_than(told.default), 4),
        "default": each is told.default,
    }


def _abilities(told: Told) -> str:
    first, *others = told.chosen.plan
    words = [f"{first} solves {_ability(told.belief.odds[first, 'first'])}"]
    before = first
    for name in others:
        words.append(f"{name} after a miss of {before} {_ability(told.belief.odds[name, 'after'])}")
        before = name
    return ", ".join(words)


def _ability(odds: Odds) -> str:
    """`61 % (41-78, n=18)`: what was counted with its interval, or what is expected where nothing was."""
    good, seen = odds.counted
    if seen < 0.5:
        return f"perhaps {odds.solves.mean:.0%} (nothing measured)"
    low, high = odds.counted.interval
    return f"{good / seen:.0%} ({low * 100:.0f}-{high * 100:.0f}, n={seen:.0f})"


def _estimate(told: Told) -> str:
    other = _rival(told)
    words = f"about {_takes(told.chosen)}"
    return f"{words} against {_takes(other)} for {_name(other.plan)}" if other else words


def _takes(each: Weighed) -> str:
    usd, seconds = each.outlook.usd, each.outlook.seconds
    time = f"{seconds:.0f} s"
    return f"{dollars(usd)} + {time}" if usd >= 0.0005 else time


def _doubt(told: Told) -> str:
    """Word how certain it is that the default plan is, or is not, the better one."""
    other = _rival(told)
    if not other:
        return ""
    if told.chosen is told.default:
        chance = other.better_than(told.default)
        again = f", but {told.default.plan[0]} is tried again now and then"
        needed = f" (it takes {told.sure:.0%})" if chance < told.sure else again
        return f"{_name(other.plan)} is better with a chance of {chance:.0%}{needed}"
    chance = told.chosen.better_than(told.default)
    return f"better than {_name(told.default.plan)} with a chance of {chance:.0%}"


def _rival(told: Told) -> Weighed | None:
    """The plan to hold the chosen one against: the default, or what comes nearest to it."""
    if told.chosen is not told.default:
        return told.default
    others = [each for each in told.weighed if each is not told.default]
    return max(others, key=lambda each: each.better_than(told.default), default=None)


def _name(plan: Plan) -> str:
    return " -> ".join(plan) if len(plan) > 1 else f"{plan[0]} alone"


DRAWS: Final = 50  # from what is believed, for one decision
SURE: Final = 0.8  # the default plan is left for one that is worth more with at least this chance
_VERIFIABLE: Final = {"write-test", "edit-small", "edit-multi", "fix-failing-test", "refactor"}
_BLURRED: Final = 8  # times that each of these draws is compared
_SURE_AT_FIRST: Final = 0.95  # the same, while nothing is known of the models in it
_KNOWN: Final = 24.0  # outcomes, from which on a model is known
_NEW: Final = 10.0  # outcomes that each local model gets to show what it can do
# Solved tasks, at a price of one and at most: plans whose worth differs by less take turns, unless a check
# decides. Where money hardly counts, the better one is asked.
_TIE, _WIDEST_TIE = 0.6, 0.12
_AGAIN: Final = 0.05  # share of the tasks in which one that is passed over is tried: it may be another by now


class PlanDecision(Struct, frozen=True):
    """A plan, how likely this choice was, why in one line, and a row of figures for each plan weighed."""

    plan: Plan
    propensity: float
    why: str
    table: tuple[dict[str, Any], ...] = ()


def choose(
    evidence: Learned, task: Task, arms: Sequence[Arm], utility: Utility, rng: random.Random, pin: Plan = ()
) -> PlanDecision:
    """The plan for a task; the same one for the same evidence and state of `rng`.

    `arms` come in the order in which they would be asked, one of them may be the frontier model. A `pin` is
    the person's own choice and is kept, even if a model of it is down. Raises NoModelError.
    """
    up = [arm for arm in arms if not arm.down or arm.name in pin]
    if not up:
        raise NoModelError(f"No model can be asked: {_missing(arms)}.")
    belief = believe(evidence, task, up)
    plans = (
        (pin,)
        if pin
        else possible_plans(_names(up, frontier=False), _frontier(up), verifiable=task.verifiable)
    )
    weighed = weigh(plans, belief, utility, rng, DRAWS)
    default = weighed[0] if pin else default_plan(weighed, belief, _frontier(up))
    sure = sureness(default.plan, belief)
    if pin or task.verifiable or not belief.outcomes:
        shares = keep_to_the_default(weighed, default, sure)
    else:
        shares = match_chances(weighed, rng, min(_WIDEST_TIE, _TIE * utility.price))
    (chosen,) = rng.choices(range(len(weighed)), shares)
    missing = _missing(arms) if len(up) < len(arms) else ""
    told = Told(
        task.kind, weighed, chosen, default, sure, belief, "; ".join(filter(None, (missing, _away(up))))
    )
    return PlanDecision(
        weighed[chosen].plan, shares[chosen], "named by you" if pin else tell(told), tabulate(told)
    )


def default_plan(weighed: Sequence[Weighed], belief: Belief, frontier: str) -> Weighed:
    """Choose the plan without evidence against it: a local model, a check, and the frontier model.

    A new local model goes first in it, to be measured where that costs little. Without a check it is the
    frontier model alone; without a frontier model, the best plan.
    """
    longest = max(len(each.plan) for each in weighed)
    safe = [each for each in weighed if len(each.plan) == min(2, longest) and each.plan[-1] == frontier]
    new = [each for each in safe if len(each.plan) > 1 and _is_new(each.plan[0], belief)]
    return max(new or safe or weighed, key=lambda each: each.mean)


def _is_new(model: str, belief: Belief) -> bool:
    """True for a model of which little is known, unless it would only be waited for."""
    return belief.seen(model, "first") < _NEW and model not in belief.downtimes


def sureness(plan: Plan, belief: Belief) -> float:
    """Return the certainty that another plan needs: higher, the less is known of this one."""
    least = min(belief.seen(name, "after" if place else "first") for place, name in enumerate(plan))
    return _SURE_AT_FIRST - (_SURE_AT_FIRST - SURE) * min(1.0, least / _KNOWN)


def keep_to_the_default(weighed: Sequence[Weighed], default: Weighed, sure: float) -> list[float]:
    """On the default plan, or on the one that is better with a chance of at least `sure`."""
    top = max(weighed, key=lambda each: each.better_than(default))
    taken = top if top.better_than(default) >= sure else default
    again = 0.0 if default.plan[0] in taken.plan else _AGAIN
    return [(1 - again) * (each is taken) + again * (each is default) for each in weighed]


def match_chances(weighed: Sequence[Weighed], rng: random.Random, tie: float) -> list[float]:
    """Each plan as likely as it is to be the best one: exploring in proportion to what is not known.

    Thompson, On the likelihood that one unknown probability exceeds another, Biometrika 25 (1933). Without a
    check, a few hundred tasks cannot tell plans of nearly equal worth apart; early luck would settle on one
    of them. So each draw is blurred by `tie`.
    """
    wins, draws = [0] * len(weighed), list(zip(*(each.worths for each in weighed), strict=True))
    for worths in draws * _BLURRED:
        blurred = [worth + rng.gauss(0.0, tie / math.sqrt(2)) for worth in worths]
        wins[blurred.index(max(blurred))] += 1
    return [won / sum(wins) for won in wins]


def _names(arms: Sequence[Arm], *, frontier: bool) -> tuple[str, ...]:
    return tuple(arm.name for arm in arms if arm.frontier == frontier)


def _frontier(arms: Sequence[Arm]) -> str:
    return next(iter(_names(arms, frontier=True)), "")


def _missing(arms: Sequence[Arm]) -> str:
    return ", ".join(f"{arm.name} is left out ({arm.down})" for arm in arms if arm.down) or "none is named"


def _away(arms: Sequence[Arm]) -> str:
    """`qwen3:8b could not be reached 4 min ago`."""
    away = [(arm.name, arm.downtime.ago_s) for arm in arms if arm.downtime]
    return ", ".join(f"{name} could not be reached {time_text(ago)} ago" for name, ago in away)


_TYPICAL: Final = Usage(input=60_000, output=4_000, cached=40_000)  # of a task, where none was measured
_DAY_S: Final = 86_400


class ModelChoice(Struct, frozen=True):
    """The models to choose from, by name as after -m, and their measurements.

    `local` is in the person's order; `frontier` is "" where there is none to ask. `outages`: who could not be
    reached lately.
    """

    local: tuple[str, ...] = ()
    frontier: str = ""
    legs: tuple[LegRow, ...] = ()
    outages: Mapping[str, tuple[float, float]] = {}

    @property
    def arms(self) -> tuple[str, ...]:
        return (*self.local, *filter(None, [self.frontier]))

    def without(self, names: Collection[str]) -> "ModelChoice":
        """The choice among the other models."""
        left = tuple(name for name in self.local if name not in names)
        return replace(self, local=left, frontier="" if self.frontier in names else self.frontier)

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
    legs = read_measured(project.log, cache=chosen.cache).legs
    return replace(found, legs=legs, outages=recall_outages(project.log, time.time()))


async def _find_local(project: Project, emit: Emit) -> tuple[str, ...]:
    """The local model that kith finds without a setting; () where there is only the frontier model.

    Raises NoModelError where there is none at all.
    """
    chosen = replace(project.settings, model="")
    places, files = places_of(chosen), files_of(sources_of(chosen))
    servers = await servers_of(places, wait=Wait(places.stall_s, emit, connect_s=places.connect_s))
    name = await default_model(chosen, servers, files)
    if not name and not chosen.route.frontier:
        raise NoModelError(await files.excuse() or advise(places, servers))
    return (name,) if name else ()


async def describe_task(project: Project, run: Run, words: str) -> Task:
    """Describe a task before it is done."""
    kind = kind_of(words)
    may_be = bool(project.settings.check) or is_verifiable(kind)
    return Task(kind, words, str(project.root), may_be and await project.is_tested(run))


async def decide(project: Project, run: Run, task: Task, choice: ModelChoice, seed: str) -> Routed:
    """The plan for a task; `seed` makes the same choice again where the same is known."""
    if len(choice.arms) < 2:
        return Routed(task.kind, choice.arms, "there is no other model", by="rule")
    if not task.verifiable and choice.local and _stays_here(project.settings):
        why = "it cannot be checked, so it stays local; --dial quality asks the frontier model"
        return Routed(task.kind, choice.local[:1], why, by="rule")
    left = _money_left(project)
    if left <= 0 and choice.local:
        run.emit(Notice(f"The day's budget is spent (max_day_usd), so {choice.frontier} is not asked."))
        choice = replace(choice, frontier="")
    arms = [_arm(project, choice, name) for name in choice.arms]
    evidence = fold(choice.legs, reads_words=not task.verifiable)
    utility = _utility(project, evidence, arms, left)
    decision = choose(evidence, task, arms, utility, random.Random(seed))
    asked = {arm.name: name for arm, name in zip(arms, choice.arms, strict=True)}

    def as_asked(plan: Sequence[str]) -> tuple[str, ...]:
        return tuple(asked[name] for name in plan)

    table = tuple({**row, "plan": as_asked(row["plan"])} for row in decision.table)
    plan, chance = as_asked(decision.plan), decision.propensity
    return Routed(task.kind, plan, decision.why, propensity=chance, table=table)


def _stays_here(chosen: Settings) -> bool:
    """True if work without a check is not worth a question about the cloud, or money."""
    return chosen.cloud != "allow" and chosen.route.dial != "quality"


def _arm(project: Project, choice: ModelChoice, name: str) -> Arm:
    """A model with what is expected of it before anything was measured."""
    known = choice.measured_as(name)
    digest = next((leg.digest for leg in reversed(choice.legs) if leg.model == known), "")
    frontier = name == choice.frontier
    priced = measured_name(project.settings, name)
    usd = load_prices(project.settings.config).cost(priced, _TYPICAL) if frontier else 0.0
    downtime = doubt(choice.outages.get(name), known, choice.legs, time.time())
    return Arm(known, digest, frontier, billions(name), usd=usd or 0.0, downtime=downtime)


def _utility(project: Project, evidence: Learned, arms: Sequence[Arm], left: float) -> Utility:
    """Compute the worth of a solved task to the person, by the dial and the rest of the day's money."""
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


_UNCAPPED: Final = 0.1  # share of the tasks in which no cap holds, so that it is seen how long runs end


def habits_of(
    project: Project, choice: ModelChoice, plan: Plan, kind: str, opened: Opened, seed: str
) -> Habits:
    """Read the habits of a plan's first model at a kind of work: they tell a hopeless run from a slow one."""
    facts, card = opened.facts, opened.card_of(opened.facts.digest)
    read_rate, write_rate = (float(card.get(name) or 0.0) for name in ("read_rate", "write_rate"))
    weight = read_weight(read_rate, write_rate)
    rng, cap, step = random.Random(f"{seed}/cap"), 0.0, 0.0
    if project.settings.route.cap and plan[1:] and rng.random() >= _UNCAPPED:
        runs = EffortRange.of(choice.legs, facts.name, kind, facts.digest, weight)
        cap, step = runs.cap(_stakes(project, choice, plan, kind, runs.mean), rng), runs.step
    return Habits(cap, opened.window, write_rate, weight, step)


def _stakes(project: Project, choice: ModelChoice, plan: Plan, kind: str, effort: float) -> Stakes:
    """Estimate what a plan's first model saves by solving a task, and the cost of a unit of its `effort`."""
    evidence, arms = fold(choice.legs), [_arm(project, choice, name) for name in plan]
    utility = _utility(project, evidence, arms, _money_left(project))
    belief = believe(evidence, Task(kind), arms)
    first, after = belief.odds[arms[0].name, "first"].takes, belief.odds[arms[1].name, "after"]
    price = utility.cost(after.takes.usd, after.takes.seconds)
    return Stakes(1 - after.solves.mean + price, utility.cost(first.usd, first.seconds) / max(effort, 1.0))


def is_verifiable(kind: str) -> bool:
    """True if a project's checks can tell that such a task is solved."""
    return kind in _VERIFIABLE


def measured_name(chosen: Settings, name: str) -> str:
    """A model as the log and the prices call it: one of an endpoint that the person named, by its kind."""
    endpoint, _, model = name.partition("/")
    known = chosen.endpoints.get(endpoint)
    return f"{known.kind}/{model}" if known else name
