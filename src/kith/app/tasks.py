"""One project and what is done in it: tasks, sessions, undo."""

import asyncio
import os
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from kith import __version__
from kith.app.models import end_of, engine_of, places_of
from kith.context.rooms import ASSUMED_WINDOW, opening_room, output_room
from kith.core.errors import (
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_LIMIT,
    EXIT_REJECTED,
    EXIT_TRY_LATER,
    KithError,
    TreeError,
    UsageError,
)
from kith.core.events import Applied, Carded, Notice, RunEnded, RunStarted, Status
from kith.core.model import Emit, Prompt, Role
from kith.core.run import Answerer, Limits, Run, Thread, new_id
from kith.core.values import Answer, Question, Verdict, say
from kith.core.workspace import ExecLimits, SizeLimits
from kith.edits import summarise
from kith.memory.applied import find_applied, holds, short_id
from kith.memory.log import LOG_FILE, Listener, Log, Session, Summary
from kith.memory.past import Past, fold
from kith.memory.receipt import describe_run
from kith.models.choose import choose_provider
from kith.models.stack import Opened as Opened
from kith.models.stack import look
from kith.models.wrappers.limited import Budget
from kith.settings import Settings, load_settings
from kith.tools import ReadLimits, standard_tools
from kith.tools.repeats import watch_repeats
from kith.trees.journal import Recovered
from kith.trees.local import LocalTree
from kith.trees.trials import open_tree
from kith.workflows.attempt import Outcome, Progress, adopt_ready, attempt
from kith.workflows.chat import chat
from kith.workflows.direct import make_direct, parse_direct
from kith.workflows.explain import Cost, explain
from kith.workflows.judges import Checking, Judges, make_judges
from kith.workflows.opening import open_task, opening_parts
from kith.workflows.roles import make_worker

STATUS_CODES: Mapping[Status, int] = {
    "done": EXIT_DONE,
    "failed": EXIT_FAILED,
    "rejected": EXIT_REJECTED,
    "limit": EXIT_LIMIT,
    "unavailable": EXIT_TRY_LATER,
}
THREAD = "task"
NOT_APPLIED = "Your last change was not applied: the files are as they were before it."
PARTLY = "Of your last change only a part was kept, in"
TAKEN_BACK = "Your last change was taken back: the files are as they were before it."


@dataclass(frozen=True, slots=True)
class Task:
    """What a person wants: words, whether to plan first, or a session to go on with."""

    words: str
    plan: Literal["no", "yes", "show"] = "no"
    resume: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """How it ended: the exit code, and the object that `--output-format json` prints."""

    code: int
    report: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Explained:
    """What the first request of a task would cost, in tokens; `exact` when the server counted them."""

    model: str
    window: int
    exact: bool
    costs: tuple[Cost, ...]


