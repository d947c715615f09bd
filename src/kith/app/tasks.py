"""Tasks: from a person's words, or an unfinished session, to an end that the log holds."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kith.app.asking.pins import is_routed, pin
from kith.app.asking.terms import Terms
from kith.app.asking.worker import make_worker
from kith.app.beginning import find_commit
from kith.app.coaching.choice import find_strategy
from kith.app.codebase.index import Known, has_symbols, look_nowhere, open_known
from kith.app.knowledge import gather, tell_faults, tell_known
from kith.app.news import with_news
from kith.app.project import Project, Result
from kith.context.rooms import ASSUMED_WINDOW, opening_room
from kith.core.errors import UsageError
from kith.core.events import Notice, Resumed
from kith.core.loops import leave
from kith.core.model import Emit, Prompt, Role
from kith.core.options import Options, Planning
from kith.core.run import Answerer, Gate, Run, Thread, new_id
from kith.core.trial_names import trial_name
from kith.core.values import Verdict
from kith.memory.applied import holds
from kith.memory.log import Log
from kith.memory.past import Past
from kith.memory.questions import OVER
from kith.memory.session import Listener, Session
from kith.models.stack import Opened as Opened
from kith.routing.kinds import kind_of
from kith.routing.strategies import ORIGINAL, Strategy, phrase
from kith.tools.hooks import Said
from kith.tools.symbols import Look
from kith.workflows.attempt import Outcome, Progress, adopt_ready, attempt
from kith.workflows.chat import chat
from kith.workflows.coach.ask import look_at
from kith.workflows.direct import BeyondError, make_direct, parse_direct
from kith.workflows.judges import Judges
from kith.workflows.opening import open_task
from kith.workflows.relay import GivenUp, Leg, goal_of
from kith.workflows.standing import Standing

if TYPE_CHECKING:
    from kith.app.asking.relay import Relay

THREAD = "task"


@dataclass(frozen=True, slots=True)
class Task:
    """What a person wants: words, whether to plan first, or a session to go on with."""

    words: str
    plan: Planning = "no"
    resume: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """A task at work: in which session, on which terms it asks models in the cloud.

    `relay` is there where kith chooses the models, `look` where an index can be asked. `judges` decide about
    the change, and `standing` tells the model how their checks stood before it.
    """

    project: Project
    run: Run
    id: str
    terms: Terms
    judges: Judges
    standing: Standing
    relay: "Relay | None" = None
    look: Look | None = None

    @property
    def ending(self) -> Gate | None:
        """Whether the model may stop, where hooks hear of that."""
        if not self.project.settings.hooks:
            return None
        from kith.app.hooks import ProjectHooks

        return ProjectHooks(self.project, self.id).gate()


async def run_task(
    project: Project, task: Task, answerer: Answerer, listeners: Sequence[Listener] = (), id: str = ""
) -> Result:
    """Do one task in a session of its own (called `id` if given), or go on with an unfinished one."""
    id = project.log.find(task.resume) if task.resume else id or new_id()
    with Session(project.log, id) as session:
        if task.resume:
            project, task = _as_it_was(project, session, task)
        session.listeners += listeners
        return await run_in(project, session, task, answerer)


async def run_in(
    project: Project, session: Session, task: Task, answerer: Answerer, opened: Opened | None = None
) -> Result:
    """Do one task in an open session; errors that a person can act on become its end.

    `opened` is a model that is open already (a conversation keeps its own); otherwise one is chosen now.
    """
    run = project.begin(session, answerer)
    if task.resume:
        run.emit(Resumed())
        await project.recover(session)
    else:
        options = _options(project, task, session.past())
        commit = await find_commit(project, session.past())
        run.emit(project.started(task.words, replace(options, commit=commit)))
    past = session.past()
    # Each task of a conversation has a trial of its own, found again when it is resumed.
    run = replace(run, trial_name=trial_name(session.id, past.tasks))
    work = _do(project, run, session.id, task, past, opened)
    code = await project.to_the_end(session, run, work, f"kith run --resume {session.id}")
    if any(call.strategy for call in session.past().calls):
        from kith.app.coaching.strategies import settle_live  # with all that learns

        settle_live(project, session.listeners)
    return Result(code, project.report(session.id))


async def _do(project: Project, run: Run, id: str, task: Task, past: Past, opened: Opened | None) -> Outcome:
    if past.applied:
        there = holds(project.log.applied(str(project.root)), past.applied[-1].change_id)
        since = "" if there else ", and was taken back since"
        return Outcome("done", f"The change had been applied already{since}.")
    if not task.resume:
        await project.tell_state(run)
    said = await _hear_hooks(project, run, id, task, past)
    if said.refusal:
        return Outcome("rejected", said.no)
    if done := await _do_directly(project, run, task):
        return done
    if said.words:
        task = replace(task, words=f"{task.words}\n\n{said.words}")
    if project.servers or not project.settings.mcp:
        return await _ask_model(project, run, id, task, past, opened)
    from kith.app.held_servers import with_servers  # few people have any

    async with with_servers(project) as project:
        return await _ask_model(project, run, id, task, past, opened)


async def _do_directly(project: Project, run: Run, task: Task) -> Outcome | None:
    """What needs no model; None for all else."""
    direct = parse_direct(task.words)
    if direct is None or project.settings.read_only:
        return None
    try:
        changes = await make_direct(direct, run)
    except BeyondError as error:
        run.emit(Notice(f"{error} So a model is asked."))
        return None
    judges = project.judges(run, task.words)
    try:
        return await adopt_ready(run, changes, judges, "Done, without a model.")
    finally:
        await judges.aclose()


async def _hear_hooks(project: Project, run: Run, id: str, task: Task, past: Past) -> Said:
    """What hooks say of a task that begins."""
    if task.resume or not project.settings.hooks:
        return Said()
    from kith.app.hooks import ProjectHooks  # few people have any

    told = {"task": task.words, "first": past.tasks == 1}
    return await ProjectHooks(project, id).tell(run, "start", told)


async def _ask_model(
    project: Project, run: Run, id: str, task: Task, past: Past, held: Opened | None
) -> Outcome:
    # Git looks at the tree while the model's client is loaded and its server asked.
    room, opened = (held.window if held else 0) or ASSUMED_WINDOW, held
    terms = Terms(project, run, id)
    relay = _make_relay(terms) if is_routed(project.settings) else None
    judges = project.judges(run, past.started.task if past.started else task.words)
    standing = Standing(judges)
    if not project.settings.read_only:
        await judges.stands()  # the untouched tree is checked beside all that follows
    async with open_known(project, run.emit) as known:
        begin = partial(_open_task, project, run, task, past, known, standing)
        first = begin(room) if _is_new(task, past) else None
        opening = asyncio.ensure_future(first) if first else None
        try:
            opened = opened or await (
                _set_out(relay, id, task, past) if relay else project.open_model(run.emit)
            )
            past = project.log.past(id) if relay else past
            if task.resume:
                run.emit(Notice(f"Going on with session {id}.", topic="resumed"))
            elif not relay:
                run.emit(pin(project.settings, opened, _kind_of(task, past)))
            words = await opening if opening else ""
            strategy = find_strategy(project, opened, _kind_of(task, past), id, past)
            if opening:
                if 0 < opened.window < room or strategy.id:
                    words = await begin(opened.window, strategy)
                words = await _add_named(terms, opened, task, past, words)
                if not past.threads.get(THREAD):
                    words = _begin(project, run, opened.window, words)
            offered = past.started is not None and bool(past.started.options.symbols)
            # A tool that was offered stays, even where the index was lost since.
            look = (known.look or look_nowhere) if offered else None
            job = Job(project, run, id, terms, judges, standing, relay, look)
            return await _work(job, replace(task, words=words), past, opened)
        finally:
            for each in relay.opened.values() if relay else filter(None, [opened]):
                project.learn(run, id, each)
                if each is not held:
                    await each.aclose()
            await judges.aclose()
            if opening:
                await leave(opening)


async def _add_named(terms: Terms, opened: Opened, task: Task, past: Past, words: str) -> str:
    """The words that begin a task, and the files that are named in it."""
    if "@" not in task.words:
        return words
    from kith.app.mentions import read_named  # few tasks name files

    named = await read_named(terms, opened, task.words, past.threads.get(THREAD, ()))
    return "\n\n".join(filter(None, (words, named)))


def _kind_of(task: Task, past: Past) -> str:
    """Which sort of work it is, as it was told when the task began."""
    return past.routes[-1].kind if past.routes else kind_of(past.started.task if past.started else task.words)


def _make_relay(terms: Terms) -> "Relay":
    from kith.app.asking.relay import Relay  # with all that learns: not for those who named their model

    return Relay(terms, terms.run)


async def _set_out(relay: "Relay", id: str, task: Task, past: Past) -> Opened:
    """The model that a task begins with, or goes on with, where kith chooses."""
    from kith.app.asking.route import describe_task, look_around

    relay.choice = await look_around(relay.terms.project, relay.run.emit)
    known = await describe_task(relay.terms.project, relay.run, task.words)
    return await relay.begin(known, past.routes, f"{id}/{past.tasks}")


def _is_new(task: Task, past: Past) -> bool:
    """Whether no model has been told of the task yet."""
    return not (task.resume and past.task_said)


async def _work(job: Job, task: Task, past: Past, opened: Opened) -> Outcome:
    """The task whose first message is written: answered, or done in a trial."""
    project, relay = job.project, job.relay
    run = replace(job.run, limits=replace(job.run.limits, exec=project.exec_limits(opened.window)))
    leg = await _leg(job, opened, past)
    if project.settings.read_only:
        return await chat(run, leg.role, leg.thread, task.words or None, job.ending)

    async def relieve(given_up: GivenUp) -> Leg | None:
        following = await relay.follow(given_up) if relay else None
        return await _leg(job, following, project.log.past(job.id)) if following else None

    judges = replace(job.judges, ending=job.ending)
    if relay:
        from kith.app.asking.audits import auditor

        judges = replace(judges, audit=auditor(relay, leg.goal, f"{job.id}/{past.tasks}"))
    earlier = None if _is_new(task, past) else _progress_of(past)
    return await attempt(run, leg, task.words, judges, plan=task.plan, earlier=earlier, relief=relieve)


async def _leg(job: Job, opened: Opened, past: Past) -> Leg:
    """A model's part of the task: the first one goes on in the conversation, a later one begins its own."""
    handed = sum(bool(each.after) for each in past.routes)
    threads = [THREAD, *(f"{THREAD}.{past.relays - n + 1}" for n in reversed(range(handed)))]
    said = [message for name in threads for message in past.threads.get(name, ())]
    goal = goal_of(past.started.task if past.started else "", said)
    thread = Thread(threads[-1], past.threads.get(threads[-1], ()))
    kind = _kind_of(Task(goal), past)
    strategy = find_strategy(job.project, opened, kind, job.id, past)
    await job.terms.admit(opened)
    known = gather(job.project.settings)
    if job.project.servers:
        await job.project.servers.connect(opened.window, job.run.emit)
    role = make_worker(job.project, opened, past, known, job.look, job.terms, strategy, thread)
    role = replace(role, tools=job.standing.telling(role.tools))
    told = tell_known(known, opened.window)
    if job.relay is None or not job.relay.more:
        return Leg(role, thread, goal, known=told)
    return Leg(job.relay.hopeful(role), thread, goal, last=False, known=told)


