"""`/jobs` in a conversation: the background processes of the task at work, and how many run."""

from collections.abc import Sequence
from typing import Final

from kith.agent.asking.hidden import find_masked
from kith.core.errors import UsageError
from kith.core.events import Engaged
from kith.core.trial_names import trials_of
from kith.core.workspace import Job, ShellCommand, Trial
from kith.features.background.events import start_job
from kith.features.background.words import job_line
from kith.memory.session import Session
from kith.terminal.conversation.talk import Talk
from kith.tools.answers import listed, plain_output
from kith.view.lines import count
from kith.view.printing import printable

_LINES: Final = 20  # of a process's output
_NOTHING: Final = "No task is at work, so nothing runs in the background."
_NONE: Final = "Nothing runs in the background. /jobs start COMMAND starts a process beside the task."
_USAGE: Final = "/jobs lists, /jobs N shows output, /jobs stop N, /jobs start COMMAND"
_STARTED: Final = "I started this in the background, as process {}: {}"


async def jobs(talk: Talk, rest: str) -> None:
    """List the processes, show the output of one, stop one, or start one. Raises KithError."""
    trial = _trial_of(talk)
    word, _, more = rest.strip().partition(" ")
    if trial is None:
        talk.say(_NOTHING)
    elif not word:
        for line in map(job_line, trial.jobs):
            talk.say(line)
        if not trial.jobs:
            talk.say(_NONE)
    elif word == "start" and more.strip() and talk.at_work:
        await _start(talk, talk.at_work, trial, more.strip())
    elif word == "stop" and more.strip():
        job = _find(trial.jobs, more.strip())
        await job.stop()
        talk.say(job_line(job))
    elif word.isdecimal() and not more:
        _show(talk, _find(trial.jobs, word))
    else:
        raise UsageError(_USAGE)


async def _start(talk: Talk, session: Session, trial: Trial, line: str) -> None:
    """Start one beside the task, and tell the model of it.

    A cloud model could read through it what is hidden from the model's own commands.
    """
    engaged = (record.event for record in talk.project.log.events(talk.id, kinds=("Engaged",)))
    in_cloud = any(isinstance(event, Engaged) and event.cloud for event in engaged)
    hidden = await find_masked(talk.project) if in_cloud else ()
    limits = talk.project.exec_limits(0)
    job = await start_job(ShellCommand(line, hidden=hidden), trial, limits, session.emit)
    talk.say(job_line(job))
    if hidden:
        talk.say(f"Hidden from it, since the model is in the cloud: {printable(listed(hidden))}", "dim")
    words = _STARTED.format(job.number, line)
    talk.steer(words)
    talk.pending.steer(words)


def _show(talk: Talk, job: Job) -> None:
    output = plain_output(job.printed().data.decode("utf-8", "replace"))
    talk.say(job_line(job))
    for line in output.split("\n")[-_LINES:] if output.strip() else ["(no output)"]:
        talk.say(f"  {printable(line)}", "dim")


def _find(known: Sequence[Job], number: str) -> Job:
    found = next((job for job in known if str(job.number) == number), None)
    if found is None:
        raise UsageError(f"There is no background process {number!r}; /jobs lists them.")
    return found


def _trial_of(talk: Talk) -> Trial | None:
    """The trial of the task at work."""
    opened = talk.project.tree.open_trials(trials_of(talk.id)) if talk.at_work else ()
    return opened[-1] if opened else None


def count_jobs(talk: Talk) -> str:
    """`2 jobs` for the status line, "" for none that run."""
    trial = _trial_of(talk)
    running = sum(job.ran is None for job in trial.jobs) if trial else 0
    return count(running, "job") if running else ""
