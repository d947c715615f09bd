"""Locks of files that go with the process that holds them."""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_LOOKS: Final = 5  # who only asks whether a file is locked, or is just leaving, holds it for a moment
_LOOK_S: Final = 0.01


def hold(path: Path) -> IO[str] | None:
    """The file, locked until it is closed or the process dies; None when somebody else holds it."""
    while True:
        file = path.open("w")
        if not _lock_soon(file):
            file.close()
            return None
        # The former holder removes the file as it leaves: a lock on a removed file locks nobody out.
        if path.exists() and path.stat().st_ino == os.fstat(file.fileno()).st_ino:
            return file
        file.close()


def let_go(lock: IO[str]) -> None:
    """Let others have what was held."""
    with suppress(OSError):  # the file counts for nothing without the lock
        Path(lock.name).unlink(missing_ok=True)
    lock.close()


def _lock_soon(file: IO[str]) -> bool:
    for look in range(_LOOKS):
        if try_lock(file):
            return True
        time.sleep(_LOOK_S if look < _LOOKS - 1 else 0)
    return False


def try_lock(file: IO[str]) -> bool:
    """True if an open file could be locked; it stays locked until it is closed."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
