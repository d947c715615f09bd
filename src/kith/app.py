"""Where everything meets: the only file that knows every concrete class."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kith import __version__
from kith.core.errors import (
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_LIMIT,
    EXIT_NO_MODEL,
    EXIT_REJECTED,
    EXIT_TRY_LATER,
    KithError,
    NoModelError,
    UsageError,
)
from kith.core.events import Applied, Notice, RunEnded, RunStarted, Status
from kith.core.model import Model, Role
from kith.core.policy import TRIAL, UNCONFINED
from kith.core.run import Answerer, Limits, Run, Thread, new_id
from kith.core.workspace import ExecLimits, SizeLimits
from kith.edits import summarise
from kith.memory.log import Listener, Log, Session, Summary
from kith.memory.past import Past, fold
from kith.memory.receipt import describe_run
from kith.models.choose import Places, choose_model, servers_of
from kith.models.discover import Server
from kith.models.metered import Metered
from kith.models.retry import Retrying
from kith.settings import Settings, load_settings
from kith.tools import standard_tools
from kith.trees.local import LocalTree
from kith.trees.trials import open_tree
from kith.workflows.attempt import Earlier, Outcome, adopt_ready, attempt
from kith.workflows.chat import chat
from kith.workflows.direct import Direct, make_direct, parse_direct
from kith.workflows.judges import Checking, Judges, make_judges
from kith.workflows.opening import open_task
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
class App:
    """One project, with its settings, its tree and the log."""

    root: Path
    settings: Settings
    log: Log
    tree: LocalTree

    @classmethod
    def open(cls, root: Path, flags: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> "App":
        """Read the settings, open the log and the tree, and finish what a crash left half applied."""
        settings = load_settings(root, flags, environ)
        if root == settings.state or root in settings.state.parents:
            raise UsageError(f"{root} holds kith's own state; go to a project's folder.")
        try:
            log = Log(settings.state / "log.sqlite3")
        except OSError as error:
            raise KithError(f"{settings.state} cannot be written: {error.strerror}.") from error
        limits = SizeLimits(settings.max_file_bytes, settings.max_change_bytes)
        tree = open_tree(root, settings.state, settings.cache, sandbox=settings.sandbox, limits=limits)
        return cls(root, settings, log, tree)

    async def run(self, task: Task, answerer: Answerer, listeners: Sequence[Listener] = ()) -> Result:
        """Do one task in a session of its own, or go on with an unfinished one."""
        id = self.log.find(task.resume) if task.resume else new_id()
        with Session(self.log, id) as session:
            session.listeners += listeners
            return await self.run_in(session, task, answerer)

    async def run_in(
        self, session: Session, task: Task, answerer: Answerer, model: Model | None = None
    ) -> Result:
        """Do one task in an open session; errors that a person can act on become its end.

        `model` is one that is open already (a conversation keeps its own); otherwise it is chosen now.
        """
        limits = Limits(
            self.settings.max_steps, self.settings.tries, ExecLimits(self.settings.command_timeout)
        )
        run = Run(session.emit, answerer, self.tree, limits)
        past = fold(record.event for record in session.events())
        await self._recover(run)
        try:
            code = await self._run(run, session, task, past, model)
        except asyncio.CancelledError:
            run.emit(RunEnded("interrupted", f"Interrupted. Go on with: kith run --resume {session.id}"))
            raise
        except KithError as error:
            unavailable = error.code in (EXIT_NO_MODEL, EXIT_TRY_LATER)
            limit: Status = "limit" if error.code == EXIT_LIMIT else "failed"
            run.emit(RunEnded("unavailable" if unavailable else limit, str(error)))
            code = error.code
        report = describe_run(session.id, fold(record.event for record in session.events()))
        return Result(code, report)

    async def _run(self, run: Run, session: Session, task: Task, past: Past, model: Model | None) -> int:
        if task.resume:
            self._check_resumable(session.id, past)
        direct = parse_direct(task.words) if not task.resume else None
        if direct and not self.settings.read_only:
            self._start(run, task, "")
            outcome = await self._adopt_direct(run, direct)
        else:
            outcome = await self._ask_model(run, session, task, past, model)
        run.emit(RunEnded(outcome.status, outcome.text))
        return STATUS_CODES[outcome.status]

    async def _recover(self, run: Run) -> None:
        """Finish, or take back, what a crash left half applied."""
        for each in await self.tree.recover():
            run.emit(
                Notice(f"Change {each.change_id} had been cut short by a crash: {each.outcome}.", "warning")
            )

    def _start(self, run: Run, task: Task, model: str) -> None:
        run.emit(RunStarted(task.words, str(self.root), model, __version__, {"plan": task.plan}))

    def _check_resumable(self, id: str, past: Past) -> None:
        started = past.started
        if started is None:
            raise UsageError(f"Session {id} holds no task.")
        if started.root != str(self.root):
            raise UsageError(f"Session {id} belongs to {started.root}; use -C.")
        if past.ended and past.ended.status in ("done", "rejected"):
            raise UsageError(f"Session {id} is over ({past.ended.status}); there is nothing to resume.")

    async def _adopt_direct(self, run: Run, direct: Direct) -> Outcome:
        changes = await make_direct(direct, run)
        return await adopt_ready(run, changes, self._judges(run), "Done, without a model.")

    async def _ask_model(
        self, run: Run, session: Session, task: Task, past: Past, model: Model | None
    ) -> Outcome:
        resumed = past.started if task.resume else None
        if resumed and past.applied:
            return Outcome("done", "The change had been applied already.")
        words = resumed.task if resumed else task.words
        plan = "yes" if resumed and resumed.options.get("plan", "no") != "no" else task.plan
        earlier = _what_was_done(past) if resumed and past.task_said else None
        # Git looks at the tree while the model's client is loaded and its server asked.
        opening = asyncio.ensure_future(self._open_task(run, words, past, earlier))
        try:
            model = model or await self._find_model(run, task, started=resumed is not None)
            if resumed:
                run.emit(Notice(f"Going on with session {session.id}."))
            else:
                self._start(run, task, model.name)
            thread, role = Thread(THREAD, past.threads.get(THREAD, ())), self._role(model, past)
            if self.settings.read_only:
                return await chat(run, role, thread, None if earlier else await opening)
            return await attempt(
                run,
                role,
                thread,
                await opening,
                self._judges(run),
                name=session.id,
                plan=plan,
                earlier=earlier,
            )
        finally:
            opening.cancel()

    async def _find_model(self, run: Run, task: Task, started: bool) -> Model:
        """The model to ask; without one, the task is logged all the same, with what to do about it."""
        try:
            return await self.open_model()
        except NoModelError as error:
            if not started:
                self._start(run, task, "")
            raise error if self.settings.model else NoModelError(self.explain_no_model()) from error

    async def _open_task(self, run: Run, words: str, past: Past, earlier: Earlier | None) -> str:
        """The task as the model gets it; "" when its thread holds it already."""
        if earlier is not None:
            return ""
        if not past.threads:
            return await open_task(run, words, self.settings.window // 6)
        not_applied = past.ended is not None and past.ended.status in ("rejected", "failed")
        return f"{NOT_APPLIED}\n\n{words}" if not_applied else words

    def _role(self, model: Model, past: Past) -> Role:
        policy = TRIAL if self.tree.confined else UNCONFINED
        return make_worker(model, standard_tools(past.todo), self.settings.sampling, policy)

    # --- models ------------------------------------------------------------------------------

    def places(self) -> Places:
        """Where models may be asked, from the settings."""
        chosen = self.settings
        keys = {name: os.environ.get(each.key_env, "") for name, each in chosen.endpoints.items()}
        return Places(
            named={name: (each.kind, each.url, keys[name]) for name, each in chosen.endpoints.items()},
            ollama_host=chosen.ollama_host,
            openai_base_url=chosen.openai_base_url,
            openai_key=chosen.openai_api_key,
            offline=chosen.offline,
            window=chosen.window,
            think=chosen.think,
            stall_s=chosen.stall,
        )

    async def open_model(self) -> Model:
        """The chosen model, retried and measured. Raises NoModelError."""
        return Metered(Retrying(await choose_model(self.settings.model, self.places())))

    async def servers(self) -> tuple[Server, ...]:
        """The model servers that answer."""
        return await servers_of(self.places())

    def explain_no_model(self) -> str:
        """The normal first run: what was looked for and where, what this machine carries, how to get one."""
        from kith.models.advice import advise

        return advise(self.places())

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

            name = await commit_paths(self.root, paths, message)
            run.emit(Notice(f"Committed as {name}."))

        return make_judges(run, checking, commit)

    # --- what was done -----------------------------------------------------------------------

    def sessions(self, everywhere: bool = False) -> list[Summary]:
        """The sessions of this folder, or of all, newest first."""
        return self.log.sessions(None if everywhere else self.root)

    async def undo(self, id: str = "") -> Applied:
        """Take a change back: by its id, its session's id, or the last one. Raises KithError, UsageError."""
        await self.tree.recover()
        target = self._find_applied(id)
        with Session(self.log, new_id()) as session:
            session.emit(RunStarted(f"undo {target.change_id}", str(self.root), "", __version__))
            change_id, changes = await self.tree.undo(target.change_id)
            undone = Applied(change_id, summarise(changes), undoes=target.change_id)
            session.emit(undone)
            session.emit(RunEnded("done", f"Took {target.change_id} back."))
        return undone

    def _find_applied(self, id: str) -> Applied:
        """The change that is meant. Undoing an undo (by its id) brings the change back."""
        applied = self.log.applied(str(self.root))
        undone = {each.undoes for _, each in applied if each.undoes}
        if not id:
            open_ones = [each for _, each in applied if not each.undoes and each.change_id not in undone]
            if not open_ones:
                raise UsageError(f"There is nothing to undo in {self.root}.")
            return open_ones[-1]
        matches = [
            each for session, each in applied if each.change_id.startswith(id) or session.startswith(id)
        ]
        if len(matches) != 1:
            several = f"Several changes begin with {id!r}; give more of the id."
            raise UsageError(several if matches else f"No change {id!r} was applied in {self.root}.")
        if matches[0].change_id in undone:
            raise UsageError(f"{matches[0].change_id} is undone already.")
        return matches[0]


def _what_was_done(past: Past) -> Earlier:
    return Earlier(
        past.tries_used,
        past.plan is not None,
        any(each.when == "before" for each in past.verdicts),
        past.edits_landed,
    )
