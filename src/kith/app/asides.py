"""Commands that the person runs in the middle of a conversation."""

from typing import Final

from kith.app.project import Project
from kith.core.run import Answerer
from kith.memory.asides import KIND, QUIET
from kith.memory.session import Session
from kith.workflows.aside import run_aside

EMPTY: Final = "Run what? !COMMAND"


async def run_command(
    project: Project, session: Session, command: str, answerer: Answerer, *, quiet: bool = False
) -> int:
    """Run a command in a trial of the tree, and offer what it changed; an exit code.

    The model is told of it with the next task, unless it is `quiet`; the session goes on as it was.
    """
    run = project.begin(session, answerer)
    run.emit(project.started(command, {"kind": KIND} | ({QUIET: "yes"} if quiet else {})))
    keep = not project.settings.read_only
    return await project.to_the_end(session, run, run_aside(run, command, project.judges(run), keep=keep))
