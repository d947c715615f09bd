"""Background processes in words: one line for each."""

from typing import Final

from kith.core.workspace import EndedBy, Job
from kith.features.background.events import JobEnded
from kith.view.lines import shortened
from kith.view.printing import printable

_WIDTH: Final = 50  # columns of a command


def job_line(job: Job) -> str:
    """`1 running, 12 s: npm run dev`."""
    return f"{job.number} {job_state(job)}: {shown_command(job.command.line)}"


def job_state(job: Job) -> str:
    """`running, 12 s`, `ended, exit code 1, 0.3 s`, `stopped after 12 s`."""
    if job.ran is None:
        return f"running, {_seconds(job.seconds)}"
    return _end_words(job.ended_by, job.ran.code, job.ran.seconds, job.ran.stopped)


def end_state(end: JobEnded) -> str:
    """The same for an end in the log."""
    return _end_words(end.by, end.code, end.seconds, end.limit)


def end_line(end: JobEnded) -> str:
    """`Background process 1 ended, exit code 1, 0.3 s: npm run dev`."""
    return f"Background process {end.number} {end_state(end)}: {shown_command(end.command)}"


def shown_command(command: str) -> str:
    """A command in one short line."""
    return shortened(printable(" ".join(command.split())), _WIDTH)


def _end_words(by: EndedBy, code: int, took: float, limit: str) -> str:
    if by == "itself":
        return f"ended, exit code {code}, {_seconds(took)}"
    why = {"turn": " at the end of the turn", "limit": f" ({limit})"}.get(by, "")
    return f"stopped after {_seconds(took)}{why}"


def _seconds(took: float) -> str:
    return f"{took:.1f} s" if took < 10 else f"{took:.0f} s"
