"""A trial's own /tmp: kept from one command to the next, limited in size, and gone with the trial."""

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

from msgspec import Struct

from kith.core.errors import TreeError
from kith.trees.walk import remove_tree

TMP: Final = PurePosixPath("/tmp")
FILES: Final = 200_000  # a package of C++ with its build has 20,000; more take too long to count
KEPT: Final = 64 << 20  # bytes of one output that are kept
_OUTPUTS: Final = 1000
_FOLDER: Final = os.O_DIRECTORY | os.O_NOFOLLOW if os.name == "posix" else 0
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


class Scratch(Struct, frozen=True):
    """The folder on disk that commands see as `seen` (/tmp in a sandbox); `most` bytes may be in it.

    Whatever lies in it was made by commands that nobody trusts, so no link in it is ever followed.
    """

    folder: Path
    most: int
    seen: PurePosixPath = TMP

    def prepare(self, folders: Iterable[Path] = (), files: Iterable[Path] = ()) -> None:
        """Have the folder, and nothing in the way of `folders` and `files` that bubblewrap mounts in it.

        It makes their places before the sandbox is closed, and a link of an earlier command would lead it
        anywhere on this machine. No command of the trial runs meanwhile.
        """
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.folder.chmod(0o700)
        for place in folders:
            if place.is_relative_to(self.seen):
                _clear_way(self.folder, place.relative_to(self.seen).parts, stat.S_IFDIR)
        for place in files:
            if place.is_relative_to(self.seen):
                _clear_way(self.folder, place.relative_to(self.seen).parts, stat.S_IFREG)

    def overdrawn(self) -> bool:
        """True when more is in it than may be; counting stops there."""
        room, files, waiting = self.most, FILES, [os.fspath(self.folder)]
        while waiting and room >= 0 and files >= 0:
            try:
                with os.scandir(waiting.pop()) as entries:
                    for entry in entries:
                        files -= 1
                        with suppress(FileNotFoundError):
                            found = entry.stat(follow_symlinks=False)
                            room -= getattr(found, "st_blocks", found.st_size // 512 + 1) * 512
                            if stat.S_ISDIR(found.st_mode):
                                waiting.append(entry.path)
                        if room < 0 or files < 0:
                            break
            except OSError as error:
                if error.errno == errno.ENAMETOOLONG:  # too deep to be counted
                    return True
        return room < 0 or files < 0

    def settle(self) -> str:
        """Empty it when it is too full; returns a note for the output."""
        if not self.overdrawn():
            return ""
        remove_tree(self.folder)
        return f"\n[{self.seen} held more than {self.most:,} bytes or {FILES:,} files, and was emptied]\n"


class Outflow:
    """The whole of an output that is too long to be shown, in a file of a scratch folder."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch, self._fd, self._room = scratch, -1, KEPT
        self.path = ""  # as commands see it, once there is one

    @property
    def begun(self) -> bool:
        return bool(self.path)

    def begin(self, so_far: bytes) -> None:
        """Open a new file, in whose place nothing can lie; without one the output is only cut."""
        with suppress(OSError):
            folder = os.open(self._scratch.folder, os.O_RDONLY | _FOLDER)
            try:
                for number in range(1, _OUTPUTS):
                    name = f"output-{number}.txt"
                    with suppress(FileExistsError):
                        self._fd = os.open(name, _NEW, 0o600, dir_fd=folder)
                        self.path = str(self._scratch.seen / name)
                        break
            finally:
                os.close(folder)
        self.add(so_far)

    def add(self, data: bytes) -> None:
        if self._fd >= 0 and self._room > 0:
            with suppress(OSError):  # a full disk ends the file, not the command
                self._room -= os.write(self._fd, data[: self._room])

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _clear_way(folder: Path, parts: tuple[str, ...], kind: int) -> None:
    """Remove what is no folder on the way to a place below `folder`, and what is not of its `kind` there."""
    fd = os.open(folder, os.O_RDONLY | _FOLDER)
    try:
        for depth, part in enumerate(parts, 1):
            found = os.stat(part, dir_fd=fd, follow_symlinks=False)
            here = stat.S_IFMT(found.st_mode)
            if depth == len(parts) and here == stat.S_IFDIR != kind:
                remove_tree(folder.joinpath(*parts))  # no link is on the way
            elif here != (kind if depth == len(parts) else stat.S_IFDIR):
                os.unlink(part, dir_fd=fd)
            if here != stat.S_IFDIR or depth == len(parts):
                return
            inner = os.open(part, os.O_PATH | _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = inner
            Path(f"/proc/self/fd/{fd}").chmod(0o700)
    except FileNotFoundError:
        return
    except OSError as error:
        raise TreeError(f"the sandbox cannot be set up: {(error.strerror or str(error)).lower()}") from error
    finally:
        os.close(fd)
