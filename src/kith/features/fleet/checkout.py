"""A clone for each run: taken from a mirror on this machine, at one commit, in a place of its own."""

import asyncio
import fcntl
import os
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

from kith.core.errors import TreeError
from kith.core.git import SAFE_ENVIRONMENT, SAFE_SETTINGS
from kith.core.processes import run_program
from kith.features.fleet.settings import without_dsn
from kith.trees.git import GitRan

_CLONE_S: Final = 1800.0  # a large repository over a slow line
# Protocols that run no program: a repository's address comes from whoever submits tasks.
_PROTOCOLS: Final = "file:git:http:https:ssh"
_SECRET: Final = "KITH_GIT_TOKEN"  # in the environment of one git, never among its words


async def resolve(mirrors: Path, repository: str, revision: str) -> str:
    """The commit that a revision means now. The mirror is fetched unless it has that very commit.

    Raises TreeError where git cannot.
    """
    async with _mirror(mirrors, repository) as mirror:
        if not (_is_commit(revision) and await _has(mirror, revision)):
            await _fetch(mirror)
        for name in (f"refs/heads/{revision}", revision):
            found = await _git(
                "--git-dir",
                str(mirror),
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                f"{name}^{{commit}}",
            )
            if found.ok:
                return found.stdout.decode().strip()
    raise TreeError(f"{repository} has no revision {revision}")


async def check_out(mirrors: Path, repository: str, commit: str, tree: Path) -> None:
    """Clone one commit into an empty place; the objects stay in the mirror."""
    async with _mirror(mirrors, repository) as mirror:
        if not await _has(mirror, commit):
            await _fetch(mirror)
        await _must(
            "clone", "--quiet", "--shared", "--no-checkout", "--no-tags", "--", str(mirror), str(tree)
        )
    await _must("checkout", "--quiet", "--detach", commit, at=tree)
    await _must("remote", "set-url", "origin", repository, at=tree)


async def commit_all(tree: Path, base: str, message: str, branch: str, bundle: Path) -> str:
    """Commit all changes of a tree on a branch, and write them as a bundle from `base` on; its commit.

    "" where the tree holds no change. Hooks of the repository are not run.
    """
    who = ("-c", "user.name=kith", "-c", "user.email=kith@localhost", "-c", "commit.gpgsign=false")
    await _must("checkout", "--quiet", "-B", branch, at=tree)
    await _must("add", "--all", at=tree)
    if (await _git("diff", "--cached", "--quiet", "--no-ext-diff", at=tree)).code == 1:
        await _must(*who, "commit", "--quiet", "--no-verify", "--message", message, at=tree)
    head = (await _must("rev-parse", "HEAD", at=tree)).stdout.decode().strip()
    if head == base:
        return ""
    await _must("bundle", "create", "--quiet", str(bundle), f"{base}..{branch}", at=tree)
    return head


async def diff_since(tree: Path, base: str) -> bytes:
    """The patch from `base` to the last commit, binary files included."""
    return (await _must("diff", "--binary", "--no-ext-diff", "--no-textconv", base, "HEAD", at=tree)).stdout


async def take_bundle(mirrors: Path, repository: str, base: str, bundle: Path, branch: str) -> str:
    """Put a bundle's commits into the mirror; the commit of its branch."""
    ref = f"refs/heads/{branch}"
    async with _mirror(mirrors, repository) as mirror:
        if not await _has(mirror, base):
            await _fetch(mirror)
        await _must("--git-dir", str(mirror), "fetch", "--quiet", "--no-write-fetch-head", str(bundle), ref)
    heads = await _must("bundle", "list-heads", str(bundle), ref)
    return heads.stdout.decode().split()[0]


async def find_heads(
    target: str, branches: Sequence[str], secret: tuple[str, str]
) -> tuple[str, dict[str, str]]:
    """The default branch of a repository ("" for none), and the commits of those branches that it has."""
    refs = [f"refs/heads/{each}" for each in branches]
    listed = await _remote("ls-remote", "--symref", "--", target, "HEAD", *refs, secret=secret)
    default, heads = "", dict[str, str]()
    for line in listed.stdout.decode(errors="replace").splitlines():
        value, _, name = line.partition("\t")
        if value.startswith("ref: refs/heads/") and name == "HEAD":
            default = value.removeprefix("ref: refs/heads/")
        elif name in refs:
            heads[name.removeprefix("refs/heads/")] = value
    return default, heads


