"""Start a background process; its start and its end are events."""

from collections.abc import Callable

from kith.core.events import FeatureEvent
from kith.core.workspace import EndedBy, ExecLimits, Job, ShellCommand, Trial


class JobStarted(FeatureEvent, frozen=True):
    """A process was started in the background of a trial; `number` counts them there."""

    number: int
    command: str


class JobEnded(FeatureEvent, frozen=True):
    """It ended; `limit` describes the limit that it exceeded."""

    number: int
    command: str
    code: int
    seconds: float
    by: EndedBy = "itself"
    limit: str = ""


async def start_job(
    command: ShellCommand, trial: Trial, limits: ExecLimits, emit: Callable[[JobStarted | JobEnded], object]
) -> Job:
    """Start a command in a trial. Raises TreeError where the trial cannot do this."""

    def log_end(job: Job) -> None:
        if ran := job.ran:
            emit(JobEnded(job.number, command.line, ran.code, ran.seconds, job.ended_by, ran.stopped))

    job = await trial.launch(command, log_end, limits)
    emit(JobStarted(job.number, command.line))
    return job
