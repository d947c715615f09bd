"""The one way kith runs git on the host: nothing a repository contains can make it run a program."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path

from msgspec import Struct

from kith.core.errors import TreeError
from kith.core.git import SAFE_ENVIRONMENT, SAFE_SETTINGS
from kith.core.processes import run_program
from kith.trees.environment import path_variable

SECONDS = 120.0  # a git command that takes longer is stopped

_ENVIRONMENT = SAFE_ENVIRONMENT | {"LC_ALL": "C"}
_INHERITED = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "USERPROFILE")
_FROM_STDIN = ("--pathspec-from-file=-", "--pathspec-file-nul")
_SHOWS_DIFFS = ("diff", "show", "log", "diff-tree", "diff-index", "diff-files", "format-patch")
# These never look at the content of the working tree, so filters and drivers need no overriding.
_PLUMBING = (
    "ls-files",
    "ls-tree",
    "rev-parse",
    "check-ignore",
    "cat-file",
    "config",
    "merge-file",
)


class GitRan(Struct, frozen=True):
    """A git command that ended."""

    code: int
    stdout: bytes
    stderr: bytes

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def complaint(self) -> str:
        """The error message of git, in one line."""
        lines = self.stderr.decode(errors="replace").strip().splitlines()
        return (
            lines[-1].removeprefix("fatal: ").removeprefix("error: ") if lines else f"exit code {self.code}"
        )


def git_argv(*args: str) -> list[str]:
    """The hardened command line for a built-in git command and its arguments."""
    settings = [word for setting in SAFE_SETTINGS for word in ("-c", setting)]
    command, *rest = args
    shown = ["--no-ext-diff", "--no-textconv"] if command in _SHOWS_DIFFS else []
    return ["git", "--no-pager", *settings, command, *shown, *rest]


def git_env(root: Path) -> dict[str, str]:
    """The whole environment for git in the tree at `root`: paths are inherited, and nothing else.

    Of the user's own configuration two settings are passed on: which folders are safe, and which files
    are ignored everywhere.
    """
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ} | _path(root)
    home = (os.environ.get("HOME", ""), os.environ.get("XDG_CONFIG_HOME", ""))
    return {**inherited, **_ENVIRONMENT, **_as_environment(_own_settings(home, inherited["PATH"]))}


def _as_environment(settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Settings as GIT_CONFIG_KEY_n and GIT_CONFIG_VALUE_n, where names may hold any character."""
    env = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        env[f"GIT_CONFIG_KEY_{number}"] = key
        env[f"GIT_CONFIG_VALUE_{number}"] = value
    return env


