"""Adopt or undo strategies, as live work or the person decides, and list them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, Literal

from msgspec import Struct

from kith.agent.project import Project
from kith.core.decisions import Coached
from kith.core.errors import UsageError
from kith.core.events import Notice, RunEnded
from kith.core.run import new_id
from kith.features.coach.experiment import find_tasks
from kith.features.coach.sequential_test import (
    CANARY,
    LOOKS,
    TestDecision,
    decide_canary,
    decide_keeping,
    measure,
)
from kith.features.coach.strategy import (
    COACH,
    Coaching,
    Strategy,
    Ways,
    Work,
    is_of,
    options_of,
    read_coaching,
)
from kith.features.measure.intervals import Count
from kith.features.measure.measured_rows import read_measured
from kith.features.measure.rows import LegRow
from kith.memory.session import Listener, Session

# What live work says of a way to ask: a canary passes or is rolled back, and an adopted way may fade.

_REFERENCE: Final = 120  # outcomes of the way before that a newer one is held against


class LiveVerdict(Struct, frozen=True):
    """The verdict on a strategy by its live outcomes, and the reason."""

    strategy: Strategy
    state: Literal["adopted", "undone"]
    decision: TestDecision


def watch(ways: Ways, key: str, legs: Sequence[LegRow]) -> LiveVerdict | None:
    """Judge live outcomes (`legs`, oldest first) of the model known by `key`; None for no change.

    An outcome counts if there is evidence for or against it, by the weight of that evidence.
    """
    own = [leg for leg in legs if leg.kind == ways.kind and is_of(leg, key, ways.model)]
    if ways.canary:
        since = ways.since.get(ways.canary.id, 0.0)
        new = count(_in(own, ways.canary, since))
        decision = decide_canary(new, count(_last(_in(own, ways.champion), _REFERENCE)))
        if decision.verdict != "go on":
            return LiveVerdict(ways.canary, "adopted" if decision.verdict == "accept" else "undone", decision)
    if ways.adopted:
        champion = ways.champion
        recent = count(_last(_in(own, champion, ways.since.get(champion.id, 0.0)), CANARY))
        decision = decide_keeping(recent, count(_last(_in(own, ways.before), _REFERENCE)))
        if decision.verdict == "refuse":
            return LiveVerdict(champion, "undone", decision)
    return None


def count(legs: Iterable[LegRow]) -> Count:
    """Outcomes as counts."""
    counted = Count()
    for leg in legs:
        counted = counted.plus(leg.reward or 0.0, leg.weight)
    return counted


def _in(legs: Iterable[LegRow], strategy: Strategy, since: float = 0.0) -> Iterator[LegRow]:
    """The outcomes of one way, from a moment on."""
    return (leg for leg in legs if leg.strategy == strategy.id and leg.at >= since and leg.reward is not None)


def _last(legs: Iterator[LegRow], most: int) -> list[LegRow]:
    """The newest of them that together weigh `most` outcomes."""
    newest = list(legs)[::-1]
    total, kept = 0.0, list[LegRow]()
    for leg in islice(newest, 4 * most):
        if total >= most:
            break
        total += leg.weight
        kept.append(leg)
    return kept


FEWEST: Final = min(LOOKS)  # recorded tasks of a kind; with fewer nothing can be settled


def settle_live(project: Project, listeners: Sequence[Listener] = ()) -> tuple[Coached, ...]:
    """Adopt or undo what live work has decided by now; to be called when a task of a strategy is over."""
    coaching, told = read_coaching(project.log), list[Coached]()
    watched = {work: ways for work, ways in coaching.ways.items() if ways.canary or ways.adopted}
    if not watched:
        return ()
    legs = read_measured(project.log, cache=project.settings.cache).legs
    for (key, kind), ways in watched.items():
        if turn := watch(ways, key, legs):
            told.append(tell(project, (key, kind), ways, turn.strategy, turn.state, turn.decision, listeners))
    return tuple(told)


def tell(
    project: Project,
    work: Work,
    ways: Ways,
    strategy: Strategy,
    state: Any,
    decision: TestDecision,
    listeners: Sequence[Listener] = (),
) -> Coached:
    """Log a strategy's new state, in a session of its own."""
    digest = work[0] if work[0] != ways.model else ""
    event = Coached(
        digest,
        ways.model,
        work[1],
        strategy.data,
        state,
        decision.why,
        strategy.author,
        dict(decision.figures),
    )
    with Session(project.log, new_id(), listeners) as session:
        session.emit(project.started(f"coach: {state}", options_of(COACH, work[0], work[1], strategy.id)))
        session.emit(event)
        session.emit(Notice(f"{strategy.id} ({ways.model}, {work[1]}) is {state}: {decision.why}."))
        session.emit(RunEnded("done", decision.why))
    return event


