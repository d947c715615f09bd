"""The standard streams as they really are: closed, full, or not made for every character."""

import errno
import io
import os
import sys
from contextlib import suppress

# What a disk says when it takes no more.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})


def open_streams() -> None:
    """Put something harmless where a standard stream was closed (`<&-`), and let no character fail.

    Otherwise the next file that is opened would get the stream's number, and what is printed.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def drop_output() -> None:
    """Let go of what is held back for stdout, so that it does not fail once more at the end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
