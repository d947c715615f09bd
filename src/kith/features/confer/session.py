"""A council from its models to a decision, an answer or a change; also as a kind of session."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.asking.cast import play
from kith.agent.asking.roles import find_role
from kith.agent.asking.terms import Terms
from kith.agent.attempt import Outcome
from kith.agent.index import open_known
from kith.agent.knowledge import tell_notes_of
from kith.agent.project import Project, Result
from kith.agent.roles import Player
from kith.agent.task_prompt import open_task
from kith.agent.worker import SessionKind
from kith.context.budget import ASSUMED_WINDOW, opening_room
from kith.context.task_kinds import kind_of as sort_of
from kith.core.errors import KithError, ModelError, NoModelError, UsageError
from kith.core.events import Notice
from kith.core.run import Answerer, Run, new_id
from kith.features.confer import ConferSettings
from kith.features.confer.checks import check_objection
from kith.features.confer.council_rules import Seat
from kith.features.confer.debate import CouncilDecision, conclude, confer, ranking
from kith.features.confer.decision import JUDGE, Settling, ask_judge, settle
from kith.features.confer.history import Minutes, read_minutes
from kith.features.confer.members import Council, Ledger, Member, draw_labels, tell_apart
from kith.features.confer.panel import ability_of, measured_legs, weigh_councils
from kith.memory.inbox import Letter
from kith.memory.session import Listener
from kith.models.stack import Opened

FEWEST: Final = 2
MOST: Final = 3
BOTH_S: Final = 30.0  # seconds of models; where the first plan took less, the next one is tried as well
_CASCADE: Final = (
    "Where tests decide, one model after the other (kith run -m route) solves about as much for fewer tokens."
)
_NEED: Final = "A council needs two models, or three: name them (--models A,B), or set confer.models."


class Motion(Struct, frozen=True):
    """The question, the models (as after -m; none: as configured), and if it is carried out."""

    question: str
    models: tuple[str, ...] = ()
    judge: str = ""
    apply: bool = False


class Conferred(Struct, frozen=True):
    """A council that is over: how its session ended, and what was said."""

    result: Result
    minutes: Minutes | None


async def run_confer(
    project: Project,
    motion: Motion,
    answerer: Answerer,
    listeners: Sequence[Listener] = (),
    hurry: asyncio.Event | None = None,
    id: str = "",
) -> Conferred:
    """Hold a council in a session of its own (called `id` if given); with `apply`, carry its plan out.

    When `hurry` is set, it decides with what is there. Raises UsageError where there are no two models.
    """
    if motion.apply:
        project.check_writable()
    names, id = choose_models(project, motion), id or new_id()
    work = partial(_hold, project, motion=motion, names=names, id=id, hurry=hurry or asyncio.Event())
    result = await project.perform(motion.question, "confer", work, answerer, listeners, id)
    minutes = read_minutes(record.event for record in project.log.events(id))
    return Conferred(result, minutes.get(id))


def choose_models(project: Project, motion: Motion) -> tuple[str, ...]:
    """Choose the members: those named, else two that are configured. Raises UsageError."""
    chosen = project.settings
    routed = (*chosen.route.local[:1], *filter(None, [chosen.route.frontier]))
    names = motion.models or chosen.section(ConferSettings).models[:FEWEST] or routed
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        raise UsageError(f"A council needs different models; {twice} is named twice.")
    if not FEWEST <= len(names) <= MOST:
        raise UsageError(_NEED)
    return names


async def _hold(
    project: Project, run: Run, *, motion: Motion, names: Sequence[str], id: str, hurry: asyncio.Event
) -> Outcome:
    payoff = weigh_councils(project, kind_of(motion))
    if not payoff.pays:
        run.emit(Notice(f"{payoff.why} You asked for one, so it takes place.", "warning"))
    if motion.apply and await project.is_tested(run):
        run.emit(Notice(_CASCADE))
    terms = Terms(project, run, id)
    async with _open_all(terms, names) as opened:
        council = await _convene(terms, motion, opened, hurry)
        # What one of them looks at, or lets a command look at, all of them get to know.
        seen = terms.hide(run, *opened.values())
        decision = await confer(seen, council, partial(check_objection, seen))
        if decision is None and council.tested:
            order = ranking(council)
            decision = CouncilDecision(
                order[0], "limit", "nothing tells them apart before they are tried", order
            )
        elif decision is None:
            decision = await _judge(terms, motion, council, opened)
        if not motion.apply:
            return Outcome("done", conclude(run, council, decision).text)
        judges = project.judges(run)
        how = Settling(partial(_worker, terms, opened), council.facts, judges, _patience(council))
        decision, outcome = await settle(run, council, decision, how)
        conclude(run, council, decision)
        return outcome


def kind_of(motion: Motion) -> str:
    """The sort of work, as routing calls it."""
    if not motion.apply:
        return "explain" if motion.question.rstrip().endswith("?") else "plan"
    return sort_of(motion.question)


# --- members ---------------------------------------------------------------------------------


@asynccontextmanager
async def _open_all(terms: Terms, names: Sequence[str]) -> AsyncIterator[dict[str, Opened]]:
    """The members' models by label, in an order that nobody chose; one that cannot be opened stays away.

    Raises what opening raises when none can be.
    """
    opened, failure = dict[str, Opened](), None
    try:
        for label, name in sorted(zip(draw_labels(len(names)), names, strict=True)):
            try:
                opened[label] = await terms.open(name)
            except (ModelError, NoModelError) as error:
                failure = failure or error
                terms.run.emit(Notice(f"{name} does not take part: {error}", "warning"))
        if failure and not opened:
            raise failure
        yield opened
    finally:
        for each in opened.values():
            terms.project.learn(terms.run, terms.session, each)
            await each.aclose()


async def _convene(terms: Terms, motion: Motion, opened: dict[str, Opened], hurry: asyncio.Event) -> Council:
    """The members at their table, with what all of them are shown."""
    project, run, id = terms.project, terms.run, terms.session
    spec = find_role("councillor", project.settings)
    kind, legs = kind_of(motion), measured_legs(project)
    ledger, members = Ledger(project.settings.section(ConferSettings).tokens), {}
    hosts = dict(zip(opened, tell_apart([*opened.values()]), strict=True))
    for label, each in opened.items():
        seat = Seat(label, each.facts.server or each.facts.name, each.facts.slots)
        role = play(terms, spec, each, readers=[*opened.values()]).role
        about = each.facts.cloud, ability_of(legs, each, kind)
        members[label] = Member(seat, ledger.bill(label, role), *about, hosts[label])
    window = min(each.window or ASSUMED_WINDOW for each in opened.values())
    async with open_known(project, run.emit) as known:
        shown = await open_task(run, motion.question, opening_room(window), known.fitting)
    notes = tell_notes_of(project.settings, window)
    shown = f"{notes}\n\n{shown}" if notes else shown
    tested = motion.apply and await project.is_tested(run)
    return Council(id, kind, motion.question, shown, members, ledger, tested, hurry)


async def _judge(
    terms: Terms, motion: Motion, council: Council, opened: dict[str, Opened]
) -> CouncilDecision:
    """The decision of the judge that was named, else of the first of the council that still answers."""
    project, run = terms.project, terms.run
    name = motion.judge or project.settings.section(ConferSettings).judge
    spec = find_role("arbiter", project.settings)
    there = next(
        (
            label
            for label, member in council.members.items()
            if name in ("", member.name, opened[label].asked_as)
        ),
        "",
    )
    if there:
        role = play(terms, spec, opened[there]).role
        member = council.members[there]
        judge_seat = replace(member.seat, label=JUDGE)
        return await ask_judge(run, council, Member(judge_seat, role, host=member.host))
    try:
        judge = await terms.open(name)
    except KithError as error:
        order = ranking(council)
        return CouncilDecision(order[0], "limit", f"the judge cannot be asked ({error})", order)
    try:
        role = play(terms, spec, judge).role
        seat = Seat(JUDGE, judge.facts.server or name, judge.facts.slots)
        return await ask_judge(run, council, Member(seat, role))
    finally:
        project.learn(run, council.id, judge)
        await judge.aclose()


async def _worker(terms: Terms, opened: dict[str, Opened], label: str) -> Player:
    """The author of a plan, as the one who carries it out."""
    return play(terms, find_role("worker", terms.project.settings), opened[label])


def _patience(council: Council) -> float:
    """Return the time limit of the first plan for trying the next one too; no cloud is paid twice."""
    return 0.0 if any(member.cloud for member in council.members.values()) else BOTH_S


async def _begin(
    project: Project, letter: Letter, answerer: Answerer, listeners: Sequence[Listener], id: str
) -> object:
    """Hold a council of the models in the message, if it names several."""
    named = tuple(str((letter.flags or {}).get("model", "")).split(","))
    motion = Motion(letter.words, named if len(named) > 1 else ())
    return await run_confer(project, motion, answerer, listeners, id=id)


KIND: Final = SessionKind(_begin)
