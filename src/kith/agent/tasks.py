"""Tasks: from a person's words, or an unfinished session, to an end that the log holds."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.asking.routes import Pinned, Route, need_router
from kith.agent.asking.task_worker import USUAL, Adaptation, adapt, make_worker, settle
from kith.agent.asking.terms import Terms
from kith.agent.attempt import Outcome, TaskProgress, attempt, may_end
from kith.agent.edit_checks import EditChecks
from kith.agent.final_answer import announce, give_answer
from kith.agent.forecasts import tell_forecast
from kith.agent.hooks import hooks_of
from kith.agent.index import Known, has_symbols, look_nowhere, open_known
from kith.agent.judges import Judges, with_gates
from kith.agent.knowledge import gather, tell_faults, tell_known
from kith.agent.mentions import MentionedFiles, read_named
from kith.agent.partial_reply import keep_partial
from kith.agent.project import Project, Result, with_servers
from kith.agent.relay import GivenUp, Leg, goal_of
from kith.agent.reminders import Reminders
from kith.agent.start_state import find_commit
from kith.agent.task_prompt import ToldChecks, no_checks, open_task, with_news
from kith.context.budget import ASSUMED_WINDOW, opening_room
from kith.context.task_kinds import kind_of
from kith.core.errors import NoModelError, UsageError
from kith.core.event_loop import leave, let_start
from kith.core.events import Forked, Notice, Options, Planning, Resumed, Said
from kith.core.loop import begin_turn, converse
from kith.core.model import Emit, Prompt, Role
from kith.core.policy import READ_ONLY
from kith.core.run import Answerer, Gate, Run, Thread, new_id, short_session
from kith.core.trial_names import trial_name
from kith.core.values import Image, Message, Spoken, Verdict, say
from kith.memory.applied import holds
from kith.memory.inbox import OVER
from kith.memory.log import Log
from kith.memory.past import Past
from kith.memory.session import Listener, Session
from kith.models.stack import Opened
from kith.settings.features import all_parts
from kith.tools.wrappers import HookAnswer

# A plain turn: the model reads and answers, and nothing is changed.


async def chat(
    run: Run, role: Role, thread: Thread, task: Message | None, ending: Gate | None = None
) -> Outcome:
    """One turn of the loop under the read-only policy; `task` is None when the thread already holds it.

    `ending` says whether the model may end it; its noes are told to the model, a few times at most.
    """
    if task is not None:
        begin_turn(run, thread, task)
    with run.step("answer") as step:
        reader = replace(role, policy=READ_ONLY, purpose="chat")
        text = await converse(step, reader, thread)
        for attempt in range(1, run.limits.tries):
            if ending is None or (verdict := await may_end(step, ending, (), attempt)).ok:
                break
            begin_turn(step, thread, say(verdict.feedback, verdict.by))
            text = await converse(step, reader, thread)
    return Outcome("done", text)


THREAD = "task"


class Task(Struct, frozen=True):
    """A person's task: words, if to plan first, or a session to resume.

    `history` is a conversation from elsewhere, with which a new session begins. `images` come with the words,
    beside those that the words name. `schema` is a JSON Schema that the answer has to follow. `gates` judge
    this task's changes before all others.
    """

    words: str
    plan: Planning = "no"
    resume: str = ""
    material: str = ""  # text of others beside the words; it decides nothing, and names no files
    history: tuple[Message, ...] = ()
    images: tuple[Image, ...] = ()
    schema: dict[str, Any] | None = None
    gates: tuple[Gate, ...] = ()


class DoTask(Protocol):
    """Does a task in another way than `run_task`; `id` is the session that begins it."""

    async def __call__(
        self, project: Project, task: Task, answerer: Answerer, listeners: Sequence[Listener], id: str, /
    ) -> Result: ...


class SessionTask(Struct, frozen=True):
    """A task in its session `id`, with its state from the log; `held`: a model that is open already."""

    project: Project
    run: Run
    id: str
    task: Task
    past: Past
    held: Opened | None = None

    @property
    def words(self) -> str:
        """The task as the person put it."""
        return self.past.started.task if self.past.started else self.task.words

    @property
    def kind(self) -> str:
        """The kind of work, as told when the task began."""
        return self.past.routes[-1].kind if self.past.routes else kind_of(self.words)

    @property
    def is_new(self) -> bool:
        """True if no model has been told of the task yet."""
        return not (self.task.resume and self.past.task_said)

    @property
    def opens(self) -> bool:
        """True while the model has been told nothing about the project."""
        return bool(self.task.history) or not self.past.threads.get(THREAD)

    @property
    def ending(self) -> Gate | None:
        """Return the hooks' gate on the model's end, if there are hooks."""
        hooks = hooks_of(self.project, self.id)
        return hooks.gate() if hooks else None

    def now(self) -> "SessionTask":
        """The present state of the task from its log."""
        return replace(self, past=self.project.log.past(self.id))


class _Asking(Struct, frozen=True):
    """The parts of asking models to do a task.

    `route` chooses them, `judges` decide about the change. `standing` tells the checks' results before
    it, and `known` is the index.
    """

    terms: Terms
    route: Route
    judges: Judges
    standing: ToldChecks
    known: Known


async def run_task(
    project: Project, task: Task, answerer: Answerer, listeners: Sequence[Listener] = (), id: str = ""
) -> Result:
    """Do one task in a session of its own (called `id` if given), or resume an unfinished one."""
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
        if task.history and not session.past().threads:
            session.emit(_copied(task.history))
        options = _options(project, task, session.past())
        commit = await find_commit(project.root, begins=session.past().started is None)
        run.emit(project.started(task.words, replace(options, commit=commit)))
    past = session.past()
    # Each task of a conversation has a trial of its own, found again when it is resumed.
    run = replace(run, trial_name=trial_name(session.id, past.tasks))
    work = keep_partial(session, THREAD, _do(SessionTask(project, run, session.id, task, past, opened)))
    code = await project.to_the_end(session, run, work, f"kith run --resume {short_session(session.id)}")
    settle(project, session.past(), session.listeners)
    return Result(code, project.report(session.id))


class Shortcut(Struct, frozen=True):
    """A feature's way to do a task without a model.

    `do` gets the task's words, and gives None for one that needs a model. `example`: the nearest request that
    needs none, "" where nothing is like it.
    """

    do: Callable[[Project, Run, str], Awaitable[Outcome | None]]
    example: Callable[[str], str]


def _copied(history: Sequence[Message]) -> Forked:
    """A conversation from elsewhere, as the session's own beginning."""
    spoken = (Spoken(each.text, n, 0.0) for n, each in enumerate(history) if each.author == "person")
    return Forked("", 0, tuple(Said(THREAD, each) for each in history), spoken=tuple(spoken))


