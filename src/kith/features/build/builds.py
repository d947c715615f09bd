"""Builds: begun, taken up again, and as the log tells of them."""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from kith.agent.asking.cast import open_cast
from kith.agent.attempt import Outcome
from kith.agent.index import open_known
from kith.agent.knowledge import tell_notes_of
from kith.agent.project import Project, Result
from kith.core.errors import UsageError
from kith.core.events import Resumed
from kith.core.options import Options
from kith.core.run import Answerer, Run, new_id
from kith.core.workspace import ExecLimits, SizeLimits
from kith.features.build.build import build
from kith.features.build.describe import describe
from kith.features.build.options import BuildOptions
from kith.features.build.state import Build
from kith.memory.inbox import OVER
from kith.memory.log import Log
from kith.memory.session import Listener, Session

KIND = "build"


async def run_build(
    project: Project,
    request: str,
    answerer: Answerer,
    listeners: Sequence[Listener] = (),
    *,
    id: str = "",
    agree: bool = True,
) -> Result:
    """Build what is requested, in a session of its own (called `id` if given).

    `agree`: the person is shown the tasks before anything is written. Raises UsageError.
    """
    project.check_writable()
    with Session(project.log, id or new_id()) as session:
        session.listeners += listeners
        run = project.begin(session, answerer)
        options = Options(KIND, agree=agree, check=project.settings.check)
        run.emit(project.started(request, options))
        await project.tell_state(run)
        return await _go_on(project, run, session, agree)


async def resume_build(
    project: Project, id: str, answerer: Answerer, listeners: Sequence[Listener] = (), *, agree: bool = True
) -> Result:
    """Go on with an unfinished build: no step that is over runs again. Raises UsageError."""
    project.check_writable()
    with Session(project.log, id) as session:
        past = session.past()
        started = past.started
        if started is None or started.root != str(project.root):
            raise UsageError(f"Build {id} belongs to {started.root if started else 'nobody'}; use -C.")
        if past.ended and past.ended.status in OVER[KIND]:
            raise UsageError(f"Build {id} is over ({past.ended.status}); there is nothing to resume.")
        if not project.settings.model and started.model:
            project = replace(project, settings=replace(project.settings, model=started.model))
        session.listeners += listeners
        run = project.begin(session, answerer)
        run.emit(Resumed())
        await project.recover(session)
        return await _go_on(project, run, session, agree)


async def _go_on(project: Project, run: Run, session: Session, agree: bool) -> Result:
    """From where the log stands to the build's end."""

    async def work() -> Outcome:
        past = session.past()
        async with (
            open_known(project, run.emit) as known,
            open_cast(project, run, session.id, known.look) as cast,
        ):
            return await build(
                run,
                cast,
                past.started.task if past.started else "",
                project.judges(run),
                _options(project, agree),
                name=f"{session.id}-build",
                earlier=read_build(project.log, session.id),
                threads=past.threads,
            )

    code = await project.to_the_end(session, run, work(), f"kith build --resume {session.id}")
    report = project.report(session.id)
    return Result(code, {**report, "build": show_build(project.log, session.id)})


def _options(project: Project, agree: bool) -> BuildOptions:
    chosen = project.settings
    wishes = chosen.build
    return BuildOptions(
        max_retries=wishes.max_retries,
        max_tasks=wishes.max_tasks,
        max_files=wishes.max_files,
        max_lines=wishes.max_lines,
        coverage=wishes.coverage,
        refine=wishes.refine,
        agree=agree,
        commit=wishes.auto_commit,
        step_seconds=wishes.step_seconds,
        commands=chosen.gates,
        trusted=bool(chosen.check) and not chosen.origin.get("check", "").startswith(str(project.root)),
        suite=ExecLimits(seconds=chosen.check_timeout),
        sizes=SizeLimits(chosen.max_file_bytes, chosen.max_change_bytes),
        known=partial(tell_notes_of, chosen),
    )


# --- as the log tells of them ----------------------------------------------------------------


def has_builds(project: Project) -> bool:
    """True if anything was built in this folder."""
    return bool(project.log.of_kind(KIND, project.root))


def find_build(project: Project, prefix: str = "") -> str:
    """The build whose session's id begins with `prefix`, else the last one here. Raises UsageError."""
    if prefix and prefix != "last":
        id = project.log.find(prefix)
        if id in project.log.of_kind(KIND):
            return id
        raise UsageError(f"Session {id} is no build; kith run --resume goes on with a task.")
    builds = project.log.of_kind(KIND, project.root)
    if not builds:
        raise UsageError(f'There was no build in {project.root} yet; kith build "..." begins one.')
    return builds[0]


def read_build(log: Log, id: str) -> Build:
    """How far a build has come."""
    found = Build()
    for record in log.events(id):
        found.take(record.event, record.path, record.at)
    return found


def show_build(log: Log, id: str) -> dict[str, Any]:
    """A build as plain data; one that nobody works on and that is not over is "interrupted"."""
    shown = describe(read_build(log, id), time.time())
    if shown["status"] == "running" and not log.is_open(id):
        shown |= {"status": "interrupted", "now": None}
    return {"session": id, **shown}
