"""Background processes in words: their state, and one line for each."""

from typing import Final

from kith.core.workspace import EndedBy, Job
from kith.view.lines import shortened
from kith.view.printing import printable

_WIDTH: Final = 60  # columns of a command


def job_state(job: Job) -> str:
    """`running, 12 s`, `ended, exit code 1, 0.3 s`, `stopped after 12 s: it used too much`."""
    if job.ran is None:
        return f"running, {_seconds(job.seconds)}"
    return end_words(job.ended_by, job.ran.code, job.ran.seconds, job.ran.stopped)


def end_words(by: EndedBy, code: int, took: float, limit: str) -> str:
    """The end of a process."""
    if by == "itself":
        return f"ended, exit code {code}, {_seconds(took)}"
    why = {"turn": " at the end of the turn", "limit": f": {limit}"}.get(by, "")
    return f"stopped after {_seconds(took)}{why}"


def job_line(job: Job) -> str:
    """`1: npm run dev (running, 12 s)`."""
    return f"{job.number}: {shown_command(job.command.line)} ({job_state(job)})"


def shown_command(command: str) -> str:
    """A command in one short line."""
    return shortened(printable(" ".join(command.split())), _WIDTH)


def _seconds(took: float) -> str:
    return f"{took:.1f} s" if took < 10 else f"{took:.0f} s"
