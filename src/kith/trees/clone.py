"""Copy a tree for a trial: every file, the ignored ones within a limit, and a light `.git`."""

import os
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from kith.trees.walk import LONGEST, walk

IGNORED_LIMIT = 500_000_000  # bytes of ignored files that are taken along
_FICLONE = 0x40049409  # linux/fs.h: share the blocks of another file until one of them is written to
_GIT_PARTS = ("HEAD", "packed-refs", "index", "config", "shallow", "info/exclude")


def clone_tree(
    root: Path, listed: Sequence[str], target: Path, limit: int = IGNORED_LIMIT
) -> tuple[str, ...]:
    """Copy the tree at `root`, whose not ignored files are `listed`, to the new folder `target`.

    `limit` is for the ignored files, in bytes. Returns what was left out, in sentences.
    """
    target.mkdir()
    notes, room = list[str](), limit
    for path in listed:
        if len(os.fsencode(target / path)) >= LONGEST:
            notes.append(f"{path[:60]}... is not in the trial: its path is too long")
            continue
        make_folders((target / path).parent)
        clone_file(root / path, target / path)
    for path in _unlisted(root, listed):
        size = _size(root / path)
        if size > room:
            notes.append(f"{path} ({size // 1_000_000:,} MB) is not in the trial: it is ignored and large")
            continue
        room -= size
        _clone_any(root / path, target / path)
    return (*notes, *_clone_git(root, target))


def _unlisted(root: Path, listed: Sequence[str]) -> Iterator[str]:
    """Files that are not listed, and folders in which no file is; the outermost only."""
    files = set(listed)
    folders = {""}
    for path in listed:
        while path := path.rpartition("/")[0]:
            if path in folders:
                break
            folders.add(path)
    waiting = [""]
    longest = LONGEST - 2 - len(os.fsencode(root))
    while waiting:
        folder = waiting.pop()
        for entry in os.scandir(root / folder):
            path = f"{folder}/{entry.name}" if folder else entry.name
            if path in (".git", ".kith") or path in files or len(os.fsencode(path)) > longest:
                continue
            if path in folders and entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            else:
                yield path


def _clone_any(source: Path, target: Path) -> None:
    if not source.is_dir() or source.is_symlink():
        clone_file(source, target)
        return
    made = list[tuple[Path, Path]]()
    for visit in walk(source, LONGEST - 2 - len(os.fsencode(target))):
        place = target / visit.path
        with suppress(FileExistsError):
            place.mkdir()
        for name in visit.files:
            clone_file(source / visit.path / name, place / name)
        made.append((source / visit.path, place))
    for old, new in reversed(made):  # which may close them to writing
        with suppress(OSError):
            shutil.copystat(old, new)


def make_folders(folder: Path) -> None:
    """A folder and all above it; `mkdir(parents=True)` recurses."""
    missing = list[Path]()
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(exist_ok=True)


def clone_file(source: Path | str, target: Path | str) -> None:
    """Copy a file or link with its permissions, sharing blocks where the file system can.

    Special files and those that may not be read are left out.
    """
    with suppress(FileNotFoundError, PermissionError):
        mode = os.lstat(source).st_mode
        if stat.S_ISLNK(mode):
            os.symlink(os.readlink(source), target)  # noqa: PTH115, PTH211  (names may come from copytree)
        elif stat.S_ISREG(mode):
            if not _share(source, target):
                shutil.copyfile(source, target, follow_symlinks=False)
            shutil.copystat(source, target)


def _share(source: Path | str, target: Path | str) -> bool:
    if sys.platform != "linux":
        return False
    import fcntl

    with Path(source).open("rb") as old, Path(target).open("wb") as new:
        try:
            fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
        except OSError:
            return False  # another file system, or one that cannot
    return True


def _size(path: Path) -> int:
    if path.is_symlink() or not path.is_dir():
        return os.lstat(path).st_size
    total = 0
    for visit in walk(path):
        for name in visit.files:
            with suppress(OSError):
                total += visit.folder.stat(name).st_size
    return total


def _clone_git(root: Path, target: Path) -> tuple[str, ...]:
    """A repository of its own whose objects are borrowed: commits in the trial stay in the trial."""
    source = root / ".git"
    if not source.exists():
        return ()
    # A linked worktree, or `core.worktree`: git in the copy would work on the user's own files.
    if not source.is_dir() or source.is_symlink() or b"worktree" in (source / "config").read_bytes().lower():
        return ("git does not work in the trial: the repository's files are elsewhere",)
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (target / ".git" / name).mkdir(parents=True, exist_ok=True)
    for name in (*_GIT_PARTS, *(shared.name for shared in source.glob("sharedindex.*"))):
        clone_file(source / name, target / ".git" / name)
    for name in ("refs", "reftable"):
        if (source / name).is_dir():
            shutil.copytree(source / name, target / ".git" / name, dirs_exist_ok=True)
    objects = target.parent / "objects"
    objects.symlink_to(source / "objects")
    (target / ".git/objects/info/alternates").write_text(f"{objects}\n")
    return ()
