"""One writer at a time: a lock that the system frees when its owner dies."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kith.core.errors import BusyError

WAIT_S = 2.0
PAUSE_S = 0.02


@contextmanager
def hold_lock(path: Path, wait_s: float = WAIT_S) -> Iterator[None]:
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
            time.sleep(PAUSE_S)
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
    import msvcrt

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
    import fcntl

    def _try_lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
