"""A process that works on one session for faces that only look: it takes letters, and does them one by one.

So a server that is restarted, or a page that is closed, costs nobody their work: it goes on here, writes the
log, and waits in the session's inbox for answers. Run as `python -m kith.app.working FOLDER SESSION`.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kith.app.attending import nobody_here
from kith.app.project import Project
from kith.app.tasks import Task, run_task
from kith.core.errors import BusyError, KithError
from kith.core.events import Event, RunEnded, RunStarted
from kith.memory.inbox import Inbox, Letter
from kith.memory.locks import hold
from kith.memory.session import Listener, Session

_FOLDER = "workers"  # in the folder for state: what a worker had to say that is not in the log
_BUSY_S = 0.2
_FREE = 3


def start_worker(
    root: Path, state: Path, session: str, environ: Mapping[str, str] = os.environ
) -> subprocess.Popen[bytes]:
    """Let a process of its own take the session's letters; one is enough, another one leaves at once."""
    folder = state / _FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # -P: nothing in the project's folder may be taken for a module of Python's.
    command = [sys.executable, "-P", "-m", "kith.app.working", str(root), session]
    with (folder / f"{session}.log").open("ab") as said:
        return subprocess.Popen(
            command,
            cwd=root,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )


async def work(root: Path, session: str) -> None:
    """Do what the session's letters want until there are no more; leaves when another worker does it."""
    project = Project.open(root, {})
    folder = project.settings.state / _FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    inbox = Inbox(project.log, session)
    while inbox.next_letter():  # one may come while the lock is let go, and its own worker has left already
        lock = hold(folder / f"{session}.lock")
        if lock is None:
            return
        try:
            while found := inbox.next_letter():
                await _do(project, session, *found)
        finally:
            said = folder / f"{session}.log"
            if said.exists() and not said.stat().st_size:
                said.unlink()
            Path(lock.name).unlink(missing_ok=True)
            lock.close()


async def _do(project: Project, session: str, number: int, letter: Letter) -> None:
    """One task, however it ends: the log says how.

    Its letter is heard when that stands in the log: a process that is killed before loses nobody's words.
    """
    inbox = Inbox(project.log, session)

    def hear(event: Event, path: tuple[str, ...]) -> None:
        if isinstance(event, RunStarted):
            inbox.heard(number)

    free = 0  # looks at which nobody else worked on the session, and yet it was busy
    try:
        chosen = Project.open(project.root, letter.flags or {})
        while True:
            try:
                return await _perform(replace(chosen, log=project.log), session, letter, hear)
            except BusyError:
                free = 0 if project.log.is_open(session) else free + 1
                if free > _FREE:  # then it is something else that is busy
                    raise
                await asyncio.sleep(_BUSY_S)  # it is at work in a terminal: after that
                if inbox.next_letter() != (number, letter):
                    return  # it was heard there
    except asyncio.CancelledError:
        return  # stopped from another face: the log says so
    except KithError as error:  # refused before there was a run
        with Session(project.log, session) as own:
            own.emit(RunStarted(letter.words, str(project.root), "", "", {"kind": letter.kind}))
            own.emit(RunEnded("failed", str(error)))
    finally:
        inbox.heard(number)


async def _perform(project: Project, session: str, letter: Letter, listener: Listener) -> None:
    match letter.kind:
        case "build":
            from kith.app.builds import run_build

            await run_build(project, letter.words, nobody_here, [listener], id=session)
        case "confer":
            from kith.app.confer import Motion, run_confer

            await run_confer(project, Motion(letter.words), nobody_here, [listener], id=session)
        case "tool":
            from kith.app.direct_tools import edit_with

            await edit_with(project, letter.tool, letter.args or {}, nobody_here, [listener], id=session)
        case _:
            first = f"\n\nUse the tool `{letter.tool}` first." if letter.tool else ""
            task = Task(f"{letter.words}{first}", letter.plan)
            await run_task(project, task, nobody_here, [listener], id=session)


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), sys.argv[2]))
