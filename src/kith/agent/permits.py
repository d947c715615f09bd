"""Decide what needs no question in a project: read-only commands, and permanent permissions."""

import os
import shlex
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from msgspec import Struct

from kith.agent.project import Project
from kith.context.secrets import is_secret_file
from kith.core.errors import UsageError
from kith.core.git import git_command
from kith.core.hosts import net_allows
from kith.core.policy import bare_call
from kith.core.values import CallTarget, Effect, Ran
from kith.core.workspace import ExecLimits
from kith.memory.log import LOG_FILE, Log
from kith.memory.permits import Permit, forget_permits, permitted
from kith.settings import find_folders
from kith.shell import TRUSTING, Judgement, Read, decide, is_within, pattern_of
from kith.trees.reachable import why_git_may_run, why_private


class OnDisk(Struct, frozen=True):
    """Checks on the tree at `root` for a command that would read it."""

    root: Path

    def read(self, read: Read) -> str:
        return why_private(self.root, read.path, _tells, glob=read.glob, below=read.below)

    def settings(self) -> str:
        return why_git_may_run(self.root)


def _tells(path: str) -> bool:
    return is_secret_file(path, ignored=True)


class ProjectPermits(Struct, frozen=True):
    """The permits of one project; `confined`: its commands run in a sandbox, which may reach `hosts`.

    `calls` are patterns for tools of servers, such as `github/get_*`. `veiled`: who runs commands may not see
    private files, so that without a sandbox looking is asked about, too.
    """

    log: Log
    root: Path
    confined: bool
    hosts: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    veiled: bool = False

    def allows(self, effect: Effect, target: CallTarget) -> bool:
        if effect == "exec" and not self.veiled and decide_here(self.root, target.text).allowed:
            return True
        if effect == "call":
            return self._allows_call(target.tool)
        patterns = [each.pattern for each in permitted(self.log, self.root) if each.effect == effect]
        held = effect == "web" or (effect == "net" and self.confined)
        if held and net_allows((*self.hosts, *patterns), target.hosts):
            return True
        return any(is_within(str(target), pattern) for pattern in patterns)

    def _allows_call(self, identity: str) -> bool:
        """True if the settings allow the tool, or the person did permanently, in its present form."""
        if any(fnmatchcase(bare_call(identity), pattern) for pattern in self.calls):
            return True
        return Permit("call", identity) in permitted(self.log, self.root)

    def pattern(self, effect: Effect, target: CallTarget) -> str:
        """A call's tool; the hosts alone where a sandbox, or kith, holds it to them; else the whole of it."""
        if effect == "web" or (effect == "net" and self.confined):
            return " ".join(target.hosts)
        if effect == "call":
            return target.tool
        return pattern_of(str(target)) if effect in ("exec", "net") else ""


def decide_here(root: Path, line: str) -> Judgement:
    """Judge a command for the tree at `root`, with a look at the disk."""
    if os.name == "nt":
        return Judgement(False, "This is not a bash command.")
    return decide(line, OnDisk(root))


def remembered(root: Path) -> tuple[Permit, ...]:
    """List the permanent permissions in a project."""
    _, state, _ = find_folders()
    return permitted(Log(state / LOG_FILE), root) if (state / LOG_FILE).is_file() else ()


def forget(root: Path, permits: tuple[Permit, ...]) -> None:
    """Ask again about these."""
    if permits:
        forget_permits(Log(find_folders()[1] / LOG_FILE), root, permits)


def permits_of(project: Project, *, veiled: bool = False) -> ProjectPermits:
    """Return the permissions of this project, for a model with or without hidden files."""
    hosts = project.settings.reachable
    servers = project.settings.mcp.items()
    calls = tuple(f"{name}/{pattern}" for name, server in servers for pattern in server.allow)
    return ProjectPermits(project.log, project.root, project.tree.confined, hosts, calls, veiled)


# A look at the repository for the person: what git says, where it plainly does nothing but look.

_STATUS: Final = ("status", "--short", "--branch")
_SHOWS_CONTENTS: Final = ("diff", "log", "show")
_NO_DRIVERS: Final = ("--no-ext-diff", "--no-textconv")
_LIMITS: Final = ExecLimits(seconds=30.0, output=200_000)


async def look_with_git(project: Project, args: Sequence[str]) -> Ran:
    """Run git read-only with these arguments (none: the status). Raises UsageError for others.

    In a sandbox, programs in the repository's own settings are harmless; without one, they are refused.
    """
    line = shlex.join(["git", *(args or _STATUS)])
    judged = decide(line, TRUSTING) if project.tree.confined else decide_here(project.root, line)
    if not judged.allowed:
        reason = judged.why if judged.doubt == "acts" else judged.reason
        raise UsageError(
            f"/git is read-only. {reason[:1].upper()}{reason[1:]} To run this in the trial: !{line}"
        )
    name, *rest = args or _STATUS
    quiet = _NO_DRIVERS if name in _SHOWS_CONTENTS else ()
    return await project.tree.exec(git_command(name, *quiet, *rest), _LIMITS)
