"""Git's part in a change of files: whether git was at work, and which lines it already holds."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from kith.core.errors import TreeError
from kith.trees.git import run_git

_STASHES: Final = 10  # the newest ones, which may be applied and stay
_VERSIONS: Final = ("HEAD:", ":0:", ":1:", ":2:", ":3:", *(f"stash@{{{n}}}:" for n in range(_STASHES)))
_OWN: Final = ("HEAD", "index", "logs/HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD")
Stamp = tuple[int, int, int] | None


class GitState(Struct, frozen=True):
    """The stamps of git's own files; `busy`: a git command is writing now. All None without a repository."""

    files: tuple[Stamp, ...] = ()
    stash: Stamp = None
    busy: bool = False


def git_state(root: Path) -> GitState:
    """Look at git's files, without a process."""
    own = _git_folder(root)
    if own is None:
        return GitState()
    shared = _shared_folder(own)
    stash = _stamp(shared / "logs/refs/stash") or _stamp(shared / "refs/stash")
    return GitState(tuple(_stamp(own / name) for name in _OWN), stash, (own / "index.lock").exists())


def _git_folder(root: Path) -> Path | None:
    """The repository's folder; in a linked worktree `.git` is a file that names it."""
    place = root / ".git"
    try:
        if place.is_dir():
            return place
        words = place.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    return root / words.removeprefix("gitdir:").strip() if words.startswith("gitdir:") else None


def _shared_folder(own: Path) -> Path:
    try:
        return own / (own / "commondir").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return own


def _stamp(path: Path) -> Stamp:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


async def is_as_git_left_it(root: Path, path: str) -> bool:
    """True if git has put the file there: it is unchanged since, in conflict, or git cannot tell.

    Git compares, since a file may differ from its blob by what attributes make of it.
    """
    try:
        staged = await run_git(root, "ls-files", "--stage", "-z", "--", path)
        entries = staged.stdout.count(b"\0")
        if staged.ok and entries == 1:
            compared = await run_git(root, "diff-files", "--quiet", "--", path)
            return compared.code != 1
    except TreeError:
        return True
    return entries > 1 or not staged.ok


async def versions_in_git(root: Path, path: str) -> tuple[bytes, ...]:
    """Each version of a file that git holds: committed, staged, in conflict, stashed."""
    asked = "".join(f"{version}{path}\n" for version in _VERSIONS)
    try:
        ran = await run_git(root, "cat-file", "--batch", input=os.fsencode(asked))
    except TreeError:
        return ()
    return tuple(_blobs(ran.stdout))


def _blobs(output: bytes) -> Iterator[bytes]:
    """The contents in the answer of `git cat-file --batch`."""
    while output:
        head, _, output = output.partition(b"\n")
        match head.split(b" "):
            case [_, kind, size] if size.isdigit():
                if kind == b"blob":
                    yield output[: int(size)]
                output = output[int(size) + 1 :]
