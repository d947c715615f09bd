"""A conversation's change that was not applied: which one waits, what it is, and what becomes of it."""

from kith.app.project import Project, Result
from kith.core.errors import UsageError
from kith.core.run import Answerer
from kith.core.values import Changes
from kith.memory.session import Session
from kith.workflows.unadopted import adopt_left, discard, read_left

KIND = "apply"  # of the run in which it is applied after all
_NONE = "No change waits here."


def find_waiting(project: Project, session: str) -> str:
    """The name of the newest trial of a session that holds a change, "" where there is none."""
    names = project.tree.waiting_trials(session)
    return max(names, key=_number, default="")


async def read_waiting(project: Project, session: str) -> Changes:
    """The change that waits in a session; nothing where there is none."""
    name = find_waiting(project, session)
    return await read_left(project.tree, name) if name else ()


async def is_under_way(project: Project, session: str) -> bool:
    """Whether the session's last task was interrupted with a change begun: it can be gone on with."""
    past = project.log.past(session)
    if past.ended is None or past.ended.status != "interrupted":
        return False
    name = find_waiting(project, session)
    return _number(name) == past.tasks and bool(await read_left(project.tree, name))


async def apply_waiting(project: Project, session: Session, answerer: Answerer) -> Result:
    """Check the change that waits in an open session, ask, and apply it. Raises UsageError for none."""
    project.check_writable()
    name = await _find(project, session.id)
    run = project.begin(session, answerer)
    run.emit(project.started("apply the change that waits", {"kind": KIND}))
    work = adopt_left(run, name, project.judges(run))
    code = await project.to_the_end(session, run, work)
    return Result(code, project.report(session))


async def discard_waiting(project: Project, session: str) -> Changes:
    """Throw away the change that waits in a session; returns it. Raises UsageError where none does."""
    name = await _find(project, session)
    changes = await read_left(project.tree, name)
    await discard(project.tree, name)
    return changes


async def _find(project: Project, session: str) -> str:
    """The trial with the change. Raises UsageError where there is none; one without a change is removed."""
    while name := find_waiting(project, session):
        if await read_left(project.tree, name):
            return name
        await discard(project.tree, name)
    raise UsageError(_NONE)


def _number(name: str) -> int:
    """Which task of its session a trial was for."""
    end = name.rpartition("-")[2]
    return int(end) if end.isdigit() else 0
