"""Experiments in the background: proposed ways to ask a local model, tried on recorded tasks."""

import time
from collections.abc import Sequence
from contextlib import aclosing
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.asking.roles import find_role
from kith.agent.asking.terms import Terms
from kith.agent.project import Project
from kith.agent.roles import is_small, make_role
from kith.core.errors import BusyError, KithError, LimitError, NoModelError
from kith.core.events import Event, Notice, RunEnded
from kith.core.run import Answerer, Run, new_id
from kith.features.coach import CoachSettings
from kith.features.coach.adoption import FEWEST, settle_live
from kith.features.coach.experiment import Experiment, Recorded, Replays, find_tasks, in_peace, try_out
from kith.features.coach.proposals import (
    ROLE,
    Symptoms,
    ask_for_proposals,
    find_symptoms,
    is_worth_asking,
    propose_by_rule,
)
from kith.features.coach.sequential_test import HORIZON, TestDecision
from kith.features.coach.strategy import COACH, Coaching, Strategy, Ways, is_of, options_of, read_coaching
from kith.features.measure.measured_rows import Measured, read_measured
from kith.memory.log import Log
from kith.memory.queries import paid_today
from kith.memory.session import Listener, Session
from kith.models.stack import Opened
from kith.settings import Settings

_FIRST: Final = "edit-small"  # the kind of work to begin with where a model has done none yet
_LOCK: Final = "coach"  # the name under which only one process coaches


class TriedStrategy(Struct, frozen=True):
    """One experiment after a run, and the reason for its state."""

    kind: str
    strategy: Strategy
    decision: TestDecision


class CoachRun(Struct, frozen=True):
    """The result of a run: the model, experiments, and why nothing (more) was tried."""

    model: str
    tried: tuple[TriedStrategy, ...] = ()
    why: str = ""


async def run_coach(
    project: Project, seconds: float, answerer: Answerer, listeners: Sequence[Listener] = ()
) -> CoachRun:
    """Try proposed ways on recorded tasks for so long, one after the other, as far as that comes.

    It goes on where an earlier run stopped. Raises BusyError while another process coaches, NoModelError,
    ModelError.
    """

    def hear(event: Event) -> None:
        for listener in listeners:
            listener(event, ())

    if project.log.is_open(_LOCK):
        raise BusyError("Another `kith coach run` is at work.")
    with Session(project.log, _LOCK):
        async with aclosing(await project.open_model(hear)) as opened:
            return await _coach(project, opened, time.monotonic() + seconds, answerer, listeners)


async def _coach(
    project: Project, opened: Opened, until: float, answerer: Answerer, listeners: Sequence[Listener]
) -> CoachRun:
    model, tried = opened.facts.name, list[TriedStrategy]()
    if opened.facts.cloud:
        raise NoModelError(f"{model} is not a local model: coaching asks it hundreds of times.")
    settle_live(project, listeners)
    measured = read_measured(project.log, cache=project.settings.cache)
    by_kind, replay = find_tasks(project, measured.legs), Replays.open(project, opened)
    worked = {leg.kind for leg in measured.legs if is_of(leg, replay.key, model)} or {_FIRST}
    enough = [kind for kind in by_kind if kind in worked and len(by_kind[kind]) >= FEWEST]
    if not enough:
        most = max((len(by_kind[kind]) for kind in worked & by_kind.keys()), default=0)
        why = f"only {most} usable recorded tasks; {FEWEST} are needed"
        return CoachRun(model, (), why)
    for kind in enough:
        bench = _Bench(project, opened, replay.key, kind, by_kind[kind], measured, answerer, listeners)
        while time.monotonic() < until and (found := await bench.try_next(replay, until)):
            tried.append(found)
            if found.decision.verdict == "go on":
                break
    return CoachRun(model, tuple(tried), "" if tried else "there are no more proposals")


