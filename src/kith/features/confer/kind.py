"""A council as a kind of session that a letter asks for."""

from collections.abc import Sequence
from typing import Final

from kith.agent.project import Project
from kith.agent.session_kinds import SessionKind
from kith.core.run import Answerer
from kith.features.confer.councils import Motion, run_confer
from kith.memory.inbox import Letter
from kith.memory.session import Listener


async def _begin(
    project: Project, letter: Letter, answerer: Answerer, listeners: Sequence[Listener], id: str
) -> object:
    """Hold a council of the models that the letter names, if it names several."""
    named = tuple(str((letter.flags or {}).get("model", "")).split(","))
    motion = Motion(letter.words, named if len(named) > 1 else ())
    return await run_confer(project, motion, answerer, listeners, id=id)


KIND: Final = SessionKind(_begin)
