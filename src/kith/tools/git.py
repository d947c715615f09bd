"""Look at the repository's history and state; stage and commit. Nothing here rewrites history."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from kith.core.git import git_command
from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import CallTarget, Effect, Ran, ToolResult
from kith.tools.answers import count, in_words, plain_output, refused, told
from kith.tools.paths import inner_path, paths_of

_AUTHOR: Final = ("-c", "user.name=kith", "-c", "user.email=kith@localhost")
_QUIET_DIFF: Final = ("--no-ext-diff", "--no-textconv", "--no-color")
_READS: Final[dict[str, tuple[str, ...]]] = {
    "status": ("status", "--short", "--branch", "--untracked-files=all", "--ignore-submodules"),
    "diff": ("diff", "--ignore-submodules=dirty", *_QUIET_DIFF),
    "log": ("log", "-n20", "--date=short", "--format=%h %ad %an: %s"),
    "show": ("show", "--stat", "--patch", "--date=short", *_QUIET_DIFF),
    "blame": ("blame", "--date=short", "--no-textconv"),
}
_SWITCHES: Final = (".required", ".binary", ".cachetextconv")  # settings of drivers that are no programs
_WRITES: Final = ("stage", "commit")
_NAMES: Final = {"add": "stage"}  # what models say for an action
# Names, hashes, ranges (a..b), ancestors (HEAD~2, x^), and path@revision forms; never an option.
_REVISION: Final = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_./@^~{}:+-]*")


@in_words
async def _git(args: Mapping[str, Any], run: Run) -> ToolResult:
    action = _action(args)
    words = _words(action, args, [inner_path(run, path) for path in paths_of(args)])
    if isinstance(words, str):
        return refused(words)
    author = _AUTHOR if action == "commit" else ()
    command = git_command(*author, *words)
    command = replace(command, env={**command.env, **await _without_drivers(run)})
    ran = await run.workspace.exec(command, run.limits.exec)
    return _report(action, replace(ran, command=shlex.join(["git", *words])))


async def _without_drivers(run: Run) -> dict[str, str]:
    """Variables that empty the repository's filter and merge programs, where no sandbox would hold them.

    The names are the repository's own and may hold any character, so they cannot be behind `-c`.
    """
    if run.workspace.confined:
        return {}
    asked = git_command("config", "-z", "--name-only", "--get-regexp", r"^(filter|merge|diff)\..*\..*$")
    keys = (await run.workspace.exec(asked, run.limits.exec)).output.split("\0")[:-1]
    env = {"GIT_CONFIG_COUNT": str(len(keys))}
    for number, key in enumerate(keys):
        env[f"GIT_CONFIG_KEY_{number}"] = key
        env[f"GIT_CONFIG_VALUE_{number}"] = "false" if key.endswith(_SWITCHES) else ""
    return env


def _action(args: Mapping[str, Any]) -> str:
    action = str(args["action"]).strip().removeprefix("git ")
    return _NAMES.get(action, action)


def _words(action: str, args: Mapping[str, Any], paths: Sequence[str]) -> Sequence[str] | str:
    """The git command for an action, or what is wrong with it."""
    revision, message = args.get("revision", ""), args.get("message", "")
    if revision and not _REVISION.fullmatch(revision):
        return f"{revision!r} is not a revision: send a branch, a commit, or a range such as main..HEAD."
    if action == "stage":
        return ("add", "--all", "--", *(paths or ["."]))
    if action == "commit":
        if not message.strip() or "\0" in message:
            return "A commit needs a message of plain text."
        return ("commit", "--no-verify", "-m", message, *(("--", *paths) if paths else ()))
    if action not in _READS:
        return f"git has no action {action!r} here; there are: {', '.join((*_READS, *_WRITES))}."
    if action == "blame" and len(paths) != 1:
        return "blame needs one file in paths."
    if action == "status":
        revision = ""
    elif action == "diff":
        revision = revision or "HEAD"  # staged and unstaged changes alike
    return (*_READS[action], *([revision] if revision else []), "--", *paths)


def _report(action: str, ran: Ran) -> ToolResult:
    output = plain_output(ran.output)
    if ran.code != 0 or ran.timed_out:
        why = "it took too long and was stopped" if ran.timed_out else f"exit code {ran.code}"
        line = f"git {action} failed: {why}"
        return replace(told(f"{line}\n{output}".strip(), line, ran=ran), ok=False)
    empty = {"diff": "no differences", "log": "no commits"}.get(action, "done")
    size = count(output.count("\n") + 1, "line") if output else empty
    return told(output or f"git {action}: {empty}", f"git {action}: {size}", ran=ran)


def _effect_of(args: Mapping[str, Any]) -> Effect:
    return "read" if _action(args) in _READS else "write"


def _target(args: Mapping[str, Any]) -> CallTarget:
    return CallTarget(" ".join((_action(args), *paths_of(args))))


GIT = Tool(
    "git",
    "status, diff, log, show, blame, stage or commit.",
    {
        "type": "object",
        "properties": {
            "action": {"type": "string"},
            "paths": {"type": "array", "items": {"type": "string"}},
            "revision": {"type": "string"},
            "message": {"type": "string"},
        },
        "required": ["action"],
    },
    "write",
    _git,
    _target,
    _effect_of,
)
