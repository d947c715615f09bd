"""A clone for each run: taken from a mirror on this machine, at one commit, in a place of its own."""

import asyncio
import fcntl
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

from kith.core.errors import TreeError
from kith.core.git import SAFE_ENVIRONMENT, SAFE_SETTINGS
from kith.features.fleet.settings import without_dsn
from kith.features.forges.remote import checked, run_remote, run_words
from kith.trees.git import GitRan


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


def mirror_of(mirrors: Path, repository: str) -> Path:
    """The place of a repository's mirror."""
    return mirrors / f"{sha256(repository.encode()).hexdigest()[:20]}.git"


@asynccontextmanager
async def _mirror(mirrors: Path, repository: str) -> AsyncIterator[Path]:
    """The mirror of a repository, made where there is none, held against other workers meanwhile."""
    mirrors.mkdir(parents=True, exist_ok=True, mode=0o700)
    place = mirror_of(mirrors, repository)
    complete = place.with_suffix(".complete")
    lock = await asyncio.to_thread(_hold, place.with_suffix(".lock"))
    try:
        if not complete.exists():
            await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
            await run_remote(
                "clone", "--quiet", "--mirror", "--config", "gc.auto=0", "--", repository, str(place)
            )
            complete.touch()
        yield place
    finally:
        os.close(lock)


def _hold(file: Path) -> int:
    lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def _is_commit(revision: str) -> bool:
    return len(revision) in (40, 64) and all(letter in "0123456789abcdef" for letter in revision)


async def _has(mirror: Path, commit: str) -> bool:
    return (await _git("--git-dir", str(mirror), "cat-file", "-e", f"{commit}^{{commit}}")).ok


async def _fetch(mirror: Path) -> None:
    await run_remote("--git-dir", str(mirror), "fetch", "--quiet", "--prune", "--force", "origin")


async def _must(*args: str, at: Path | None = None) -> GitRan:
    return checked(await _git(*args, at=at))


async def _git(*args: str, at: Path | None = None) -> GitRan:
    """Run git on this machine, where nothing that a repository holds can start a program."""
    settings = [word for setting in SAFE_SETTINGS for word in ("-c", setting)]
    env = {**without_dsn(os.environ), **SAFE_ENVIRONMENT, "LC_ALL": "C", "GIT_ALLOW_PROTOCOL": "file"}
    return await run_words([*(("-C", str(at)) if at else ()), *settings, *args], env)
