"""Renames that lose nothing: two names trade places in one step, or a name that is taken refuses."""

import errno
import os
import signal
import stat
import sys
from collections.abc import Callable
from functools import cache
from typing import cast

from kith.trees.files import Folder

# renameat2(2) on Linux, renamex_np(2) on macOS, and their flags.
_NAME = {"linux": "renameat2", "darwin": "renameatx_np"}.get(sys.platform, "")
_REFUSE = 4 if sys.platform == "darwin" else 1
_TRADE = 2
_UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)

_Rename = Callable[[int, bytes, int, bytes, int], int]


def trade(source: Folder, name: str, target: Folder, other: str) -> bool:
    """Let two names trade places; False where the system or this file system cannot."""
    return _rename(source, name, target, other, _TRADE)


def move_new(source: Folder, name: str, target: Folder, new_name: str) -> None:
    """Rename to a name that nothing has. Raises FileExistsError, nothing changed, when something has it."""
    if _rename(source, name, target, new_name, _REFUSE):
        return
    if source.fd is None or target.fd is None:  # Windows: its rename refuses by itself
        os.rename(source.at(name), target.at(new_name))  # noqa: PTH104
        return
    try:
        os.link(name, new_name, src_dir_fd=source.fd, dst_dir_fd=target.fd, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (*_UNKNOWN, errno.EPERM, errno.EMLINK):
            raise
        source.move(name, target, new_name)  # no way to be sure here; the caller has just looked
    else:
        source.unlink(name)


def is_being_written(folder: Folder, name: str) -> bool:
    """Whether some program has this file open for writing, as far as the system tells (Linux does).

    A lease for reading is granted only where nobody writes: fcntl(2), "Leases".
    """
    if sys.platform != "linux" or not stat.S_ISREG(folder.stat(name).st_mode):
        return False
    import fcntl

    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder.fd)
    try:
        # Whoever opens it by another name meanwhile waits for us, and we are told by a signal: one that does
        # nothing by itself.
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN  # else: somebody else's file, or a file system without leases
    finally:
        os.close(fd)
    return False


def _rename(source: Folder, name: str, target: Folder, other: str, flag: int) -> bool:
    """False where there is no such call."""
    call = _call()
    if call is None or source.fd is None or target.fd is None:
        return False
    import ctypes

    if call(source.fd, os.fsencode(name), target.fd, os.fsencode(other), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNKNOWN:
        return False
    raise OSError(code, os.strerror(code), other)


@cache
def _call() -> _Rename | None:
    """The system's call, None where it has none."""
    if not _NAME:
        return None
    import ctypes

    call = getattr(ctypes.CDLL(None, use_errno=True), _NAME, None)
    if call is not None:
        call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return cast("_Rename | None", call)
