"""Paths that the tree's own git names: a short cut, which may be missing."""

import shlex
from collections.abc import Sequence

from kith.core.git import SAFE_SETTINGS
from kith.core.run import Run
from kith.core.workspace import Command, ExecLimits

# A repository's attributes can still make git run programs, so these commands run confined or not at all.
_GIT = ("git", "--no-pager", *(word for setting in SAFE_SETTINGS for word in ("-c", setting)))


async def list_paths(run: Run, args: Sequence[str], limits: ExecLimits) -> tuple[str, ...] | None:
    """The paths in the answer of a git command that ends each with a NUL (`-z`).

    None when there is no answer to rely on: no git, no repository, no sandbox, too slow, too long, or names
    that are not UTF-8. A search that finds nothing answers with an empty tuple.
    """
    if not run.workspace.confined:
        return None
    ran = await run.workspace.exec(Command(shlex.join([*_GIT, *args])), limits)
    if ran.timed_out or ran.cut or ran.code > 1 or "\ufffd" in ran.output:
        return None
    if ran.code == 1 and (ran.output or args[0] != "grep"):
        return None
    return tuple(path for path in ran.output.split("\0") if path)