@dataclass(frozen=True, slots=True)
class App:
    """One project, with its settings, its tree and the log."""

    root: Path
    settings: Settings
    log: Log
    tree: LocalTree

    @classmethod
    def open(cls, root: Path, flags: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> "App":
        """Read the settings, open the log and the tree."""
        settings = load_settings(root, flags, environ)
        if root == settings.state or root in settings.state.parents:
            raise UsageError(f"{root} holds kith's own state; go to a project's folder.")
        log = Log(settings.state / LOG_FILE)
        limits = SizeLimits(settings.max_file_bytes, settings.max_change_bytes)
        tree = open_tree(root, settings.state, settings.cache, sandbox=settings.sandbox, limits=limits)
        return cls(root, settings, log, tree)

    async def run(
        self, task: Task, answerer: Answerer, listeners: Sequence[Listener] = (), id: str = ""
    ) -> Result:
        """Do one task in a session of its own (called `id` if given), or go on with an unfinished one."""
        id = self.log.find(task.resume) if task.resume else id or new_id()
        with Session(self.log, id) as session:
            if task.resume:
                app, task = self._as_it_was(session, task)
            else:
                app = self
            session.listeners += listeners
            return await app.run_in(session, task, answerer)

    async def run_in(
        self, session: Session, task: Task, answerer: Answerer, opened: Opened | None = None
    ) -> Result:
        """Do one task in an open session; errors that a person can act on become its end.

        `opened` is a model that is open already (a conversation keeps its own); otherwise one is chosen now.
        """
        limits = Limits(self.settings.max_steps, self.settings.tries, self._limits(0))
        run = Run(session.emit, answerer, self.tree, limits)
        if task.resume:
            await self._recover(session)
        else:
            options = self._options(task)
            run.emit(RunStarted(task.words, str(self.root), self.settings.model, __version__, options))
        past = session.past()
        code = await self._run_to_its_end(run, session.id, self._do(run, session.id, task, past, opened))
        return Result(code, describe_run(session.id, session.past()))

    async def _run_to_its_end(self, run: Run, id: str, work: Coroutine[Any, Any, Outcome]) -> int:
        """Whatever happens, the log says how it ended."""
        try:
            outcome = await work
        except KithError as error:
            run.emit(end_of(error))
            return error.code
        except (asyncio.CancelledError, KeyboardInterrupt, OSError):  # OSError: nobody reads the output
            run.emit(RunEnded("interrupted", f"Interrupted. To go on: kith run --resume {id}"))
            raise
        except Exception as error:
            run.emit(RunEnded("failed", f"A bug in kith: {error!r}"))
            raise
        run.emit(RunEnded(outcome.status, outcome.text))
        return STATUS_CODES[outcome.status]

    async def _do(self, run: Run, id: str, task: Task, past: Past, opened: Opened | None) -> Outcome:
        if past.applied:
            there = holds(self.log.applied(str(self.root)), past.applied[-1].change_id)
            since = "" if there else ", and was taken back since"
            return Outcome("done", f"The change had been applied already{since}.")
        if not task.resume:
            if not (self.root / ".git").exists():
                run.emit(Notice("This is not a git repository; kith undo works here all the same."))
            if await self._recover(None):
                run.emit(Notice("What a crash had cut short is finished; kith sessions shows it.", "warning"))
        direct = parse_direct(task.words)
        if direct and not self.settings.read_only:
            changes = await make_direct(direct, run)
            return await adopt_ready(run, changes, self._judges(run), "Done, without a model.")
        return await self._ask_model(run, id, task, past, opened)

    async def _ask_model(self, run: Run, id: str, task: Task, past: Past, held: Opened | None) -> Outcome:
        earlier = _progress_of(past) if task.resume and past.task_said else None
        # Git looks at the tree while the model's client is loaded and its server asked.
        room, opened = (held.window if held else 0) or ASSUMED_WINDOW, held
        opening = asyncio.ensure_future(self._open_task(run, task, past, room)) if earlier is None else None
        try:
            opened = opened or await self.open_model(run.emit)
            if task.resume:
                run.emit(Notice(f"Going on with session {id}."))
            run = replace(run, limits=replace(run.limits, exec=self._limits(opened.window)))
            role = self._role(opened, past)
            thread = Thread(THREAD, past.threads.get(THREAD, ()))
            words = await opening if opening else ""
            if opening and 0 < opened.window < room:
                words = await self._open_task(run, task, past, opened.window)
            if self.settings.read_only:
                return await chat(run, role, thread, words or None)
            # Each task of a conversation has a trial of its own, found again when it is resumed.
            name, judges = f"{id}-{past.tasks}", self._judges(run)
            return await attempt(run, role, thread, words, judges, name=name, plan=task.plan, earlier=earlier)
        finally:
            if opened:
                self._learn(run, id, opened)
            if opened and not held:
                await opened.aclose()
            if opening:
                opening.cancel()
                await asyncio.gather(opening, return_exceptions=True)

    def _learn(self, run: Run, id: str, opened: Opened) -> None:
        """Put on the model's card what this task's calls tell of it."""
        task = fold(record.event for record in self.log.events(id))
        facts = opened.learned(task.calls) if opened.facts.digest else {}
        if facts:
            run.emit(Carded(opened.facts.digest, opened.facts.name, facts))

    async def _open_task(self, run: Run, task: Task, past: Past, window: int) -> str:
        """The task as the model gets it, after what became of its last change."""
        if not past.threads:
            return await open_task(run, task.words, opening_room(window))
        news = self._news_of(past.last) if past.last else ""
        return f"{news}\n\n{task.words}" if news else task.words

    def _news_of(self, last: Past) -> str:
        """What the model cannot know of its last change; "" when it holds as it was made."""
        if not last.applied:
            return NOT_APPLIED if last.touched else ""
        if not holds(self.log.applied(str(self.root)), last.applied[-1].change_id):
            return TAKEN_BACK
        kept = last.applied[-1].files
        if last.proposed and kept != last.proposed:
            return f"{PARTLY} {', '.join(file.path for file in kept)}. Read before you edit them again."
        return ""

    def _role(self, opened: Opened, past: Past) -> Role:
        chosen = self.settings
        tools = standard_tools(past.todo, limits=ReadLimits(bytes=output_room(opened.window, 24_000)))
        budget = Budget(chosen.max_task_tokens, chosen.max_task_seconds)
        model = opened.wrap(budget, past.compacted)
        sampling = replace(chosen.sampling, think=chosen.think, think_tokens=chosen.think_tokens)
        confined, window = self.tree.confined, opened.window
        role = make_worker(model, watch_repeats(tools), sampling, confined=confined, window=window)
        if (read := past.read) and read.model == opened.facts.name:
            said = Prompt(role.system, tuple(past.threads[read.thread][: read.messages]), role.tools)
            opened.recall(said, past.compacted[: read.compactions], read.tokens)
        return role

    def _limits(self, window: int) -> ExecLimits:
        """What one command may take; its output is cut to what the window carries."""
        return ExecLimits(self.settings.command_timeout, output=output_room(window, 30_000))

    # --- going on after a crash --------------------------------------------------------------

    def _options(self, task: Task) -> dict[str, str]:
        """What a resumed task must not forget."""
        chosen = self.settings
        read_only = "yes" if chosen.read_only else "no"
        return {"plan": task.plan, "read_only": read_only, "check": "\n".join(chosen.check)}

    def _as_it_was(self, session: Session, task: Task) -> tuple["App", Task]:
        """The app and the task as they were when the session was cut short; flags given now win."""
        past = session.past()
        started = past.started
        if started is None:
            raise UsageError(f"Session {session.id} holds no task.")
        if started.root != str(self.root):
            raise UsageError(f"Session {session.id} belongs to {started.root}; use -C.")
        if past.ended and past.ended.status in ("done", "rejected", "failed"):
            raise UsageError(
                f"Session {session.id} is over ({past.ended.status}); there is nothing to resume."
            )
        was: dict[str, Any] = {
            "model": started.model,
            "read_only": started.options.get("read_only") == "yes",
            "check": tuple(filter(None, started.options.get("check", "").split("\n"))),
        }
        kept = {key: value for key, value in was.items() if self.settings.origin.get(key) != "flag" and value}
        plan = cast("Literal['no', 'yes', 'show']", started.options.get("plan", "no"))
        app = replace(self, settings=replace(self.settings, **kept))
        return app, Task(started.task, plan, task.resume)

    async def _recover(self, session: Session | None) -> bool:
        """Finish, or take back, what a crash left half applied, and log what it had no time to log.

        `session` is the one that is being resumed; a change that nobody claims gets a session of its own.
        True when there was anything to do.
        """
        recovered = await self.tree.recover()
        known = self.log.applied_ids()
        missing = [id for id in await self.tree.applied() if id not in known]
        if session is None and (missing or recovered):
            with Session(self.log, new_id()) as own:
                own.emit(RunStarted("(after a crash)", str(self.root), "", __version__))
                self._log_recovered(own, recovered, missing)
                own.emit(RunEnded("done", "What a crash had cut short is finished."))
        elif session is not None:
            self._log_recovered(session, recovered, missing)
        return bool(recovered or missing)

    def _log_recovered(
        self, session: Session, recovered: Sequence[Recovered], missing: Sequence[str]
    ) -> None:
        for each in recovered:
            text = f"Change {each.change_id} had been cut short by a crash: {each.outcome}."
            session.emit(Notice(text, "warning"))
        for id in missing:
            changes, undoes = self.tree.recall(id)
            session.emit(Applied(id, summarise(changes), undoes))

    # --- models ------------------------------------------------------------------------------

    async def open_model(self, emit: Emit) -> Opened:
        """The chosen model, found, loaded and looked at; which it is, is said unless the person named it.

        Raises NoModelError, ModelError.
        """
        chosen = self.settings
        provider = await choose_provider(chosen.model, places_of(chosen), engine_of(chosen), emit)
        opened = await look(provider, self.log.card, chosen.window, emit)
        if not chosen.model:
            window = f", window {opened.window:,}" if opened.window else ""
            emit(Notice(f"Asking {opened.facts.name}{window}."))
        return opened

    async def warm(self) -> None:
        """Let the server load the model and read what every request begins with, while a person still types.

        It may run in another thread: it opens the log, and a connection to the server, for itself. Raises
        KithError.
        """
        apart = replace(self, log=Log(self.log.path))
        async with aclosing(await apart.open_model(lambda event: None)) as opened:
            role = self._role(opened, Past())
            await opened.provider.warm(Prompt(role.system, (), role.tools, sampling=role.sampling))

    async def explain(self, task: str) -> Explained:
        """What the first request of a task would cost; it is not sent. Raises KithError."""
        async with aclosing(await self.open_model(lambda event: None)) as opened:
            run = Run(lambda event, path: None, _nobody, self.tree)
            parts = await opening_parts(run, task, opening_room(opened.window))
            role = self._role(opened, Past())
            exact = await opened.provider.count(Prompt(role.system, (say("hi"),))) is not None
            costs = await explain(role, parts, opened.count)
        return Explained(opened.facts.name, opened.window, exact, costs)

    # --- judges ------------------------------------------------------------------------------

    def _judges(self, run: Run) -> Judges:
        chosen = self.settings
        named = tuple(command for command in chosen.check if command != "none")
        from_project = chosen.origin.get("check", "").startswith(str(self.root))
        checking = Checking(
            named if chosen.check else None,
            not from_project,
            ExecLimits(seconds=chosen.check_timeout),
            SizeLimits(chosen.max_file_bytes, chosen.max_change_bytes),
        )

        async def commit(paths: Sequence[str], message: str) -> None:
            from kith.trees.git import commit_paths

            try:
                name = await commit_paths(self.root, paths, message)
                run.emit(Notice(f"Committed as {name}."))
            except TreeError as error:  # the change itself is applied
                run.emit(Notice(f"Applied, but not committed: {error}", "warning"))

        return make_judges(run, checking, commit)

    # --- what was done -----------------------------------------------------------------------

    def sessions(self, everywhere: bool = False) -> list[Summary]:
        """The sessions of this folder, or of all, newest first."""
        return self.log.sessions(None if everywhere else self.root)

    async def undo(self, id: str = "") -> Applied:
        """Take a change back: by its id, its session's id, or the last one. Raises KithError, UsageError."""
        await self._recover(None)
        target = find_applied(self.log.applied(str(self.root)), id)
        change_id, changes = await self.tree.undo(target.change_id)
        undone = Applied(change_id, summarise(changes), undoes=target.change_id)
        with Session(self.log, new_id()) as session:
            session.emit(RunStarted(f"undo {short_id(target.change_id)}", str(self.root), "", __version__))
            session.emit(undone)
            session.emit(RunEnded("done", f"Took {short_id(target.change_id)} back."))
        return undone


async def _nobody(question: Question) -> Answer:
    return Answer("no")


def _progress_of(past: Past) -> Progress:
    """How far the log says a task has come."""
    refusal = Verdict(False, past.refusal.feedback, past.refusal.gate) if past.refusal else None
    compared = any(each.when == "before" for each in past.verdicts)
    return Progress(past.attempts, past.refusals, refusal, compared, past.edits_landed)
