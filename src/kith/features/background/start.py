"""Start a background process; its start and its end are logged."""

from collections.abc import Callable

from kith.core.workspace import Command, ExecLimits, Job, Trial
from kith.features.background.events import JobEnded, JobStarted


async def start_job(
    command: Command, trial: Trial, limits: ExecLimits, emit: Callable[[JobStarted | JobEnded], object]
) -> Job:
    """Start a command in a trial. Raises TreeError where the trial cannot do this."""

    def log_end(job: Job) -> None:
        if ran := job.ran:
            emit(JobEnded(job.number, command.line, ran.code, ran.seconds, job.ended_by, ran.stopped))

    job = await trial.launch(command, log_end, limits)
    emit(JobStarted(job.number, command.line))
    return job
