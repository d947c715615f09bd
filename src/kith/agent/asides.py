"""Commands that the person runs in the middle of a conversation."""

from collections.abc import Callable
from typing import Final

from kith.agent.aside import run_aside
from kith.agent.project import Project
from kith.core.options import Options
from kith.core.run import Answerer
from kith.memory.records import COMMAND
from kith.memory.session import Session
from kith.tools.lines import plain_output
from kith.trees.exec import heard_by

_SEEN: Final = 4_000  # bytes
EMPTY: Final = "Run what? !COMMAND"


async def run_command(
    project: Project,
    session: Session,
    command: str,
    answerer: Answerer,
    *,
    quiet: bool = False,
    hear: Callable[[str], None] = lambda lines: None,
) -> int:
    """Run a command in a trial of the tree, and offer what it changed; an exit code.

    The model is told of it with the next task, unless it is `quiet`; the session goes on as it was. `hear` is
    told the last lines that it has printed, whenever there are more.
    """
    run = project.begin(session, answerer)
    run.emit(project.started(command, Options(COMMAND, quiet=quiet)))
    keep = not project.settings.read_only
    with heard_by(_Tail(hear)):
        return await project.to_the_end(session, run, run_aside(run, command, project.judges(run), keep=keep))


class _Tail:
    """The end of what a command prints, as text."""

    def __init__(self, hear: Callable[[str], None]) -> None:
        self._hear, self._kept = hear, b""

    def __call__(self, output: bytes) -> None:
        self._kept = (self._kept + output)[-_SEEN:]
        self._hear(plain_output(self._kept.decode("utf-8", "replace")))
