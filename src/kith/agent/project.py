"""One project: its settings, its tree, the log, and what every command does with them."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kith import __version__
from kith.agent.attempt import Outcome
from kith.agent.checks import KeptResults
from kith.agent.failed_runs import end_of
from kith.agent.judges import Checking, Judges, find_project_toolchains, make_judges, no_findings
from kith.agent.known_secrets import keys_of, make_redactor
from kith.agent.lint_notes import find_lint_notes
from kith.agent.models import places_of, sources_of
from kith.agent.steering import hearing, shared, until_stopped
from kith.context.budget import output_room
from kith.context.redact import Redactor
from kith.core.errors import (
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_HELD_BACK,
    EXIT_LIMIT,
    EXIT_REJECTED,
    EXIT_TRY_LATER,
    HalfDoneError,
    KithError,
    RevertedError,
    TreeError,
    UnrecordedError,
    UsageError,
)
from kith.core.events import Applied, Carded, Notice, Options, RunEnded, RunStarted, Status
from kith.core.evidence import Standard
from kith.core.model import Emit, Tool
from kith.core.run import Answerer, Limits, Run, new_id
from kith.core.trial_names import trial_name
from kith.core.values import Changes, Usage
from kith.core.workspace import ExecLimits, SizeLimits
from kith.edits import summarise
from kith.memory.applied import find_applied, short_id
from kith.memory.inbox import Inbox
from kith.memory.listing import Summary
from kith.memory.log import LOG_FILE, Log
from kith.memory.queries import paid_today
from kith.memory.receipt import describe_run
from kith.memory.session import Listener, Session, telling
from kith.models.choose import choose_provider
from kith.models.forecasts import Foresee
from kith.models.prices import load_prices
from kith.models.providers.wire import is_loopback
from kith.models.stack import Opened as Opened
from kith.models.stack import look
from kith.models.wrappers.retry import RetryLimits
from kith.settings import Brought, Settings, load_settings
from kith.settings.features import all_parts, find_part, need_part
from kith.trees.environment import name_environment
from kith.trees.git import commit_paths
from kith.trees.journal import GoneError, Recovered
from kith.trees.local import LocalTree, open_tree

# Tools from outside: what programs that are no part of kith offer a model, for a task or a conversation.


class OutsideTools(Protocol):
    """The servers of tools that these settings name, connected until they are closed."""

    chosen: Settings

    def begin(self) -> None:
        """Connect to all of them at once; the first caller starts that too."""

    async def served(self) -> object:
        """Wait until it is known what each of them offers."""

    async def connect(self, window: int, emit: Emit) -> None:
        """Wait likewise; tell once what is amiss, and what it costs a model with this window."""

    def tools(self, window: int) -> tuple[Tool, ...]:
        """The tools for a model with this window (0: unknown), always the same; none before `connect`."""
        ...

    async def aclose(self) -> None:
        """Let all of them end."""


OpenTools = Callable[[Settings, Path], OutsideTools]  # for the folder that is worked in


# Makes what hears all events of a session; None where nothing does. Each feature's has a type of its own.
MakeListener = Callable[["Project", str], Listener | None]

# One project: its settings, its tree, the log, and what every command does with them.


def ignored_words(brought: Brought) -> str:
    """ "" where there are none, where they count, or where the person has said already that they do not."""
    match brought.standing:
        case "new":
            return (
                f"The configuration in {brought.names} is ignored until you trust it. Review it: kith trust"
            )
        case "changed":
            return (
                f"The configuration in {brought.names} has changed since you trusted it, so kith ignores it. "
                "Review it: kith trust"
            )
        case "unfit":
            return f"The configuration in {brought.names} is ignored: {brought.fault}"
        case _:
            return ""


UNCONFINED: Final = (
    "No sandbox on this machine. kith asks before every command that can change something, except for checks "
    "that you name. Details: kith doctor"
)
IN_PLACE: Final = "kith works directly on these files: there is no trial, no diff and no undo."
STATUS_CODES: Mapping[Status, int] = {
    "done": EXIT_DONE,
    "failed": EXIT_FAILED,
    "rejected": EXIT_REJECTED,
    "held": EXIT_HELD_BACK,
    "limit": EXIT_LIMIT,
    "unavailable": EXIT_TRY_LATER,
}


class Result(Struct, frozen=True):
    """The result of a run: the exit code, and the object that `--output-format json` prints."""

    code: int
    report: dict[str, Any]


def tree_at(root: Path, chosen: Settings) -> LocalTree:
    """The files of a folder, with the sandbox, limits, hosts and variables that the person chose."""
    return open_tree(
        root,
        chosen.state,
        chosen.cache,
        sandbox=chosen.sandbox,
        limits=SizeLimits(chosen.max_file_bytes, chosen.max_change_bytes),
        hosts=chosen.reachable,
        pass_env=chosen.pass_env,
        config=chosen.config,
    )


class Project(Struct, frozen=True):
    """One project, with its settings, its tree and the log, and the servers of tools that are open for it."""

    root: Path
    settings: Settings
    log: Log
    tree: LocalTree
    servers: OutsideTools | None = None

    @classmethod
    def open(cls, root: Path, flags: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> "Project":
        """Read the settings, open the log and the tree."""
        settings = load_settings(root, flags, environ)
        state = settings.state.resolve()
        if root == state or root in state.parents:
            raise UsageError(f"{root} holds kith's own state; go to a project's folder.")
        log = Log(settings.state / LOG_FILE)
        return cls(root, settings, log, tree_at(root, settings))

    @property
    def in_place(self) -> bool:
        """True if the files belong to a container that is thrown away, and are worked on directly."""
        return self.tree.in_place

    def check_writable(self) -> None:
        """Raises UsageError where the person, or the project, lets nothing be changed."""
        if self.settings.read_only:
            raise UsageError("Nothing may be written here (read_only).")

    def may_send(self, key: str, url: str) -> bool:
        """True if a feature may send to the address that the setting `key` holds. Raises UsageError.

        Offline it may only where that is on this machine; without an address nowhere.
        """
        if url and not url.startswith(("http://", "https://")):
            raise UsageError(f"{key}: {url!r} is no http or https address.")
        return bool(url) and (not self.settings.offline or is_loopback(url))

    # --- sessions ----------------------------------------------------------------------------

    async def perform(
        self,
        words: str,
        kind: str,
        do: Callable[[Run], Awaitable[Outcome]],
        answerer: Answerer,
        listeners: Sequence[Listener] = (),
        id: str = "",
    ) -> Result:
        """Do something in a session of its own (called `id` if given), from its first event to its last.

        `words` say what was wanted; `kind` is the command, by which the log tells a review from a task.
        """
        with self.session(id) as session:
            session.listeners += listeners
            run = self.begin(session, answerer)
            run.emit(self.started(words, Options(kind)))
            await self.tell_state(run)
            run = replace(run, trial_name=trial_name(session.id, session.past().tasks))
            code = await self.to_the_end(session, run, do(run))
            return Result(code, self.report(session.id))

    def session(self, id: str = "", changes: Changes = ()) -> Session:
        """A session, new unless its `id` is given, into which no secret gets, nor one of these `changes`."""
        session = Session(self.log, id or new_id())
        session.keep_back(make_redactor(self.root, self.settings, changes))
        return session

    def report(self, session: str) -> dict[str, Any]:
        """Report a session and its waiting change; where money was paid, also the rest of the day's limit."""
        found, limit = describe_run(session, self.log.past(session)), self.settings.max_day_usd
        found["waiting"] = self.waiting_in(session)
        if found["usd"] and limit is not None:
            found["usd_left_today"] = round(max(0.0, limit - paid_today(self.log)), 6)
        return found

    def waiting_in(self, session: str) -> str | None:
        """The name of the trial in which the newest change of a session waits to be applied."""
        names = [each.name for each in self.tree.waiting() if each.session == session]
        return names[-1] if names else None

    def begin(self, session: Session, answerer: Answerer) -> Run:
        """The handle of a run on the person's own tree, logged in `session`; any screen may answer."""
        Inbox(session.log, session.id).forget_stops()
        keys = Redactor(keys_of(self.settings), forms=False)
        session.keep_back(keys if self.in_place else make_redactor(self.root, self.settings))
        self._add_listeners(session)
        limits = Limits(self.settings.max_steps, self.settings.tries, self.exec_limits(0))
        return Run(session.emit, shared(session, answerer), self.tree, limits, hear=hearing(session))

    def _add_listeners(self, session: Session) -> None:
        """Let features hear the session, each once."""
        there = {type(each) for each in session.listeners}
        makers: Iterable[MakeListener] = all_parts(lambda feature: feature.listener)
        made = (make(self, session.id) for make in makers)
        session.listeners += [each for each in made if each and type(each) not in there]

    def started(self, words: str, options: Options) -> RunStarted:
        """The first event of a session."""
        return RunStarted(words, str(self.root), self.settings.model, __version__, options)

    async def to_the_end(self, session: Session, run: Run, work: Awaitable[Outcome], again: str = "") -> int:
        """Whatever happens, the log says how it ended; returns the exit code.

        `again` is the command that resumes an interrupted task.
        """
        try:
            outcome = await until_stopped(session, work)
        except (UnrecordedError, HalfDoneError) as error:
            with suppress(KithError):  # it may be the same that refuses
                run.emit(end_of(error))
            raise
        except KithError as error:
            run.emit(end_of(error))
            return error.code
        except (asyncio.CancelledError, KeyboardInterrupt, OSError):  # OSError: nobody reads the output
            run.emit(RunEnded("interrupted", f"Interrupted. To resume: {again}" if again else "Interrupted."))
            raise
        except Exception as error:
            run.emit(RunEnded("failed", f"A bug in kith: {error!r}"))
            raise
        run.emit(RunEnded(outcome.status, outcome.text, answer=outcome.answer))
        return STATUS_CODES[outcome.status]

    async def tell_state(self, run: Run) -> None:
        """Say what a person should know of the tree before work begins in it."""
        if self.in_place:
            run.emit(Notice(IN_PLACE, "warning"))
        elif not (self.root / ".git").exists():
            run.emit(Notice("This is not a git repository; kith undo still works here."))
        if mended := self.log.mended:
            run.emit(Notice(mended, "warning"))
            self.log.mended = ""
        if await self.recover(None):
            text = "kith finished or reverted a change that had been interrupted; see kith sessions."
            run.emit(Notice(text, "warning"))
        if aside := self.tree.trials_aside():
            run.emit(Notice(f"Old trials cannot be removed; delete them: {aside[0].parent}", "warning"))
        if words := ignored_words(self.settings.brought):
            run.emit(Notice(words))
        if not self.tree.confined:
            run.emit(Notice(UNCONFINED, "warning"))
            if any(each.brought for each in self.settings.hooks):
                run.emit(Notice("The hooks of this project do not run without a sandbox.", "warning"))

    def exec_limits(self, window: int) -> ExecLimits:
        """Return the limits of one command; its output is cut to fit the window."""
        return ExecLimits(self.settings.command_timeout, output=output_room(window, 30_000))

    def sessions(self, everywhere: bool = False) -> list[Summary]:
        """The sessions of this folder, or of all, newest first."""
        return self.log.sessions(None if everywhere else self.root)

    # --- after a crash -----------------------------------------------------------------------

    async def recover(self, session: Session | None) -> tuple[Recovered, ...]:
        """Finish or roll back a change that a crash interrupted, and log what it had no time to log.

        `session` is the one that is being resumed; a change that nobody claims gets a session of its own.
        """
        recovered = await self.tree.recover()
        known = self.log.applied_ids()
        missing = [id for id in await self.tree.applied() if id not in known]
        if session is None and (missing or recovered):
            with self.session() as own:
                own.emit(RunStarted("(after a crash)", str(self.root), "", __version__, Options("recovery")))
                self._log_recovered(own, recovered, missing)
                own.emit(RunEnded("done", "Finished or reverted a change that had been interrupted."))
        elif session is not None:
            self._log_recovered(session, recovered, missing)
        named = {each.change_id for each in recovered}
        return (*recovered, *(Recovered(id, "finished") for id in missing if id not in named))

    def _log_recovered(
        self, session: Session, recovered: Sequence[Recovered], missing: Sequence[str]
    ) -> None:
        for each in recovered:
            text = f"A crash interrupted change {each.change_id}: {each.outcome}."
            if each.saved:
                text += f" What another program saved meanwhile is in {', '.join(map(str, each.saved))}."
            session.emit(Notice(text, "warning"))
        for id in missing:
            changes, undoes = self.tree.recall(id)
            session.emit(Applied(id, summarise(changes), undoes))

    # --- models ------------------------------------------------------------------------------

    async def open_model(self, emit: Emit, name: str = "") -> Opened:
        """The chosen model (or the one called `name`), found, loaded and looked at.

        Which one it is, is said unless the person named it. Raises NoModelError, ModelError.
        """
        chosen = self.settings
        wanted = name or chosen.model
        provider = await choose_provider(wanted, places_of(chosen), sources_of(chosen), emit)
        retry = RetryLimits(chosen.retries, chosen.retry_seconds)
        foresee: Foresee | None = find_part(lambda feature: feature.foresee)
        opened = await look(provider, self.log.card, chosen.window, emit, self._price, retry, foresee)
        if not wanted:
            window = f", window {opened.window:,}" if opened.window else ""
            emit(Notice(f"Asking {opened.facts.name}{window}.", topic="model"))
        return replace(opened, asked_as=wanted)

    def _price(self, model: str, usage: Usage) -> float | None:
        """Return the cost of a call; the price table is read on first use."""
        return load_prices(self.settings.config).cost(model, usage)

    def learn(self, run: Run, id: str, opened: Opened) -> None:
        """Put the findings of this session's calls on the model's card."""
        own = [call for call in self.log.past(id).calls if call.model == opened.facts.name]
        facts = opened.learned(own) if opened.facts.digest else {}
        if facts:
            run.emit(Carded(opened.facts.digest, opened.facts.name, facts))

    # --- judges ------------------------------------------------------------------------------

    async def is_tested(self, run: Run) -> bool:
        """True if commands judge a change: the person named one, or the project has its own."""
        named = self.settings.check
        return named != ("none",) if named else bool(await find_project_toolchains(run))

    def judges(self, run: Run, request: str = "") -> Judges:
        """Return the judges of a change of this project; `request` is the person's request.

        Raises UsageError where linters must judge and no feature knows any.
        """
        chosen = self.settings
        if chosen.lint == "require":
            need_part(lambda feature: feature.linters, 'A configuration with lint = "require"')
        named = tuple(command for command in chosen.check if command != "none")
        origin = chosen.origin.get("check", "")
        checking = Checking(
            named if chosen.check else None,
            not origin.startswith(str(self.root)),
            ExecLimits(seconds=chosen.check_timeout),
            SizeLimits(chosen.max_file_bytes, chosen.max_change_bytes),
            chosen.allow_file,
            goal=origin == "flag",
            no_worse=chosen.no_worse,
            standard=Standard(chosen.require, chosen.unproven),
            request=request,
            kept=KeptResults(chosen.cache, chosen.state),
            digests=self.tree.digests,
            environment=cache(lambda folder: name_environment(self.root, folder)),
            least_s=chosen.check_timeout if "check_timeout" in chosen.origin else 0.0,
            lint=chosen.lint == "require",
        )

        async def commit(paths: Sequence[str], message: str) -> str:
            try:
                return await commit_paths(self.root, paths, message)
            except TreeError as error:  # the change itself is applied
                run.emit(Notice(f"Applied, but not committed: {error}", "warning"))
                return ""

        lint = partial(find_lint_notes, run) if chosen.lint == "notes" else no_findings
        return replace(make_judges(run, checking, commit), review=chosen.review, lint=lint)

    # --- taking back -------------------------------------------------------------------------

    async def undo(self, id: str = "") -> Applied:
        """Take a change back: by its id, its session's id, or the last one. Raises KithError, UsageError.

        Raises RevertedError where that was one that was half done, and recovery has reverted it.
        """
        for each in await self.recover(None):
            if each.begun and each.outcome == "taken back" and (not id or each.change_id.endswith(id)):
                raise RevertedError(each.change_id)
        target = find_applied(self.log.applied(str(self.root)), id, self.log.gone())
        with self.session() as session:  # before anything is changed: it may be refused
            try:
                change_id, changes = await self.tree.undo(target.change_id)
            except GoneError:
                raise self._without(session, target.change_id) from None
            undone = Applied(change_id, summarise(changes), undoes=target.change_id)
            session.keep_back(make_redactor(self.root, self.settings, changes))
            words, options = f"undo {short_id(target.change_id)}", Options("undo")
            with telling(undone):
                session.emit(RunStarted(words, str(self.root), "", __version__, options))
            session.emit(undone)
            session.emit(RunEnded("done", f"Undid {short_id(target.change_id)}."))
        return undone

    def _without(self, session: Session, change_id: str) -> GoneError:
        """Log that a change is not in the files any more: the next undo passes it over."""
        name = short_id(change_id)
        text = f"Change {name} is no longer in your files. The next undo reverts the one before it."
        options = Options("undo", gone=change_id)
        session.emit(RunStarted(f"undo {name}", str(self.root), "", __version__, options))
        session.emit(RunEnded("failed", text))
        return GoneError(text)


# A project with its servers of tools: for one task, or held open from task to task.


@asynccontextmanager
async def with_servers(project: Project) -> AsyncIterator[Project]:
    """The project with the servers that the person named, which end with the block.

    Where nothing outside may be asked anyway, none is started; those that are open already stay.
    """
    servers = None if project.servers or project.settings.read_only else _open(project)
    if servers is None:
        yield project
        return
    async with aclosing(servers):
        yield replace(project, servers=servers)


async def hold_servers(project: Project) -> Project:
    """The project with the servers that its settings name, open until they are closed by `aclose`.

    Those that are open stay, unless the settings name others now.
    """
    held = project.servers
    if held and held.chosen.mcp == project.settings.mcp:
        return project
    if held:
        await held.aclose()
    return replace(project, servers=_open(project))


def _open(project: Project) -> OutsideTools | None:
    """None where the person named no servers, or no feature is on that connects to them."""
    if not project.settings.mcp:
        return None
    connect: OpenTools | None = find_part(lambda each: each.outside_tools)
    servers = connect(project.settings, project.root) if connect else None
    if servers:
        servers.begin()
    return servers
