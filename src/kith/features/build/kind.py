"""A build as a kind of session that a letter asks for, or goes on with."""

from collections.abc import Sequence
from typing import Final

from kith.agent.project import Project
from kith.agent.session_kinds import SessionKind
from kith.core.run import Answerer
from kith.features.build.builds import resume_build, run_build
from kith.memory.inbox import Letter
from kith.memory.session import Listener


async def _begin(
    project: Project, letter: Letter, answerer: Answerer, listeners: Sequence[Listener], id: str
) -> object:
    return await run_build(project, letter.words, answerer, listeners, id=id)


async def _resume(project: Project, id: str, answerer: Answerer, listeners: Sequence[Listener]) -> object:
    """Go on, asking the person about the tasks if that was wanted when it began."""
    started = project.log.past(id).started
    agree = started is not None and started.options.agree
    return await resume_build(project, id, answerer, listeners, agree=agree)


KIND: Final = SessionKind(_begin, _resume)
