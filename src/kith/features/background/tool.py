"""The tool by which a model starts background processes, reads what they print, and stops them."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from kith.agent.project import Project
from kith.core.events import Notice
from kith.core.model import Emit, Tool
from kith.core.run import Run
from kith.core.values import CallTarget, Effect, ToolResult
from kith.core.workspace import Job, ShellCommand, Trial
from kith.features.background import BackgroundSettings
from kith.features.background.events import start_job
from kith.features.background.words import job_line, job_state
from kith.tools.answers import in_words, plain_output, refused, told

_START_S: Final = 1.0  # for its first output, or its end
_MORE_S: Final = 0.2  # for what follows the first output
_READ_S: Final = 10.0  # for news of a process that has none
_EMPTY: Final = "The command is empty or holds a NUL character: send a command line."
_NO_TRIAL: Final = "Nothing can run in the background here: there is no trial."
_NO_OVERLAY: Final = "background.tool is on, but this machine has no trials on an overlay; see kith doctor."
_BOTH: Final = "Send either a command to start, or the id of a process."
_SCHEMA: Final = {
    "type": "object",
    "properties": {
        "command": {"type": "string"},
        "id": {"type": "integer"},
        "stop": {"type": "boolean"},
    },
}


def background_tools(project: Project, emit: Emit) -> tuple[Tool, ...]:
    """Return the tool where the person wants it and the sandbox can do it, else none, and say why."""
    if not project.settings.section(BackgroundSettings).tool or project.settings.read_only:
        return ()
    if project.tree.hosts_jobs:
        return (BACKGROUND,)
    emit(Notice(_NO_OVERLAY, "warning"))
    return ()


@in_words
async def _execute(args: Mapping[str, Any], run: Run) -> ToolResult:
    trial = run.workspace
    if not isinstance(trial, Trial):
        return refused(_NO_TRIAL)
    if "command" in args and "id" in args:
        return refused(_BOTH)
    if "command" in args:
        return await _start(args["command"], trial, run)
    if "id" not in args:
        return _list(trial)
    job = next((each for each in trial.jobs if each.number == args["id"]), None)
    if job is None:
        known = ", ".join(str(each.number) for each in trial.jobs)
        return refused(f"There is no process {args['id']}; there are: {known or 'none'}.", "absent")
    if args.get("stop"):
        await job.stop()
    elif job.ran is None:
        await job.wait(_READ_S, for_news=True)
    return _report(job, run)


async def _start(line: str, trial: Trial, run: Run) -> ToolResult:
    if not line.strip() or "\0" in line:
        return refused(_EMPTY)
    job = await start_job(ShellCommand(line), trial, run.limits.exec, run.emit)
    await job.wait(_START_S, for_news=True)
    await job.wait(_MORE_S)
    result = _report(job, run)
    return replace(result, ok=job.ran is None or not job.ran.code)


def _report(job: Job, run: Run) -> ToolResult:
    """Report the state of a process, and what it printed since the last report."""
    news, most = job.news(), run.limits.exec.output
    missed = news.missed + max(len(news.data) - most, 0)
    output = plain_output(news.data[-most:].decode("utf-8", "replace"))
    head = f"process {job.number} {job_state(job)}"
    if missed:
        head += f", {missed:,} bytes of the output left out"
    text = f"{head}\n{output}" if output.strip() else f"{head}, no new output"
    return told(text, job_line(job))


def _list(trial: Trial) -> ToolResult:
    rows = [job_line(job) for job in trial.jobs]
    running = sum(job.ran is None for job in trial.jobs)
    return told("\n".join(rows) or "Nothing runs in the background.", f"{running} running")


def _target(args: Mapping[str, Any]) -> CallTarget:
    if command := args.get("command"):
        return CallTarget(command)
    number = args.get("id", "")
    return CallTarget(f"stop {number}" if args.get("stop") else str(number))


def _effect(args: Mapping[str, Any]) -> Effect:
    return "exec" if "command" in args else "read"


BACKGROUND: Final = Tool(
    "background",
    "Start a command in the background. With id: its new output, or stop it.",
    _SCHEMA,
    "exec",
    _execute,
    _target,
    _effect,
    waits=True,
)