async def _do(job: SessionTask) -> Outcome:
    project, run, task, past = job.project, job.run, job.task, job.past
    if past.applied and task.schema is None:
        there = holds(project.log.applied(str(project.root)), past.applied[-1].change_id)
        since = "" if there else ", and was undone since"
        return Outcome("done", f"The change had been applied already{since}.")
    if not task.resume:
        await project.tell_state(run)
    said = await _hear_hooks(job)
    if said.refusal:
        return Outcome("rejected", said.no)
    shortcuts: list[Shortcut] = [*all_parts(lambda each: each.shortcut)]
    for each in shortcuts if task.schema is None else ():
        if done := await each.do(project, run, task.words):
            return done
    if said.words:
        job = replace(job, task=replace(task, words=f"{task.words}\n\n{said.words}"))
    try:
        async with with_servers(project) as project:
            return await _ask_model(replace(job, project=project))
    except NoModelError as error:
        if form := next(filter(None, (each.example(task.words) for each in shortcuts)), ""):
            raise NoModelError(
                f"{error}\n\nWithout a model, kith takes requests of this form:\n  {form}"
            ) from error
        raise


async def _hear_hooks(job: SessionTask) -> HookAnswer:
    """Ask the hooks about a task that begins."""
    hooks = hooks_of(job.project, job.id)
    if job.task.resume or hooks is None:
        return HookAnswer()
    return await hooks.tell(job.run, "start", {"task": job.task.words, "first": job.past.tasks == 1})


