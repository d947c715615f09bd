"""Lock files that the system frees when their holder ends: held now or not at all, or when they are free."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from kith.core.errors import BusyError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_LOOKS: Final = 5  # who only asks whether a file is locked, or is just leaving, holds it for a moment
_LOOK_S: Final = 0.01
_YOUNG_S: Final = 5.0  # since somebody wanted a lock: who sweeps leaves it alone
_WAIT_S: Final = 2.0
_PAUSE_S: Final = 0.02


# Held now, or not at all.


def hold_now(path: Path) -> IO[str] | None:
    """The file, locked until it is closed or the process dies; None when somebody else holds it."""
    while True:
        file = path.open("w")
        if not _lock_soon(file):
            file.close()
            return None
        # The former holder removes the file as it leaves: a lock on a removed file locks nobody out.
        if _is_at(path, file):
            return file
        file.close()


def _is_at(path: Path, file: IO[str]) -> bool:
    """True if the open file is still the one at this path."""
    try:
        return path.stat().st_ino == os.fstat(file.fileno()).st_ino
    except FileNotFoundError:
        return False


def let_go(lock: IO[str]) -> None:
    """Let others have what `hold_now` gave."""
    with suppress(OSError):  # the file counts for nothing without the lock
        Path(lock.name).unlink(missing_ok=True)
    lock.close()


def sweep_locks(folder: Path, young_s: float = _YOUNG_S) -> None:
    """Remove the files of `hold_now` that killed processes left: those that nobody holds.

    A process that wants one meanwhile finds it removed, as when its holder leaves, and makes it again. Files
    of the last `young_s` seconds are left: who looks at one holds it for a moment.
    """
    for path in folder.glob("*.lock"):
        with suppress(OSError), path.open("r+") as file:
            if time.time() - path.stat().st_mtime < young_s:
                continue
            if try_lock(file) and _is_at(path, file):
                path.unlink()


def _lock_soon(file: IO[str]) -> bool:
    for look in range(_LOOKS):
        if try_lock(file):
            return True
        time.sleep(_LOOK_S if look < _LOOKS - 1 else 0)
    return False


def try_lock(file: IO[str]) -> bool:
    """True if an open file could be locked; it stays locked until it is closed."""
    try:
        return _try_lock(file.fileno())
    except OSError:
        return False


# Held when it is free, or after a wait in vain not at all.


@contextmanager
def hold_when_free(path: Path, wait_s: float = _WAIT_S) -> Iterator[None]:
    """Hold the lock file at `path`; its content names the owner (process id and start, for people).

    A stale lock cannot exist: the kernel lets go when the process ends, however it ends. Raises BusyError
    after `wait_s` seconds, OSError when the file cannot be made.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        deadline = time.monotonic() + wait_s
        while not _try_lock(fd):
            if time.monotonic() > deadline:
                raise BusyError(f"another kith ({_owner(fd)}) is changing this tree; try again later")
            time.sleep(_PAUSE_S)
        with suppress(OSError):  # a full disk must not stop anybody from undoing
            os.ftruncate(fd, 0)
            os.write(fd, f"process {os.getpid()} since {time.strftime('%Y-%m-%d %H:%M:%S')}".encode())
        yield
    finally:
        os.close(fd)


def _owner(fd: int) -> str:
    os.lseek(fd, 0, os.SEEK_SET)
    return os.read(fd, 100).decode(errors="replace") or "just started"


if sys.platform == "win32":

    def _try_lock(fd: int) -> bool:
        os.lseek(fd, 1 << 20, os.SEEK_SET)  # far behind the text, which stays readable
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(fd, 0, os.SEEK_SET)
        return True

else:

    def _try_lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
