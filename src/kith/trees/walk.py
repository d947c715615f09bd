"""Walk through folders however deep they are, without recursion and with paths of any length.

A command can nest folders deeper than Python's call stack and than the longest path of the system.
`os.walk`, `os.fwalk` and `shutil.rmtree` of Python 3.11 end in a RecursionError there. Each folder is
opened from the one above it, so no link is followed on the way.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from kith.trees.files import Folder

LONGEST: Final = 4_096  # bytes of a path, Linux's PATH_MAX: what lies deeper has no name to call it by
_LONGEST_NAME: Final = 255

_AT: Final = os.open in os.supports_dir_fd and os.name == "posix"
_FOLDER: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


class Visit(Struct):
    """One folder: its path below the top ("" for that), open for a moment, and the names in it.

    The caller may remove names from `folders` (real ones, no links): those are not entered.
    """

    path: str
    folder: Folder
    folders: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    special: set[str] = field(default_factory=set)  # those of `files` that are pipes, sockets and devices

    @property
    def inside(self) -> str:
        """The prefix of the paths of the names in it."""
        return f"{self.path}/" if self.path else ""


def walk(top: Path | str, longest: int = LONGEST) -> Iterator[Visit]:
    """Every folder from `top` down, each before those in it; what cannot be opened is left out.

    So is what no program can call by its path, which may have `longest` bytes below `top`.
    """
    longest = min(longest, LONGEST - 2 - len(os.fsencode(top)))
    if not _AT:
        yield from _walk_by_name(os.fspath(top))
        return
    try:
        place = _Position(os.open(top, _FOLDER & ~getattr(os, "O_NOFOLLOW", 0)))
    except OSError:
        return
    try:
        while True:
            visit = Visit("/".join(place.names), Folder(place.fd, ""))
            _read(visit, longest)
            yield visit
            place.waiting.append(visit.folders[::-1])
            if not place.go_on():
                return
    finally:
        place.close()


class _Position:
    """The position of a walk: one open folder, and the names and numbers of those above it."""

    def __init__(self, fd: int) -> None:
        self.fd, self._top = fd, os.dup(fd)
        self.names: list[str] = []
        self._above: list[tuple[int, int]] = []  # device and inode of each folder above
        self.waiting: list[list[str]] = []  # folders still to be gone into, of each one from the top to here

    def go_on(self) -> bool:
        """Into the next folder; False when there is none."""
        while self.waiting:
            if not self.waiting[-1]:
                self.waiting.pop()
                if self.waiting and not self._go_up():
                    return False
            elif self._go_into(self.waiting[-1].pop()):
                return True
        return False

    def _go_into(self, name: str) -> bool:
        try:
            inner = os.open(name, _FOLDER, dir_fd=self.fd)
        except OSError:
            return False
        self._above.append(_identity(self.fd))
        self.names.append(name)
        self._stand_on(inner)
        return True

    def _go_up(self) -> bool:
        """Back to the folder above; False where that is not there any more."""
        wanted = self._above.pop()
        self.names.pop()
        for find in (self._above_here, self._from_top):
            with suppress(OSError):
                found = find()
                if _identity(found) == wanted:
                    self._stand_on(found)
                    return True
                os.close(found)
        return False

    def _above_here(self) -> int:
        return os.open("..", _FOLDER, dir_fd=self.fd)

    def _from_top(self) -> int:
        """The folder that `names` lead to, for one that may not be left by its `..`."""
        fd = os.dup(self._top)
        try:
            for name in self.names:
                above, fd = fd, os.open(name, _FOLDER, dir_fd=fd)
                os.close(above)
        except OSError:
            os.close(fd)
            raise
        return fd

    def _stand_on(self, fd: int) -> None:
        os.close(self.fd)
        self.fd = fd

    def close(self) -> None:
        os.close(self.fd)
        os.close(self._top)


def _identity(fd: int) -> tuple[int, int]:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino


def _read(visit: Visit, longest: int) -> None:
    """Fill in the names; of a folder that cannot be read there are none."""
    place = visit.folder.location if visit.folder.fd is None else visit.folder.fd
    room = longest - len(os.fsencode(visit.inside))
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if room < _LONGEST_NAME and len(os.fsencode(entry.name)) > room:
                continue
            is_folder = False
            with suppress(OSError):
                is_folder = entry.is_dir(follow_symlinks=False)
            (visit.folders if is_folder else visit.files).append(entry.name)
            if not is_folder and not (entry.is_file(follow_symlinks=False) or entry.is_symlink()):
                visit.special.add(entry.name)


def _walk_by_name(top: str) -> Iterator[Visit]:
    """Walk by path where the system has no directory descriptors (Windows)."""
    waiting = [""]
    while waiting:
        path = waiting.pop()
        visit = Visit(path, Folder(None, os.path.join(top, *path.split("/")) if path else top))  # noqa: PTH118
        _read(visit, LONGEST)
        yield visit
        waiting += [visit.inside + name for name in reversed(visit.folders)]


# --- away with it --------------------------------------------------------------------------------


def remove_tree(folder: Path) -> bool:
    """Delete a folder that commands have written to, whatever permissions and depths they left in it.

    What cannot be deleted stays, somewhere below it; nothing is raised. True when all of it is gone.
    """
    if not _AT:
        return _remove_by_name(folder)
    try:
        _open_up(os.fspath(folder), None)
        top = os.open(folder, _FOLDER)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        _empty(top)
    finally:
        os.close(top)
    with suppress(OSError):
        folder.rmdir()
    return not os.path.lexists(folder)


def _empty(top: int) -> None:
    """Every folder is moved to the top before it is emptied, so none is ever deep."""
    prefix = f"gone-{secrets.token_hex(6)}-"
    waiting, number = _clear(top), 0
    while waiting:
        name = waiting.pop()
        with suppress(OSError):
            fd = os.open(name, _FOLDER, dir_fd=top)
            try:
                for inner in _clear(fd):
                    number += 1
                    with suppress(OSError):
                        os.rename(inner, f"{prefix}{number}", src_dir_fd=fd, dst_dir_fd=top)
                        waiting.append(f"{prefix}{number}")
            finally:
                os.close(fd)
            os.rmdir(name, dir_fd=top)


def _clear(fd: int) -> list[str]:
    """Delete the files and links in a folder; returns the folders, whose permissions are in nobody's way."""
    folders = list[str]()
    with suppress(OSError), os.scandir(fd) as entries:
        for entry in list(entries):
            with suppress(OSError):
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.name, dir_fd=fd)
                    continue
                folders.append(entry.name)
                _open_up(entry.name, fd)
    return folders


def _open_up(name: str, fd: int | None) -> None:
    mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
    if stat.S_ISDIR(mode) and mode & 0o700 != 0o700:
        os.chmod(name, 0o700, dir_fd=fd)


def _remove_by_name(folder: Path) -> bool:
    for visit in reversed(list(walk(folder))):
        with suppress(OSError):
            for name in visit.files:
                visit.folder.unlink(name)
            Path(visit.folder.location).rmdir()
    return not os.path.lexists(folder)