def _begin(project: Project, run: Run, window: int, words: str) -> str:
    """A conversation's first words, after what is known beforehand, which stays the same and so is cached."""
    known = gather(project.settings)
    tell_faults(known, window, run.emit)
    return "\n\n".join(filter(None, (tell_known(known, window), words)))


async def _open_task(
    project: Project,
    run: Run,
    task: Task,
    past: Past,
    known: Known,
    standing: Standing,
    window: int,
    strategy: Strategy = ORIGINAL,
) -> str:
    """The task as the model gets it, after how the checks stand, or what became of its last change."""
    words = with_news(project, past, phrase(task.words, strategy.levers), window)
    if past.threads.get(THREAD):
        return words
    checks = "" if project.settings.read_only else await standing.first_words()
    fitting = await known.fitting()
    return await open_task(run, words, opening_room(window), fitting, look_at(strategy), checks)


# --- going on after a crash --------------------------------------------------------------


def _options(project: Project, task: Task, before: Past) -> Options:
    """What a resumed task must not forget; the tools stay what they were `before`, in this conversation."""
    chosen = project.settings
    begins = before.symbols is None and not before.threads
    return Options(
        plan=task.plan,
        read_only=chosen.read_only,
        check=chosen.check,
        goal=chosen.origin.get("check") == "flag",
        symbols=has_symbols(project) if begins else bool(before.symbols),
        system=chosen.system,
        append_system=chosen.append_system,
    )