class _Bench(Struct, frozen=True):
    """The test bench of one model and one kind of work."""

    project: Project
    opened: Opened
    key: str
    kind: str
    tasks: Sequence[Recorded]
    measured: Measured
    answerer: Answerer
    listeners: Sequence[Listener]

    async def try_next(self, replay: Replays, until: float) -> TriedStrategy | None:
        """The experiment that waits, or a new one; None when there is none, or a canary is out."""
        coaching = read_coaching(self.project.log)
        ways = coaching.ways.get((self.key, self.kind), Ways(self.opened.facts.name, self.kind))
        if ways.canary:
            return None
        with Session(self.project.log, new_id(), self.listeners) as session:
            run = self.project.begin(session, self.answerer)
            strategy = ways.proposed[0] if ways.proposed else None
            options = options_of(COACH, self.key, self.kind, strategy.id if strategy else "")
            run.emit(self.project.started(f"coach {self.opened.facts.name}: {self.kind}", options))
            try:
                strategy = strategy or await self._propose(run, session.id, ways)
                if strategy is None:
                    run.emit(RunEnded("done", "There are no more proposals."))
                    return None
                decision = await self._try(run, coaching, ways, strategy, replay, until)
            except KithError as error:
                run.emit(RunEnded("unavailable", str(error)))
                raise
            except BaseException:
                run.emit(RunEnded("interrupted", "Interrupted; kith coach run resumes it."))
                raise
            run.emit(RunEnded("done", decision.why))
            return TriedStrategy(self.kind, strategy, decision)

    async def _try(
        self, run: Run, coaching: Coaching, ways: Ways, strategy: Strategy, replay: Replays, until: float
    ) -> TestDecision:
        """The experiment's trials, as far as time goes, and what they decide."""
        facts = self.opened.facts
        pairs = coaching.pairs.get(((self.key, self.kind), strategy.id), {})
        most = min(HORIZON, self.project.settings.section(CoachSettings).max_trials)
        experiment = Experiment(facts.digest, facts.name, self.kind, ways.champion, strategy, pairs, most)
        if strategy.id not in ways.tried:
            experiment.tell(run, "proposed", TestDecision("go on", strategy.hypothesis))
        has_time = partial(_is_before, until)
        decision = await try_out(run, experiment, self.tasks, replay, has_time)
        if decision.verdict == "go on" and has_time():
            run.emit(Notice(f"{strategy.id}: not settled, and no recorded task is left: {decision.why}."))
        if decision.verdict == "accept":
            experiment.tell(run, "canary", decision)
        elif decision.verdict == "refuse":
            experiment.tell(run, "refused", decision)
        return decision

    async def _propose(self, run: Run, session: str, ways: Ways) -> Strategy | None:
        """Choose the next strategy: from the model that the person named, by rule, or from the model itself.

        A model that does no better than the rules is no longer asked.
        """
        facts, named = self.opened.facts, self.project.settings.section(CoachSettings).model
        seen = find_symptoms(
            self.key, facts.name, self.kind, ways.champion.id, self.measured.legs, self.measured.calls
        )
        seen = replace(seen, window=self.opened.window)
        ruled = next(propose_by_rule(seen, ways), None)
        if ruled and not named:
            return ruled
        asked = await self._ask(run, session, seen, ways)
        return asked[0] if asked else ruled

    async def _ask(self, run: Run, session: str, seen: Symptoms, ways: Ways) -> tuple[Strategy, ...]:
        """Ask a model for proposals, within the coaching budget, and with consent for a cloud."""
        chosen, log = self.project.settings, self.project.log
        terms = Terms(replace(self.project, settings=coaching_limits(chosen, log)), run, session)
        named = chosen.section(CoachSettings).model
        opened = await terms.open(named) if named else self.opened
        try:
            await terms.admit(opened)
            if not is_worth_asking([event for _, event in ways.history], opened.facts.name):
                return ()
            model, small = terms.wrap(opened, tells=False), is_small(opened.window)
            role = make_role(find_role(ROLE), model, (), chosen.sampling, small=small)
            return await in_peace(log, lambda: ask_for_proposals(run, role, seen, ways))
        except LimitError as error:  # what the rules propose costs nothing
            run.emit(Notice(f"{opened.facts.name} is not asked for proposals: {error}.", "warning"))
            return ()
        finally:
            if opened is not self.opened:
                await opened.aclose()


def coaching_limits(chosen: Settings, log: Log) -> Settings:
    """The settings with what is left today of the money for coaching, as the limit of one experiment."""
    daily = chosen.section(CoachSettings).max_usd
    if daily is None:
        return chosen
    left = max(0.0, daily - paid_today(log, kind=COACH))
    most = chosen.max_task_usd
    return replace(chosen, max_task_usd=left if most is None else min(left, most))


def _is_before(until: float) -> bool:
    return time.monotonic() < until
