"""Run and resume builds, and describe them as plain data from the log."""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from kith.agent.asking.cast import open_cast
from kith.agent.attempt import Outcome
from kith.agent.index import open_known
from kith.agent.knowledge import tell_notes_of
from kith.agent.project import Project, Result
from kith.agent.worker import SessionKind
from kith.core.errors import EXIT_DONE, EXIT_PARTLY, UsageError
from kith.core.events import Judged, Options, Resumed
from kith.core.run import Answerer, Run, new_id, short_session
from kith.core.values import Usage
from kith.core.workspace import ExecLimits, SizeLimits
from kith.features.build.driver import build
from kith.features.build.state import ENDS, ROLES, Build, Played, TaskProgress
from kith.features.build.work import BuildOptions
from kith.memory.inbox import OVER, Letter
from kith.memory.log import Log
from kith.memory.session import Listener, Session

# A build in plain data: what `kith status --json` prints and every face of it draws.

_LINE: Final = 200  # characters of a reason


def describe(build: Build, now: float = 0.0) -> dict[str, Any]:
    """Everything there is to say of a build: tasks, gates, times, what runs now, figures.

    Times are in seconds, `began` since the epoch; `now` is the same clock's, for how long a step has been
    running. Coverage is in percent, None where nobody measured it.
    """
    return {
        "request": build.request,
        "status": _status(build),
        "step": str(build.step),
        "text": build.ended.text if build.ended else "",
        "began": build.began,
        "seconds": round(build.seconds, 1),
        "now": _now(build, now),
        "tasks": [_task(piece) for piece in build.pieces.values()],
        "final": [_gate(judged) for judged in build.final.values()],
        "applied": build.applied.change_id if build.applied else "",
        "metrics": _metrics(build),
    }


def _status(build: Build) -> str:
    """Return the build's final state, "running", or "interrupted" where its process died before the end."""
    if build.ended:
        return build.ended.status
    return str(build.step) if build.step in ENDS else "running"


def _now(build: Build, now: float) -> dict[str, Any] | None:
    """Describe the present step; None between two steps, and after the end."""
    if not build.running:
        return None
    return {
        "step": str(build.step),
        "task": build.task,
        "attempt": build.attempt,
        "role": ROLES.get(build.step, ""),
        "doing": build.doing,
        "seconds": round(max(0.0, now - build.since), 1) if now else 0.0,
    }


def _task(piece: TaskProgress) -> dict[str, Any]:
    task = piece.task
    return {
        "id": task.id,
        "title": task.title,
        "after": list(task.after),
        "criteria": list(task.criteria),
        "files": list(task.files),
        "state": piece.state,
        "why": piece.why[:_LINE],
        "attempts": piece.attempts,
        "tests": list(piece.locked.tests) if piece.locked else [],
        "gates": [_gate(judged) for judged in piece.gates.values()],
        "seconds": round(piece.seconds, 1),
        "tokens": _tokens(piece.usage),
    }


def _gate(judged: Judged) -> dict[str, Any]:
    said = judged.feedback.strip().split("\n")[0][:_LINE] if judged.skipped or not judged.ok else ""
    return {
        "gate": judged.gate,
        "ok": judged.ok,
        "skipped": judged.skipped,
        "attempt": judged.attempt,
        "figures": dict(judged.figures),
        "text": said,
    }


def _metrics(build: Build) -> dict[str, Any]:
    pieces = list(build.pieces.values())
    tests = build.final.get("tests")
    return {
        "tasks": len(pieces),
        "done": len(build.done),
        "rolled_back": sum(piece.state == "rolled back" for piece in pieces),
        "skipped": sum(piece.state == "skipped" for piece in pieces),
        "retries": sum(max(0, piece.attempts - 1) for piece in pieces),
        "seconds_in_tests": round(build.testing, 1),
        "tests_before": _figure(build.before, "tests"),
        "tests_after": _figure(tests, "tests"),
        "coverage_before": _percent(build.before),
        "coverage_after": _percent(tests),
        "roles": {name: _role(played) for name, played in build.played.items()},
    }


def _role(played: Played) -> dict[str, Any]:
    judged = played.good + played.bad
    return {
        "steps": played.steps,
        "good": played.good,
        "bad": played.bad,
        "success": round(played.good / judged, 3) if judged else None,
        "seconds": round(played.seconds, 1),
        "tokens": _tokens(played.usage),
    }


def _tokens(usage: Usage) -> dict[str, int]:
    return {"input": usage.input, "cached": usage.cached, "output": usage.output}


def _figure(judged: Judged | None, name: str) -> float | None:
    return judged.figures.get(name) if judged else None


def _percent(judged: Judged | None) -> float | None:
    share = _figure(judged, "coverage")
    return None if share is None else round(100 * share, 1)


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
    with Session(project.log, id or new_id(), listeners) as session:
        run = project.begin(session, answerer)
        options = Options(KIND, agree=agree, check=project.settings.check)
        run.emit(project.started(request, options))
        await project.tell_state(run)
        return await _go_on(project, run, session, agree)


async def resume_build(
    project: Project, id: str, answerer: Answerer, listeners: Sequence[Listener] = (), *, agree: bool = True
) -> Result:
    """Resume an unfinished build: no finished step runs again. Raises UsageError."""
    project.check_writable()
    with Session(project.log, id, listeners) as session:
        past = session.past()
        started = past.started
        if started is None or started.root != str(project.root):
            owner = started.root if started else "nobody"
            raise UsageError(f"Build {short_session(id)} belongs to {owner}; use -C.")
        if past.ended and past.ended.status in OVER[KIND]:
            over = f"is over ({past.ended.status})"
            raise UsageError(f"Build {short_session(id)} {over}; there is nothing to resume.")
        if not project.settings.model and started.model:
            project = replace(project, settings=replace(project.settings, model=started.model))
        run = project.begin(session, answerer)
        run.emit(Resumed())
        await project.recover(session)
        return await _go_on(project, run, session, agree)


async def _go_on(project: Project, run: Run, session: Session, agree: bool) -> Result:
    """From the end of the log to the build's end."""

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

    code = await project.to_the_end(session, run, work(), f"kith build --resume {short_session(session.id)}")
    report = project.report(session.id)
    if code == EXIT_DONE and not read_build(project.log, session.id).complete:
        code = EXIT_PARTLY
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
        raise UsageError(
            f"Session {short_session(id)} is not a build; kith run --resume goes on with a task."
        )
    builds = project.log.of_kind(KIND, project.root)
    if not builds:
        raise UsageError(f'There was no build in {project.root} yet; kith build "..." starts one.')
    return builds[0]


def read_build(log: Log, id: str) -> Build:
    """Read a build's progress from the log."""
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


# A build as a kind of session that a letter asks for, or goes on with.


async def _begin(
    project: Project, letter: Letter, answerer: Answerer, listeners: Sequence[Listener], id: str
) -> object:
    return await run_build(project, letter.words, answerer, listeners, id=id)


async def _resume(project: Project, id: str, answerer: Answerer, listeners: Sequence[Listener]) -> object:
    """Go on, asking the person about the tasks if that was wanted when it began."""
    started = project.log.past(id).started
    agree = started is not None and started.options.agree
    return await resume_build(project, id, answerer, listeners, agree=agree)


SESSION_KIND: Final = SessionKind(_begin, _resume)