def _as_it_was(project: Project, session: Session, task: Task) -> tuple[Project, Task]:
    """The project and the task as they were when the session was cut short; flags given now win."""
    past = session.past()
    started = past.started
    if started is None:
        raise UsageError(f"Session {session.id} holds no task.")
    if started.root != str(project.root):
        raise UsageError(f"Session {session.id} belongs to {started.root}; use -C.")
    was, kind = started.options, started.options.command
    if kind != "run":
        again = f"; kith {kind} --resume {session.id} goes on with it" if kind == "build" else ""
        raise UsageError(f"Session {session.id} is no task but a {kind}{again}.")
    if past.ended and past.ended.status in OVER[kind]:
        raise UsageError(f"Session {session.id} is over ({past.ended.status}); there is nothing to resume.")
    told: dict[str, Any] = {
        "model": started.model,
        "read_only": was.read_only,
        "check": was.check,
        "system": was.system,
        "append_system": was.append_system,
    }
    origin = project.settings.origin
    kept = {key: value for key, value in told.items() if origin.get(key) != "flag" and value}
    if "check" in kept and was.goal:
        origin = {**origin, "check": "flag"}
    project = replace(project, settings=replace(project.settings, **kept, origin=origin))
    return project, Task(started.task, was.plan or "no", task.resume)


