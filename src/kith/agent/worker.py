"""Run one session in a process of its own: it takes messages and does them one by one.

So a server that is restarted, or a page that is closed, costs nobody their work: it goes on here, writes the
log, and waits in the session's inbox for answers. Run as `python -m kith.agent.worker FOLDER SESSION`."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.index import look_nowhere
from kith.agent.known_secrets import make_redactor
from kith.agent.project import Project
from kith.agent.steering import nobody_here
from kith.agent.tasks import Task, run_task
from kith.agent.waiting_changes import apply_waiting, find_waiting
from kith.core.errors import BusyError, KithError, UsageError
from kith.core.event_loop import run_loop
from kith.core.events import Event, Notice, Options, RunEnded, RunStarted
from kith.core.locks import hold_now, let_go, sweep_locks
from kith.core.run import Answerer
from kith.core.trial_names import trials_of
from kith.memory.database import APPLY
from kith.memory.inbox import Inbox, Letter, can_resume, last_kind, was_cut_off
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Listener, Session
from kith.settings import Settings, find_folders
from kith.settings.features import find_part, need_part
from kith.tools import standard_tools

# Kinds of sessions besides tasks: how a worker process does one, and goes on with it.


Begin = Callable[[Project, Letter, Answerer, Sequence[Listener], str], Awaitable[object]]
Resume = Callable[[Project, str, Answerer, Sequence[Listener]], Awaitable[object]]


class SessionKind(Struct, frozen=True):
    """`begin` does what a message asks for in the session of this id; `resume` goes on where its log ends."""

    begin: Begin
    resume: Resume | None = None


def find_kind(name: str) -> SessionKind | None:
    """The kind called so, if a feature that is on has it."""
    found: SessionKind | None = find_part(lambda feature: feature.kinds.get(name))
    return found


def need_kind(name: str) -> SessionKind:
    """The kind that a message asks for. Raises UsageError."""
    found: SessionKind = need_part(lambda feature: feature.kinds.get(name), f"A session of the kind {name!r}")
    return found


# A process that works on one session for faces that only look: it takes letters, and does them one by one.


WORKERS = "workers"  # in the folder for state: what a worker had to say that is not in the log
_BUSY_S = 0.2
_FREE = 3


def start_worker(
    root: Path, state: Path, session: str, environ: Mapping[str, str] = os.environ
) -> subprocess.Popen[bytes]:
    """Start a process for the session's messages; a second one exits at once."""
    folder = state / WORKERS
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # -P: nothing in the project's folder may be taken for a module of Python's.
    command = [sys.executable, "-P", "-m", "kith.agent.worker", str(root), session]
    with (folder / f"{session}.log").open("ab") as said:
        return subprocess.Popen(
            command,
            cwd=root if root.is_dir() else None,  # where it is gone, the log will say so
            env=_anchored(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )


def _anchored(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables, with the places of Python's modules as they are meant here: not in the project's folder.

    An empty place, as in `PYTHONPATH=:/opt/tools`, is the current folder.
    """
    places = environ.get("PYTHONPATH", "")
    if not places:
        return dict(environ)
    whole = os.pathsep.join(str(Path(place).absolute()) for place in places.split(os.pathsep))
    return {**environ, "PYTHONPATH": whole}


def check_tool(name: str) -> None:
    """Raises UsageError for a name that is none of the tools that a model may be told to use first."""
    names = [tool.name for tool in standard_tools(look=look_nowhere)]
    if name not in names:
        raise UsageError(f"There is no tool {name!r}; there are: {', '.join(names)}.")


async def work(root: Path, session: str) -> None:
    """Handle the session's messages until there are no more; exits when another worker does it."""
    _, state, _ = find_folders()
    folder = state / WORKERS
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    sweep_locks(folder)
    log = Log(state / LOG_FILE)
    inbox = Inbox(log, session)
    while inbox.next_letter():  # one may come while the lock is let go, and its own worker has left already
        lock = hold_now(folder / f"{session}.lock")
        if lock is None:
            return
        try:
            while found := inbox.next_letter():
                await _do(_Delivery(log, root, session, *found))
        finally:
            said = folder / f"{session}.log"
            if said.exists() and not said.stat().st_size:
                said.unlink()
            let_go(lock)


class _Delivery(Struct, frozen=True):
    """A message to a session, and the place that handles it."""

    log: Log
    root: Path
    session: str
    number: int
    letter: Letter

    @property
    def inbox(self) -> Inbox:
        return Inbox(self.log, self.session)

    @property
    def resumes(self) -> bool:
        """True if it resumes the last task: messages for a task whose process died steer it."""
        if self.letter.resume or self.letter.kind != "run":
            return self.letter.resume
        return was_cut_off(self.log, self.session) and can_resume(self.log, self.session)

    def refuse(self, why: str) -> None:
        """Say in the log why there is no run."""
        with Session(self.log, self.session) as own:
            own.keep_back(make_redactor(self.root, Settings()))  # the person's own may be what is refused
            if self.letter.resume:
                own.emit(Notice(why, "warning"))
                return
            kind = APPLY if self.letter.kind == "apply" else self.letter.kind
            own.emit(RunStarted(self.letter.words, str(self.root), "", "", Options(kind)))
            own.emit(RunEnded("failed", why))


async def _do(job: _Delivery) -> None:
    """One task, however it ends: the log says how.

    Its message counts as heard once that is in the log: a process that is killed before loses nobody's words.
    """
    inbox, begun, left = job.inbox, False, False

    def hear(event: Event, path: tuple[str, ...]) -> None:
        nonlocal begun
        if not begun and (job.letter.resume or isinstance(event, RunStarted)):
            begun = True
            inbox.heard(job.number)

    try:
        left = not await _when_free(job, hear)
    except asyncio.CancelledError:
        pass  # stopped from another face: the log says so
    except KithError as error:  # refused before there was a run
        job.refuse(str(error))
    except Exception as error:
        if not begun:  # else the run has said it
            job.refuse(f"A bug in kith: {error!r}")
        raise
    finally:
        if not left:
            inbox.heard(job.number)


async def _when_free(job: _Delivery, listener: Listener) -> bool:
    """Do it once nobody else works on the session: a terminal may, or an editor.

    False where that was to resume the task before: messages that were not read then are the next task.
    """
    chosen = Project.open(job.root, job.letter.flags or {})
    free = 0  # looks at which nobody else worked on the session, and yet it was busy
    while True:
        try:
            return await _perform(replace(chosen, log=job.log), job, listener)
        except BusyError:
            free = 0 if job.log.is_open(job.session) else free + 1
            if free > _FREE:  # then it is something else that is busy
                raise
            await asyncio.sleep(_BUSY_S)
            if job.inbox.next_letter() != (job.number, job.letter):
                return True  # it was heard there


async def _perform(project: Project, job: _Delivery, listener: Listener) -> bool:
    session, letter = job.session, job.letter
    if job.resumes:
        await _go_on(project, session, listener)
        return letter.resume
    match letter.kind:
        case "run":
            first = f"\n\nUse the tool `{letter.tool}` first." if letter.tool else ""
            task = Task(f"{letter.words}{first}", letter.plan, history=letter.history, images=letter.images)
            await run_task(project, task, nobody_here, [listener], id=session)
        case "apply":
            waiting = await find_waiting(project, trials_of(session))
            await apply_waiting(project, waiting, nobody_here, [listener])
        case kind:
            await need_kind(kind).begin(project, letter, nobody_here, [listener], session)
    return True


async def _go_on(project: Project, session: str, listener: Listener) -> None:
    """Resume the last task from the end of its log."""
    kind = find_kind(last_kind(project.log, session))
    if kind and kind.resume:
        await kind.resume(project, session, nobody_here, [listener])
    else:
        await run_task(project, Task("", resume=session), nobody_here, [listener])


if __name__ == "__main__":
    run_loop(work(Path(sys.argv[1]), sys.argv[2]))
