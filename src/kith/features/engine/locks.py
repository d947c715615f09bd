"""Locks on files that the system lets go of when their owner dies, however it dies."""

import os
from io import FileIO
from pathlib import Path


def take(path: Path) -> FileIO | None:
    """The file at `path`, locked for this process alone; None while anybody else has a lock on it."""
    return _lock(path, alone=True)


def share(path: Path) -> FileIO | None:
    """The file at `path`, locked together with any number of others; None while somebody has it alone."""
    return _lock(path, alone=False)


def holds(lock: FileIO, path: Path) -> bool:
    """Whether a lock is still on the file that is at `path` now, and not on one that was removed."""
    try:
        return os.fstat(lock.fileno()).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False


def is_taken(path: Path) -> bool:
    """Whether anybody has a lock on the file."""
    if not path.exists():
        return False
    lock = take(path)
    if lock is not None:
        lock.close()
    return lock is None


def _lock(path: Path, *, alone: bool) -> FileIO | None:
    """A lock is an open file: closing it, on purpose or by dying, releases it (flock(2))."""
    import fcntl

    try:
        file = FileIO(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+")
    except FileNotFoundError:  # its folder was just cleared away
        return None
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    # Between opening and locking, the last owner may have removed the file: then this lock is nobody's.
    if holds(file, path):
        return file
    file.close()
    return None