async def _ask_model(job: SessionTask) -> Outcome:
    # Git looks at the tree while the model's client is loaded and its server asked.
    project, run, held = job.project, job.run, job.held
    room = (held.window if held else 0) or ASSUMED_WINDOW
    terms = Terms(project, run, job.id)
    chooses = project.settings.is_routed and held is None
    route: Route = need_router().route(terms) if chooses else Pinned(terms, held)
    judges = with_gates(project.judges(run, job.words), job.task.gates)
    if not (project.settings.read_only or job.past.applied):
        await judges.stands()  # the untouched tree is checked beside all that follows
    async with open_known(project, run.emit) as known:
        asking = _Asking(terms, route, judges, ToldChecks(judges), known)
        opening = asyncio.ensure_future(_open_task(job, asking, room)) if job.is_new else None
        telling: asyncio.Future[None] | None = None
        try:
            await let_start()  # before the model's client is loaded, in a thread that keeps one core busy
            opened = await route.begin(job.words, job.past.routes, f"{job.id}/{job.past.tasks}")
            job = job.now() if chooses else job
            if job.task.resume:
                run.emit(Notice(f"Going on with session {short_session(job.id)}.", topic="resumed"))
            words, images = await opening if opening else "", job.task.images
            if opening:
                adaptation = adapt(project, opened, job.kind, job.id, job.past)
                if job.opens and (told := adaptation.tell(job.task.words)):
                    run.emit(Notice(told))
                if 0 < opened.window < room or adaptation.id:
                    words = await _open_task(job, asking, opened.window, adaptation)
                words, images = await _add_named(job, terms, opened, words)
                words = words if job.task.schema is None else announce(words, job.task.schema)
                if job.opens:
                    words = _begin(project, run, opened.window, words)
            if job.is_new:
                telling = asyncio.ensure_future(tell_forecast(project, run.emit, opened.facts.name, job.kind))
            return await _work(job, asking, say(words, images=images), opened)
        finally:
            if telling:
                await leave(telling)
            for each in route.opened.values():
                project.learn(run, job.id, each)
                if each is not held:
                    await each.aclose()
            await judges.aclose()
            if opening:
                await leave(opening)


async def _add_named(
    job: SessionTask, terms: Terms, opened: Opened, words: str
) -> tuple[str, tuple[Image, ...]]:
    """The words that begin a task and the files that are named in it; pictures. Raises UsageError."""
    named = MentionedFiles()
    if "@" in job.task.words:
        named = await read_named(terms, opened, job.task.words, job.past.threads.get(THREAD, ()))
    images = (*job.task.images, *named.images)
    if images and opened.facts.sees is False:
        raise UsageError(
            f"{opened.facts.name} takes no pictures: leave {images[0].name} out, or use -m NAME."
        )
    return "\n\n".join(filter(None, (words, named.text))), images


async def _work(job: SessionTask, asking: _Asking, task: Message, opened: Opened) -> Outcome:
    """The task that begins with this message: answered, or done in a trial."""
    project, route = job.project, asking.route
    run = replace(job.run, limits=replace(job.run.limits, exec=project.exec_limits(opened.window)))
    legs = [await _leg(job, asking, opened)]
    leg = legs[0]
    if job.past.applied:  # it was stopped before it gave its answer
        return await _with_answer(run, job, leg, Outcome("done", leg.thread.last_words))
    if project.settings.read_only:
        answered = await chat(run, leg.role, leg.thread, task if task.text else None, job.ending)
        return await _with_answer(run, job, leg, answered)

    async def relieve(given_up: GivenUp) -> Leg | None:
        following = await route.follow(given_up)
        legs.extend([await _leg(job.now(), asking, following)] if following else ())
        return legs[-1] if following else None

    audit = route.audit(leg.goal, f"{job.id}/{job.past.tasks}")
    judges = replace(asking.judges, ending=job.ending, audit=audit)
    earlier = None if job.is_new else _progress_of(job.past)
    ended = await attempt(run, leg, task, judges, plan=job.task.plan, earlier=earlier, relief=relieve)
    return await _with_answer(run, job, legs[-1], ended)


async def _with_answer(run: Run, job: SessionTask, leg: Leg, ended: Outcome) -> Outcome:
    """Add the value that the person's schema asks for; a task that is done is failed without it."""
    if job.task.schema is None or ended.status != "done":
        return ended
    answer = await give_answer(run, leg.role, leg.thread, job.task.schema)
    if answer.fault:
        applied = "The change is applied, but the" if job.now().past.applied else "The"
        words = f"{applied} answer of {leg.role.model.name} does not follow the schema: {answer.fault}"
        return replace(ended, status="failed", text=words)
    return replace(ended, text=json.dumps(answer.value, ensure_ascii=False), answer=answer.value)


