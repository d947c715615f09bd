"""The standard streams as they really are: closed, full, or not made for every character."""

import codecs
import errno
import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

from kith.core.errors import UsageError

AS_IT_WAS = "kith.as_it_was"
# What a disk says when it takes no more.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})
# What a machine says that has no more to give, and what a person can put right without kith.
REFUSED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EROFS, errno.EACCES, errno.EPERM})


def is_lively(stream: IO[str]) -> bool:
    """True if a stream is a terminal on which a line can be redrawn."""
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


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
    codecs.register_error(AS_IT_WAS, _as_it_was)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=AS_IT_WAS)


def _as_it_was(error: UnicodeError) -> tuple[str | bytes, int]:
    """Bytes that were not UTF-8 leave as they came (a diff still applies); other characters are spelled."""
    if isinstance(error, UnicodeEncodeError) and "\udc80" <= error.object[error.start] <= "\udcff":
        return bytes([ord(error.object[error.start]) - 0xDC00]), error.start + 1
    return codecs.backslashreplace_errors(error)


def drop_output(*more: IO[str]) -> None:
    """Let go of what is held back for stdout (and `more`), so that it does not fail once more at the end."""
    for stream in (sys.stdout, *more):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def make_room() -> None:
    """Give up standard input, where no descriptors are left: glibc loads a library to end a thread."""
    with suppress(OSError):
        os.close(0)


def lost_terminal() -> bool:
    """True if a standard stream was a terminal that has been closed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            os.get_terminal_size(stream.fileno())
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno == errno.EIO:
                return True
    return False


def read_input(path: str, name: str, most: int) -> bytes:
    """A file of at most so many bytes, or standard input for `-`. Raises UsageError about `name`."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read(most + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(most + 1)
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}.") from error
    if len(data) > most:
        raise UsageError(f"{name} is over the limit of {most:,} bytes.")
    return data


def write_output(path: Path, text: str) -> None:
    """A file that a person named. Raises UsageError when it cannot be written."""
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error