def _plain_env() -> dict[str, str]:
    """For `git config` alone, which runs nothing: the user's own configuration is readable."""
    names = (*_INHERITED, "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
    return {name: os.environ[name] for name in names if name in os.environ} | {"LC_ALL": "C"}


def _path(root: Path) -> dict[str, str]:
    """Return a PATH without the tree, which may hold a program named git."""
    return {"PATH": path_variable(root)}


@cache
def _own_settings(_home: tuple[str, str], path: str) -> tuple[tuple[str, str], ...]:
    found = list[tuple[str, str]]()
    for scope in ("--system", "--global"):
        command = ["git", "--no-pager", "config", scope, "--includes", "--type=path", "-z", "--get-regexp"]
        with suppress(OSError, subprocess.TimeoutExpired):
            ran = subprocess.run(
                [*command, r"^(safe\.directory|core\.excludesfile)$"],
                env=_plain_env() | {"PATH": path},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=10,
            )
            found += _parse_settings(ran.stdout)
    return tuple(found)


def _parse_settings(output: bytes) -> list[tuple[str, str]]:
    entries = (os.fsdecode(entry).partition("\n") for entry in output.split(b"\0") if entry)
    return [(key, value) for key, _, value in entries]


async def run_git(
    root: Path,
    *args: str,
    input: bytes | None = None,
    index: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> GitRan:
    """Run a built-in git command in `root`, hardened, to its end.

    `index` names a private index file; `env` adds variables (an author, a date). Raises TreeError when git
    is missing or takes longer than SECONDS; a failing command is a GitRan. Cancelling kills the process.
    """
    whole = git_env(root) | dict(env or {})
    if args[0] == "check-ignore":
        del whole["GIT_LITERAL_PATHSPECS"]  # it refuses to run with it
    if args[0] not in _PLUMBING:
        settings = [*_own_settings((whole.get("HOME", ""), whole.get("XDG_CONFIG_HOME", "")), whole["PATH"])]
        whole |= _as_environment([*settings, *await _without_drivers(root)])
    if index is not None:
        whole["GIT_INDEX_FILE"] = str(index)
    return await _run(root, git_argv(*args), whole, input)


async def _run(root: Path, argv: Sequence[str], env: Mapping[str, str], input: bytes | None) -> GitRan:
    try:
        ended = await run_program(argv, cwd=root, env=env, input=input, seconds=SECONDS)
    except FileNotFoundError:
        reason = "git is not installed" if root.is_dir() else f"{root} does not exist"
        raise TreeError(reason) from None
    except TimeoutError:
        raise TreeError(f"git {argv[-1]} took longer than {SECONDS:.0f} seconds") from None
    return GitRan(ended.code, ended.stdout, ended.stderr)


async def _without_drivers(root: Path) -> list[tuple[str, str]]:
    """Settings that empty every driver of the repository at `root`: filters, merges, diffs; and its hooks."""
    wanted = r"^(filter|merge|diff|hook)\..*\..*$"
    ran = await run_git(root, "config", "-z", "--name-only", "--get-regexp", wanted)
    settings = list[tuple[str, str]]()
    for key in sorted({os.fsdecode(entry) for entry in ran.stdout.split(b"\0") if entry}):
        if key.startswith("hook."):  # newer ones may stand in the configuration
            settings.append((f"{key.rpartition('.')[0]}.enabled", "false"))
            continue
        required = key.startswith("filter.") and key.endswith(".required")
        settings.append((key, "false" if required or key.endswith((".binary", ".cachetextconv")) else ""))
    return settings


async def is_repository(root: Path) -> bool:
    """True when git tracks `root`: inside a working tree, and not ignored by a repository further up."""
    try:
        ran = await run_git(root, "rev-parse", "--is-inside-work-tree", "--show-prefix")
        inside, _, prefix = ran.stdout.partition(b"\n")
        if inside != b"true" or not prefix.strip():
            return inside == b"true"
        real = root.resolve()
        return (await run_git(real.parent, "check-ignore", "--quiet", f"./{real.name}")).code != 0
    except TreeError:
        return False


async def head(root: Path) -> str:
    """The commit that is checked out, "" before the first one and outside a repository."""
    ran = await run_git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    return ran.stdout.decode().strip() if ran.ok else ""


async def identity(root: Path) -> dict[str, str]:
    """The user's own name and address as git's variables. Raises TreeError when git knows none."""
    argv = ["git", "--no-pager", "config", "-z", "--get-regexp", r"^user\.(name|email)$"]
    ran = await _run(root, argv, _plain_env() | _path(root), None)
    found = dict(_parse_settings(ran.stdout))
    name = os.environ.get("GIT_AUTHOR_NAME") or found.get("user.name", "")
    email = os.environ.get("GIT_AUTHOR_EMAIL") or found.get("user.email", "")
    if not name or not email:
        raise TreeError(
            'git does not know who you are: set user.name and user.email with "git config --global"'
        )
    return {
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": email,
        "GIT_COMMITTER_NAME": os.environ.get("GIT_COMMITTER_NAME") or name,
        "GIT_COMMITTER_EMAIL": os.environ.get("GIT_COMMITTER_EMAIL") or email,
    }


async def commit_paths(root: Path, paths: Sequence[str], message: str) -> str:
    """Commit exactly these files of the user's tree as they are now; returns the commit's hash.

    Other staged files stay staged; hooks and signing are off. Raises TreeError when git refuses: nothing
    changed, a merge in progress, no identity. Also raises it when a file goes through a filter such as
    git-lfs or git-crypt. kith runs no filters, so it would commit the wrong bytes.
    """
    who = await identity(root)
    names = b"".join(os.fsencode(path) + b"\0" for path in paths)
    await _refuse_filtered(root, names)
    known = await run_git(root, "ls-files", "-z", "--", *paths)
    new = [path for path in paths if os.fsencode(path) not in known.stdout.split(b"\0")]
    command = ("commit", "--quiet", "--only", "--cleanup=whitespace", f"--message={message}", *_FROM_STDIN)
    async with _private_index(root) as index:
        if new:
            await _succeed(root, "add", "--force", "--intent-to-add", "--", *new, index=index)
        ran = await run_git(root, *command, input=names, index=index, env=who)
    if not ran.ok:
        raise TreeError(f"git did not commit: {ran.complaint}")
    await run_git(root, "reset", "--quiet", *_FROM_STDIN, input=names)
    return await head(root)


@asynccontextmanager
async def _private_index(root: Path) -> AsyncIterator[Path]:
    """A copy of the user's index, so that a commit that fails has touched nothing of theirs.

    Raises TreeError while another git holds their index.
    """
    named = await _succeed(root, "rev-parse", "--git-path", "index")
    index = root / os.fsdecode(named.stdout).removesuffix("\n")
    if index.with_name("index.lock").exists():
        raise TreeError(f"git did not commit: another git is at work here, or left {index}.lock behind")
    with tempfile.TemporaryDirectory(prefix="kith-") as folder:
        private = Path(folder, "index")
        with suppress(FileNotFoundError):  # before the first file is staged
            shutil.copyfile(index, private)
        yield private


async def _succeed(root: Path, *args: str, index: Path | None = None) -> GitRan:
    ran = await run_git(root, *args, index=index)
    if not ran.ok:
        raise TreeError(f"git {args[0]} refused: {ran.complaint}")
    return ran


async def _refuse_filtered(root: Path, names: bytes) -> None:
    ran = await run_git(root, "check-attr", "-z", "--stdin", "filter", input=names)
    fields = ran.stdout.split(b"\0")
    for path, value in zip(fields[::3], fields[2::3], strict=False):
        if value not in (b"unspecified", b"unset"):
            raise TreeError(
                f"{os.fsdecode(path)} goes through the git filter {os.fsdecode(value)}: commit it yourself"
            )
