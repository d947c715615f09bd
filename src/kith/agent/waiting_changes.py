"""Changes that were not applied: which one waits, what it is, and how it is judged and adopted later."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from kith.agent.attempt import Outcome, adopt, not_adopted
from kith.agent.judges import Judges
from kith.agent.kept_trial import renew, save_left
from kith.agent.project import Project, Result
from kith.agent.verdicts import ask_gates, decide, in_a_line
from kith.core.errors import KithError, UsageError
from kith.core.event_loop import run_loop
from kith.core.events import Event, Notice, Options, Proposed, RunStarted
from kith.core.run import Answerer, Run, short_session
from kith.core.trial_names import session_of, trial_name, trials_of
from kith.core.values import Changes
from kith.edits import summarise
from kith.memory.database import APPLY
from kith.memory.inbox import can_resume
from kith.memory.past import Past, go_on
from kith.memory.receipt import describe_run
from kith.memory.session import Listener, Session
from kith.trees.waiting_changes import Waiting, list_waiting

# A change that was not applied when it was made: brought up to date, judged, asked about, and adopted.

WAITS_ON: Final = "Nothing was applied. The change still waits."
THERE: Final = "Your files already have this change."
_RENEWED: Final = "Your files were edited since this change was made. It is shown as it applies to them now."


async def adopt_unadopted(run: Run, changes: Changes, judges: Judges, *, hold_back: bool) -> Outcome:
    """Judge a change on the tree as it is now, ask the person, and apply it.

    No model is there to fix it: failing checks are shown, and the person decides. With `hold_back` nobody
    reads them, so a change that does not pass is not applied.
    """
    renewed = await renew(run.workspace, changes)
    if not renewed:
        return Outcome("done", THERE)
    if renewed != changes:
        run.emit(Notice(_RENEWED))
    async with run.workspace.trial() as trial:
        await trial.apply(renewed)
        inside = run.inside(trial)
        inside.emit(Proposed(summarise(renewed)))
        verdict = await ask_gates(inside, await judges.gates(renewed), renewed, 1)
        if not verdict.ok and hold_back:
            return Outcome("held", f"Held back: {in_a_line(verdict)} --unproven applies it anyway.")
        if not verdict.ok:
            inside.emit(Notice(f"It does not pass: {in_a_line(verdict)}", "warning"))
        decision = await decide(run, trial, judges, renewed, verdict.evidence)
        if decision.unmet:
            return not_adopted(decision)
        if not decision.ok:
            return Outcome("rejected", decision.feedback or WAITS_ON)
        return await adopt(run, trial, judges, renewed, decision, "")  # who sees it applied needs no words


_NONE: Final = "No change waits here."


class NothingWaits(UsageError):
    """There is no such change, though the words are fine."""


async def find_waiting(project: Project, wanted: str = "") -> Waiting:
    """The change that waits under a trial's name, or in a session, by its beginning; "": the newest here.

    Raises NothingWaits where there is none, UsageError where several are meant, or one of another folder.
    """
    await save_killed(project, wanted)
    at_work = () if wanted else project.log.open_ids()
    found = [
        each
        for each in project.tree.waiting()
        if each.name.startswith(wanted) and each.session not in at_work
    ]
    if wanted and len(sessions := {each.session for each in found}) > 1:
        raise UsageError(f"{wanted!r} begins {len(sessions)} sessions with a change; give more of the id.")
    if not found:
        raise _why_none(project, wanted)
    return next((each for each in found if each.name == wanted), found[-1])


async def read_waiting(project: Project, session: str) -> Changes:
    """The newest change that waits in a session; nothing where there is none."""
    if not session:
        return ()
    await save_killed(project, trials_of(session))
    name = project.waiting_in(session)
    return project.tree.waiting_change(name) if name else ()


async def is_under_way(project: Project, session: str) -> bool:
    """True if the session's last task was interrupted in a change, and can be resumed."""
    past = project.log.past(session)
    if past.ended is None or past.ended.status != "interrupted":
        return False
    await save_killed(project, trials_of(session))
    return project.waiting_in(session) == trial_name(session, past.tasks)


async def apply_waiting(
    project: Project,
    waiting: Waiting,
    answerer: Answerer,
    listeners: Sequence[Listener] = (),
    *,
    yes: bool = False,
) -> Result:
    """Apply a change that waits, in its own session. Raises UsageError; BusyError where that is at work."""
    with Session(project.log, waiting.session) as session:
        session.listeners += listeners
        return await apply_in(project, session, waiting, answerer, yes=yes)


async def apply_in(
    project: Project, session: Session, waiting: Waiting, answerer: Answerer, *, yes: bool = False
) -> Result:
    """Judge a change that waits, ask, and apply it; it waits no more then.

    With `yes` nobody reads what the checks say, so a change that does not pass is held back, unless the
    person takes unproven ones. Raises UsageError.
    """
    project.check_writable()
    await project.recover(None)
    started = project.started("apply the change that waits", Options(APPLY))
    told = list[Event]()
    session.listeners.append(lambda event, path: told.append(event))
    with project.tree.hold_waiting(waiting.name) as held:
        run = project.begin(session, answerer)
        run.emit(started)
        hold_back = yes and not project.settings.unproven
        work = adopt_unadopted(run, held.changes, project.judges(run), hold_back=hold_back)
        code = await project.to_the_end(session, run, work)
        held.done = code == 0
    return Result(code, _report(project, session.id, started, told))


async def discard_waiting(project: Project, waiting: Waiting) -> Changes:
    """Throw away a change that waits; returns it. Raises TreeError; BusyError where its trial is in use."""
    with project.tree.hold_waiting(waiting.name) as held:
        held.done = True
        return held.changes


def _report(project: Project, session: str, started: RunStarted, told: Sequence[Event]) -> dict[str, object]:
    """Report on applying it; the log of the session's last task stays unchanged."""
    past = Past(started)
    for event in told[1:]:
        past = go_on(past, event)
    return describe_run(session, past) | {"waiting": project.waiting_in(session)}


async def save_killed(project: Project, wanted: str = "") -> None:
    """Let changes wait that a killed process left in a trial before it could propose them.

    So does one that a full disk kept from waiting. An empty trial stays only where its task can be resumed.
    Without `wanted`, trials of sessions at work stay as they are: one may be about to resume.
    """
    at_work = () if wanted else project.log.open_ids()
    for name in project.tree.unsaved_trials(wanted):
        if session_of(name) in at_work:
            continue
        with suppress(KithError):  # in use, or unreadable: it stays where it is
            await save_left(project.tree, name, resumable=can_resume(project.log, session_of(name)))


def save_killed_in(root: Path) -> None:
    """The same for all trials of a folder, by a command that needs nothing else of the project."""
    run_loop(save_killed(Project.open(root, {})))


def _why_none(project: Project, wanted: str) -> UsageError:
    if not wanted or wanted.endswith("-"):  # of this folder, or of the session that is open
        return NothingWaits(_NONE)
    elsewhere = [each for each in list_waiting(project.settings.state) if each.name.startswith(wanted)]
    if elsewhere:
        return UsageError(f"That change belongs to {elsewhere[-1].root}; use -C.")
    try:
        return NothingWaits(f"No change waits in session {short_session(project.log.find(wanted))}.")
    except UsageError as error:
        return error
