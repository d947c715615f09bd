"""Offer to revert the commit of a change that was undone."""

from collections.abc import Awaitable, Callable

from kith.agent.project import Project
from kith.agent.reverting import find_commit, find_own_commit, is_exact, revert
from kith.core.errors import TreeError
from kith.core.events import Applied
from kith.memory.applied import short_commit


async def offer_revert(project: Project, undone: Applied, agree: Callable[[str], Awaitable[bool]]) -> str:
    """Tell that an undone change was committed, and revert kith's own commit where the person agrees.

    Returns "" for a change that is in no commit.
    """
    commit = await find_commit(project, undone)
    if not commit:
        own = await find_own_commit(project, undone)
        return f"Your commit {short_commit(own)} holds the change; commit the undo, too." if own else ""
    told = f"It was committed as {short_commit(commit)}."
    if not await is_exact(project, undone, commit):
        return f"{told} Its files hold other changes too, so commit the undo yourself."
    if not await agree(f"{told} Revert that in a new commit?"):
        return f"{told} The undo is in your files only; git commit records it."
    try:
        return f"{told} The revert is committed as {short_commit(await revert(project, undone, commit))}."
    except TreeError as error:
        return f"{told} The undo is in your files only: {error}."
