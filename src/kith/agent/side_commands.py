"""Commands that the person runs in a conversation; what they changed is offered as a change."""

import time
from collections.abc import Sequence
from textwrap import shorten
from typing import Final

from msgspec.structs import replace

from kith.agent.attempt import Outcome, adopt
from kith.agent.judges import Judges
from kith.agent.kept_trial import kept_trial
from kith.agent.project import Project
from kith.agent.waiting_changes import is_under_way
from kith.core.events import Notice, Options, ToolBegan, ToolEnded
from kith.core.evidence import Tries
from kith.core.run import Answerer, Gate, Run, new_id
from kith.core.values import Changes, Verdict
from kith.core.workspace import ShellCommand, Trial
from kith.gates.human import change_question
from kith.memory.database import COMMAND
from kith.memory.session import Session
from kith.tools.answers import plain_output
from kith.tools.shell import lacks_network

CHOICES: Final = ("all", "none", "some", "edit")  # nobody is there to whom one could say why not
NO_NETWORK: Final = (
    "Commands reach only the hosts that you allow: /config hosts NAME, or a terminal of your own."
)
NOT_COMMITTED: Final = "Commits made there stay in the trial; commit in a terminal of your own."
DROPPED: Final = "This mode changes no files, so kith discarded:"
IN_TASK: Final = "Runs in the trial of the stopped task."
ON_FILES: Final = "Runs on your files, without the change that waits."
_NAMED: Final = 5  # files
_SHOWN: Final = 60  # letters of the command, in the question
_TOLD: Final = "bash"


async def run_aside(run: Run, command: str, judges: Judges, *, keep: bool) -> Outcome:
    """Run it in a trial, show its changes, and apply them if the person agrees.

    No check runs: the person who typed the command is responsible for it. Without `keep` its changes are
    thrown away.
    """
    async with run.workspace.trial() as trial:
        await _exec(run, trial, command)
        changes = await trial.changes()
        if not changes:
            if await trial.commits():
                run.emit(Notice(NOT_COMMITTED, "warning"))
            return Outcome("done", "")
        if not keep:
            paths = ", ".join(change.path for change in changes[:_NAMED])
            run.emit(Notice(f"{DROPPED} {paths}{' and more' if len(changes) > _NAMED else ''}."))
            return Outcome("rejected", "Nothing was applied.")
        decision = await _ask(run, command, changes, judges)
        if not decision.ok:
            return Outcome("rejected", "Nothing was applied.")
        return await adopt(run, trial, replace(judges, gates=_no_gates), changes, decision, "")


async def run_in_task(run: Run, command: str, trial: str) -> Outcome:
    """Run it in the trial of a task that was stopped: what it changes is a part of the task's change."""
    async with kept_trial(run.workspace, trial) as held:
        held.resumable = True
        await _exec(run, held.trial, command)
    return Outcome("done", "")


async def _exec(run: Run, trial: Trial, command: str) -> None:
    id = new_id()
    run.emit(ToolBegan(id, _TOLD, "exec", command))
    began = time.monotonic()
    ran = await trial.exec(ShellCommand(command), run.limits.exec)
    ran = replace(ran, command=command, output=plain_output(ran.output))
    took, good = time.monotonic() - began, ran.code == 0 and not ran.timed_out
    run.emit(ToolEnded(id, _TOLD, good, took, f"exit code {ran.code}", ran))
    if lacks_network(ran):
        run.emit(Notice(NO_NETWORK))


async def _ask(run: Run, command: str, changes: Changes, judges: Judges) -> Verdict:
    shown = shorten(command, _SHOWN, placeholder=" ...")
    question = change_question(f"Keep what `{shown}` changed?", changes, CHOICES, judges.named)
    answer = await run.ask(question)
    if answer.choice == "all":
        return Verdict(True, by="person")
    return Verdict(bool(answer.changes), by="person", changes=answer.changes)


async def _no_gates(changes: Changes, claimed: Sequence[str] = (), tries: Tries = "none") -> Sequence[Gate]:
    return ()


# Commands that the person runs in the middle of a conversation.

EMPTY: Final = "Run what? !COMMAND"


async def run_command(
    project: Project,
    session: Session,
    command: str,
    answerer: Answerer,
    *,
    quiet: bool = False,
) -> int:
    """Run a command in the trial of the task that was stopped, else in a new one; an exit code.

    From a new trial, what it changed is offered. The model is told of the command with the next task, unless
    it is `quiet`; the session goes on as it was.
    """
    keep = not project.settings.read_only
    waiting = project.waiting_in(session.id)
    in_task = keep and waiting is not None and await is_under_way(project, session.id)
    run = project.begin(session, answerer)
    run.emit(project.started(command, Options(COMMAND, quiet=quiet)))
    if waiting:
        run.emit(Notice(IN_TASK if in_task else ON_FILES))
    if waiting and in_task:
        return await project.to_the_end(session, run, run_in_task(run, command, waiting))
    return await project.to_the_end(session, run, run_aside(run, command, project.judges(run), keep=keep))