def undo_way(project: Project, id: str) -> Coached:
    """Give up a way by (the beginning of) its id. Raises UsageError for none or several."""
    return _by_hand(project, id, "undone", "undone by the person")


def adopt_way(project: Project, id: str) -> Coached:
    """Adopt a canary without waiting for live work. Raises UsageError for none or several."""
    return _by_hand(project, id, "adopted", "adopted by the person")


def _by_hand(project: Project, id: str, state: str, why: str) -> Coached:
    found = [
        (work, ways, each)
        for work, ways in read_coaching(project.log).ways.items()
        for each in (*ways.adopted, *filter(None, [ways.canary]), *ways.proposed)
        if id and each.id.startswith(id) and (state == "undone" or each is ways.canary)
    ]
    if len(found) != 1:
        what = "Several ways begin" if found else "No way that could be " + state + " begins"
        raise UsageError(f"{what} with {id!r}; `kith coach` lists them.")
    work, ways, strategy = found[0]
    return tell(project, work, ways, strategy, state, TestDecision("accept", why))


# --- what there is to see ------------------------------------------------------------------------


def describe_coaching(project: Project) -> dict[str, Any]:
    """Every model and kind of work with its ways, experiments and history, as plain data."""
    coaching = read_coaching(project.log)
    legs = read_measured(project.log, cache=project.settings.cache).legs
    by_kind = find_tasks(project, legs)
    own = {kind: sum(not task.exercise for task in tasks) for kind, tasks in by_kind.items()}
    return {
        "recorded": {kind: number for kind, number in own.items() if number},
        "exercises": len({task.id for tasks in by_kind.values() for task in tasks if task.exercise}),
        "fewest": FEWEST,
        "work": [_describe(work, ways, coaching, legs) for work, ways in coaching.ways.items()],
    }


def _describe(work: Work, ways: Ways, coaching: Coaching, legs: Sequence[LegRow]) -> dict[str, Any]:
    last = {str(event.strategy.get("id", "")): (at, event) for at, event in ways.history}
    own = [leg for leg in legs if leg.kind == ways.kind and is_of(leg, work[0], ways.model)]
    own = [leg for leg in own if leg.reward is not None]
    live = {id: count(leg for leg in own if leg.strategy == id) for id in ("", *last)}
    return {
        "model": ways.model,
        "digest": work[0],
        "kind": ways.kind,
        "champion": ways.champion.id,
        "canary": ways.canary.id if ways.canary else "",
        "proposed": [each.id for each in ways.proposed],
        "original": {"live": live[""].seen, "live_solved": live[""].good},
        "ways": [
            {
                "id": id,
                "state": event.state,
                "why": event.why,
                "author": event.author,
                "levers": event.strategy.get("levers", {}),
                "hypothesis": event.strategy.get("hypothesis", ""),
                "predicted": event.strategy.get("predicted", {}),
                "figures": event.figures,
                "trials": measure([*coaching.pairs.get((work, id), {}).values()]),
                "live": live[id].seen,
                "live_solved": live[id].good,
                "at": at,
            }
            for id, (at, event) in last.items()
        ],
        "history": [
            {"at": at, "id": event.strategy.get("id", ""), "state": event.state, "why": event.why}
            for at, event in ways.history
        ],
    }
