"""A look at the repository for the person: what git says, where it plainly does nothing but look."""

import shlex
from collections.abc import Sequence
from typing import Final

from kith.agent.permits import decide_here
from kith.agent.project import Project
from kith.core.errors import UsageError
from kith.core.values import Ran
from kith.core.workspace import ExecLimits
from kith.shell import TRUSTING, decide
from kith.tools.git import git_command

_STATUS: Final = ("status", "--short", "--branch")
_SHOWS_CONTENTS: Final = ("diff", "log", "show")
_NO_DRIVERS: Final = ("--no-ext-diff", "--no-textconv")
_LIMITS: Final = ExecLimits(seconds=30.0, output=200_000)


async def look_with_git(project: Project, args: Sequence[str]) -> Ran:
    """What git says to these arguments (none: how the tree stands). Raises UsageError where it would do more.

    In a sandbox nothing that the repository's own settings name can do harm; without one it is refused.
    """
    line = shlex.join(["git", *(args or _STATUS)])
    judged = decide(line, TRUSTING) if project.tree.confined else decide_here(project.root, line)
    if not judged.allowed:
        reason = judged.why if judged.doubt == "acts" else judged.reason
        raise UsageError(f"/git only looks. {reason[:1].upper()}{reason[1:]} To run it in a trial: !{line}")
    name, *rest = args or _STATUS
    quiet = _NO_DRIVERS if name in _SHOWS_CONTENTS else ()
    return await project.tree.exec(git_command(name, *quiet, *rest), _LIMITS)