async def _leg(job: SessionTask, asking: _Asking, opened: Opened) -> Leg:
    """A model's part of the task: the first one goes on in the conversation, a later one begins its own."""
    project, past, terms, route = job.project, job.past, asking.terms, asking.route
    handed = sum(bool(each.after) for each in past.routes)
    threads = [THREAD, *(f"{THREAD}.{past.relays - n + 1}" for n in reversed(range(handed)))]
    said = [message for name in threads for message in past.threads.get(name, ())]
    goal = goal_of(past.started.task if past.started else "", said)
    thread = Thread(threads[-1], past.threads.get(threads[-1], ()))
    adaptation = adapt(project, opened, job.kind, job.id, past)
    await terms.admit(opened)
    known = gather(project.settings)
    if project.servers:
        await project.servers.connect(opened.window, job.run.emit)
    offered = past.started is not None and bool(past.started.options.symbols)
    # A tool that was offered stays, even where the index was lost since.
    look = (asking.known.look or look_nowhere) if offered else None
    role = make_worker(project, opened, past, known, look, terms, adaptation, thread)
    edits = EditChecks(job.run, thread, project.settings.edit_check_seconds, asking.judges.failures)
    reminders = Reminders(thread, job.run.limits.steps, past.todo)
    tools = reminders.telling(asking.standing.telling(edits.telling(role.tools)))
    role = route.watch(replace(role, tools=tools, ask_back=reminders.ask_back))
    return Leg(role, thread, goal, last=not route.more, known=tell_known(known, opened.window))


def _begin(project: Project, run: Run, window: int, words: str) -> str:
    """A conversation's first words, after what is known beforehand, which stays the same and so is cached."""
    known = gather(project.settings)
    tell_faults(known, window, run.emit)
    return "\n\n".join(filter(None, (tell_known(known, window), words)))


async def _open_task(job: SessionTask, asking: _Asking, window: int, adaptation: Adaptation = USUAL) -> str:
    """The task as the model gets it, after the checks' results, or the outcome of its last change."""
    phrased = "\n\n".join(filter(None, (adaptation.phrase(job.task.words), job.task.material)))
    words = with_news(job.project, job.past, phrased, window)
    if not job.opens:
        return words
    if job.past.todo:  # in a conversation that begins, only a person can have set it
        steps = "\n".join(f"{number}. {item.text}" for number, item in enumerate(job.past.todo, 1))
        words = f"{words}\n\nThe person set your list of steps:\n{steps}"
    tell_checks = no_checks if job.project.settings.read_only else asking.standing.first_words
    room, known = opening_room(window), asking.known.fitting
    return await open_task(job.run, words, room, known, adaptation.showing, tell_checks)


# --- going on after a crash --------------------------------------------------------------


def _options(project: Project, task: Task, before: Past) -> Options:
    """Return the options to keep on resume; the tools stay those of `before` in this conversation."""
    chosen = project.settings
    begins = before.symbols is None and (bool(task.history) or not before.threads)
    return Options(
        plan=task.plan,
        read_only=chosen.read_only,
        check=chosen.check,
        goal=chosen.origin.get("check") == "flag",
        symbols=has_symbols(project) if begins else bool(before.symbols),
        system=chosen.system,
        append_system=chosen.append_system,
        schema=task.schema,
        material=task.material,
    )


def _as_it_was(project: Project, session: Session, task: Task) -> tuple[Project, Task]:
    """The project and the task as they were when the session was interrupted; flags given now win."""
    past, id = session.past(), short_session(session.id)
    started = past.started
    if started is None:
        raise UsageError(f"Session {id} holds no task.")
    if started.root != str(project.root):
        raise UsageError(f"Session {id} belongs to {started.root}; use -C.")
    was, kind = started.options, started.options.command
    if kind != "run":
        again = f"; kith {kind} --resume {id} goes on with it" if kind == "build" else ""
        raise UsageError(f"Session {id} is not a task but a {kind}{again}.")
    if past.ended and past.ended.status in OVER[kind]:
        raise UsageError(f"Session {id} is over ({past.ended.status}); there is nothing to resume.")
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
    schema = task.schema or was.schema
    return project, Task(started.task, was.plan or "no", task.resume, material=was.material, schema=schema)


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
    name = await need_router().first_choice(project) if project.settings.is_routed else ""
    return await project.open_model(lambda event: None, name)


def _progress_of(past: Past) -> TaskProgress:
    """Read a task's progress from the log."""
    no, took_over = past.refusal, past.relayed
    refusal = Verdict(False, no.feedback, no.gate, no.ran, figures=no.figures) if no else None
    before = tuple(each for each in past.verdicts if each.when == "before")
    given_up = GivenUp(took_over.after, took_over.why) if took_over else None
    return TaskProgress(
        past.attempts,
        past.refusals,
        refusal,
        bool(before),
        before,
        past.edits_landed,
        given_up,
        linted=past.linted,
        late=past.late,
        plan=past.plan,
    )
