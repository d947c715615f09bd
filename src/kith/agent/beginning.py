"""The state that a task begins from, looked at while nothing else can be done yet."""

import asyncio
from typing import Final

from kith.agent.project import Project
from kith.core.loops import leave
from kith.memory.past import Past
from kith.trees.commits import clean_commit

_AHEAD_S: Final = 0.3  # for a list of the files before anything is said


async def find_commit(project: Project, past: Past) -> str:
    """The commit that the tree is; beside that git lists the files, with which a conversation begins."""
    begins = past.started is None and (project.root / ".git").exists()
    ahead = [asyncio.ensure_future(project.tree.files())] if begins else []
    try:
        return await clean_commit(project.root)
    finally:
        if ahead:
            await asyncio.wait(ahead, timeout=_AHEAD_S)
            await leave(*ahead)