async def warm_up(project: Project, tell: Emit = lambda event: None) -> None:
    """Let the server load the model and read what every request begins with, while a person still types.

    `tell` hears which model that is. It may run in another thread: it opens the log, and a connection to the
    server, for itself. Raises KithError.
    """
    apart = replace(project, log=Log(project.log.path))
    async with aclosing(await open_first(apart)) as opened:
        tell(opened.engaged())
        if project.servers:  # what they offer is part of what is read
            await project.servers.served()
        role = first_worker(project, opened)
        await opened.provider.warm(Prompt(role.system, (), role.tools, sampling=role.sampling))


def first_worker(project: Project, opened: Opened) -> Role:
    """The worker as it would begin a conversation now."""
    look = look_nowhere if has_symbols(project) else None
    return make_worker(project, opened, Past(), gather(project.settings), look)


async def open_first(project: Project) -> Opened:
    """The model that a task would begin with, most likely."""
    if not is_routed(project.settings):
        return await project.open_model(lambda event: None)
    from kith.app.asking.route import look_around

    return await project.open_model(
        lambda event: None, (await look_around(project, lambda event: None)).arms[0]
    )


def _progress_of(past: Past) -> Progress:
    """How far the log says a task has come."""
    no, took_over = past.refusal, past.relayed
    refusal = Verdict(False, no.feedback, no.gate, no.ran, figures=no.figures) if no else None
    before = tuple(each for each in past.verdicts if each.when == "before")
    given_up = GivenUp(took_over.after, took_over.why) if took_over else None
    return Progress(past.attempts, past.refusals, refusal, bool(before), before, past.edits_landed, given_up)