async def push_commit(
    mirrors: Path, repository: str, target: str, commit: str, branch: str, seen: str, secret: tuple[str, str]
) -> None:
    """Make a commit of the mirror the branch of a repository, where that is as it was seen ("": absent).

    Raises TreeError where it is not, or git cannot.
    """
    ref, mirror = f"refs/heads/{branch}", _place(mirrors, repository)
    lease = f"--force-with-lease={ref}:{seen}"
    await _remote(
        *("--git-dir", str(mirror), "push", "--quiet", "--no-verify", lease),
        *("--", target, f"{commit}:{ref}"),
        secret=secret,
    )


@asynccontextmanager
async def _mirror(mirrors: Path, repository: str) -> AsyncIterator[Path]:
    """The mirror of a repository, made where there is none, held against other workers meanwhile."""
    mirrors.mkdir(parents=True, exist_ok=True, mode=0o700)
    place = _place(mirrors, repository)
    complete = place.with_suffix(".complete")
    lock = await asyncio.to_thread(_hold, place.with_suffix(".lock"))
    try:
        if not complete.exists():
            await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
            await _remote(
                "clone", "--quiet", "--mirror", "--config", "gc.auto=0", "--", repository, str(place)
            )
            complete.touch()
        yield place
    finally:
        os.close(lock)


def _place(mirrors: Path, repository: str) -> Path:
    return mirrors / f"{sha256(repository.encode()).hexdigest()[:20]}.git"


def _hold(file: Path) -> int:
    lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def _is_commit(revision: str) -> bool:
    return len(revision) in (40, 64) and all(letter in "0123456789abcdef" for letter in revision)


async def _has(mirror: Path, commit: str) -> bool:
    return (await _git("--git-dir", str(mirror), "cat-file", "-e", f"{commit}^{{commit}}")).ok


async def _fetch(mirror: Path) -> None:
    await _remote("--git-dir", str(mirror), "fetch", "--quiet", "--prune", "--force", "origin")


async def _must(*args: str, at: Path | None = None) -> GitRan:
    return _checked(await _git(*args, at=at))


async def _git(*args: str, at: Path | None = None) -> GitRan:
    """Run git on this machine, where nothing that a repository holds can start a program."""
    settings = [word for setting in SAFE_SETTINGS for word in ("-c", setting)]
    env = {**without_dsn(os.environ), **SAFE_ENVIRONMENT, "LC_ALL": "C", "GIT_ALLOW_PROTOCOL": "file"}
    return await _run([*(("-C", str(at)) if at else ()), *settings, *args], env)


async def _remote(*args: str, secret: tuple[str, str] = ("", "")) -> GitRan:
    """Run git in a mirror, with this worker's own credentials: only here may it reach the network.

    `secret`: an origin, and the token that git shows there and nowhere else.
    """
    quiet = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_ALLOW_PROTOCOL": _PROTOCOLS}
    origin, token = secret
    settings = list[str]()
    if origin:
        quiet[_SECRET] = token
        helper = f"!f() {{ echo username=x-access-token; echo password=${_SECRET}; }}; f"
        for each in ("", helper):  # the first takes the helpers of this machine away
            settings += ["-c", f"credential.{origin}.helper={each}"]
    return _checked(await _run([*settings, *args], {**without_dsn(os.environ), **quiet}))


async def _run(words: Sequence[str], env: Mapping[str, str]) -> GitRan:
    try:
        ended = await run_program(["git", *words], seconds=_CLONE_S, env=env)
    except TimeoutError:
        raise TreeError(f"git took longer than {_CLONE_S:.0f} s") from None
    except OSError as error:
        raise TreeError(f"git cannot be run: {error.strerror}") from error
    return GitRan(ended.code, ended.stdout, ended.stderr)


def _checked(ran: GitRan) -> GitRan:
    if not ran.ok:
        said = ran.stderr.decode(errors="replace").splitlines()  # the first error is the cause
        causes = [line for line in said if line.startswith(("fatal: ", "error: ", "remote: "))] or said[-1:]
        raise TreeError(f"git says: {causes[0] if causes else f'exit code {ran.code}'}")
    return ran
