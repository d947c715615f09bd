"""The cache of downloaded models that all programs share: Hugging Face's layout on the disk.

    models--USER--REPO/blobs/DIGEST               the bytes, once
    models--USER--REPO/snapshots/COMMIT/FILE      a relative link to them
    models--USER--REPO/refs/main                  the newest COMMIT
    .locks/models--USER--REPO/DIGEST.lock         held by who downloads

Source: https://huggingface.co/docs/huggingface_hub/guides/manage-cache.
"""

import asyncio
import errno
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from kith.features.engine.download.quants import HubFile

PAUSE_S = 0.2
# What a file system answers that has no locks: the download then goes on without.
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})


@dataclass(frozen=True, slots=True)
class Shelf:
    """One repository's place in the cache. Its methods raise OSError; each may be repeated after a crash."""

    cache: Path
    repo: str

    @property
    def folder(self) -> Path:
        return self.cache / f"models--{self.repo.replace('/', '--')}"

    @property
    def locks(self) -> Path:
        return self.cache / ".locks" / self.folder.name

    def blob(self, file: HubFile) -> Path:
        return self.folder / "blobs" / file.digest

    def snapshot(self, commit: str, file: HubFile) -> Path:
        return self.folder / "snapshots" / commit / file.path

    def holds(self, commit: str, file: HubFile) -> bool:
        """Whether the whole file is there, here or in the snapshot itself (where links cannot be made)."""
        return any(size_of(path) == file.size for path in (self.blob(file), self.snapshot(commit, file)))

    def show(self, commit: str, file: HubFile) -> Path:
        """Let a blob be found under the file's name in the snapshot; returns that path."""
        path, blob = self.snapshot(commit, file), self.blob(file)
        if size_of(path) == file.size and not path.is_symlink():
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        target = os.path.relpath(blob, path.parent)
        if path.is_symlink() and os.readlink(path) == target:  # noqa: PTH115 -- as text
            return path
        path.unlink(missing_ok=True)
        _link(blob, path, target)
        return path

    def point(self, commit: str) -> None:
        """Make `main` mean this commit. The new file is written beside the refs, which others list."""
        fresh = self.locks / f"main.{os.getpid()}"
        fresh.write_text(commit, encoding="ascii")
        (self.folder / "refs").mkdir(exist_ok=True)
        fresh.replace(self.folder / "refs" / "main")


def size_of(path: Path) -> int:
    """A file's size in bytes; -1 when it is not there."""
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return -1


def _link(blob: Path, path: Path, target: str) -> None:
    """A symbolic link, else a hard one, else the file itself moves: a copy would take its room twice."""
    try:
        path.symlink_to(target)
    except OSError:  # Windows without the privilege, or FAT
        try:
            path.hardlink_to(blob)
        except OSError:
            blob.replace(path)


@asynccontextmanager
async def hold_lock(path: Path, tell_busy: Callable[[], None]) -> AsyncIterator[None]:
    """Hold a lock file, waiting for its owner as long as that lives; `tell_busy` is called meanwhile.

    A stale lock cannot exist: the kernel lets go when the process ends, however it ends.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        while not try_lock(fd):
            tell_busy()
            await asyncio.sleep(PAUSE_S)
        yield
    finally:
        os.close(fd)


def is_held(path: Path) -> bool:
    """Whether somebody holds the lock file."""
    try:
        fd = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not try_lock(fd)
    finally:
        os.close(fd)


if sys.platform == "win32":
    import msvcrt

    def try_lock(fd: int) -> bool:
        """Take the lock of an open file, if nobody has it."""
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def try_lock(fd: int) -> bool:
        """Take the lock of an open file, if nobody has it; a file system without locks counts as free."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        return True
