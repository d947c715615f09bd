"""Moves the files of a journaled change into place, or back again; every step may be repeated."""

import errno
import os
import signal
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Literal, cast

from msgspec.structs import replace

from kith.core.errors import TreeError
from kith.core.values import SYMLINK, Change
from kith.trees.files import (
    ABSENT,
    FileState,
    Folder,
    folders_above,
    is_folder,
    look_at,
    open_folder,
    show_path,
    split_path,
    told,
)
from kith.trees.records import ChangeRecord, RecordedFile

# Renames that lose nothing: two names trade places in one step, or a name that is taken refuses.

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
    """True if some program has this file open for writing, as far as the system tells (Linux does).

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


Side = Literal["old", "new", "other"]


def find_side(root: Path, change: Change) -> Side:
    """Compare a file with a change: as before it, as after it, or neither."""
    try:
        found = look(root, change.path)
    except TreeError:
        return "other"
    if is_same(found, change.before, change.mode_before):
        return "old"
    return "new" if is_same(found, change.after, change.mode) else "other"


def look(root: Path, path: str) -> FileState | None:
    """Read the file at `path`; a folder counts as no file."""
    return None if is_folder(root, path) else look_at(root, path)


def is_same(found: FileState | None, content: bytes | None, mode: int) -> bool:
    """True when what was found has this content and, where the system knows it, this mode of git."""
    if found is None or content is None:
        return found is None and content is None
    same_mode = found.mode == mode or (os.name == "nt" and SYMLINK not in (found.mode, mode))
    return same_mode and found.content == content


def stage(root: Path, entries: Iterable[RecordedFile]) -> None:
    """Write the new content of every file that is still old beside it, and wait for the disk."""
    for entry in entries:
        change, (folder_path, name) = entry.change, split_path(entry.temporary)
        if change.after is None or find_side(root, change) != "old":
            continue
        # What has the temporary's own name is whole, or it is what lay in the file's place: `give_back`.
        half = f"{name}.part"
        with told(change.path), open_folder(root, folder_path, create=True) as folder:
            with suppress(FileNotFoundError):
                folder.unlink(half)
            folder.create(half, change.after, change.mode, entry.permissions)
            folder.move(half, folder, name)


def swap(
    root: Path, entries: Iterable[RecordedFile], emptied: Iterable[str], *, tolerant: bool = False
) -> None:
    """Delete and rename until every file is new; folders in `emptied` go when nothing is left in them.

    Deletions come first, so that a file may become a folder and a folder a file. A file that is neither
    old nor new is left alone when `tolerant`; else it raises TreeError.
    """
    ordered = sorted(entries, key=lambda entry: entry.change.after is not None)
    for entry in ordered:
        if entry.change.after is None and _is_due(root, entry.change, tolerant):
            _delete(root, entry, tolerant)
    _remove_folders(root, emptied)
    for entry in ordered:
        if entry.change.after is not None and _is_due(root, entry.change, tolerant):
            _move(root, entry, tolerant)
    for path in sorted(
        {split_path(name)[0] for entry in ordered for name in (entry.change.path, entry.temporary)}
    ):
        with told(path or str(root)), suppress(*ABSENT), open_folder(root, path) as folder:
            folder.sync()


def take_back(root: Path, record: ChangeRecord) -> None:
    """Make every file old again that is new, and remove the folders that the change had made."""
    inverse = [replace(entry, change=entry.change.inverse) for entry in record.entries]
    stage(root, inverse)
    swap(root, inverse, record.folders[::-1], tolerant=True)


def emptied_folders(entries: Iterable[RecordedFile]) -> tuple[str, ...]:
    """Every folder that a change's deletions may leave empty, the innermost first."""
    gone = (entry.change.path for entry in entries if entry.change.after is None)
    return tuple(sorted({folder for path in gone for folder in folders_above(path)}, reverse=True))


def sweep(root: Path, entries: Iterable[RecordedFile]) -> None:
    """Remove the temporaries that are still there, but nothing that somebody else has written.

    All of them go before the disk is waited for: one that fails then leaves no litter.
    """
    emptied = dict[str, str]()  # each folder, and what was removed there
    for entry in entries:
        folder_path, name = split_path(entry.temporary)
        with told(entry.temporary), suppress(*ABSENT), open_folder(root, folder_path) as folder:
            for each in (f"{name}.part", *([] if _is_foreign(root, entry) else [name])):
                with suppress(FileNotFoundError):
                    folder.unlink(each)
                    emptied[folder_path] = entry.temporary
    for folder_path, temporary in emptied.items():
        with told(temporary), suppress(*ABSENT), open_folder(root, folder_path) as folder:
            folder.sync()


def give_back(root: Path, entries: Iterable[RecordedFile]) -> None:
    """Put back what was taken out of a file's place and is none of the two contents: somebody's late save.

    A crash between the exchange and the look at what came out leaves that, under the temporary's name.
    """
    for entry in entries:
        if _is_foreign(root, entry) and find_side(root, entry.change) == "new":
            with _both(root, entry) as (source, temporary, target, name):
                if entry.change.after is not None:
                    trade(source, temporary, target, name)
                    continue
                with suppress(FileExistsError):  # a folder, meanwhile: both stay
                    move_new(source, temporary, target, name)


def find_save(root: Path, entry: RecordedFile) -> bytes | None:
    """The text that somebody else saved and that lies under the temporary's name; None for none.

    It is left there by a crash, when the file's own place has been written to since.
    """
    with suppress(TreeError):
        found = look_at(root, entry.temporary) if _is_foreign(root, entry) else None
        return found.content if found and found.mode != SYMLINK else None
    return None


def _is_due(root: Path, change: Change, tolerant: bool) -> bool:
    side = find_side(root, change)
    if side == "other" and not tolerant:
        raise TreeError(f"{show_path(change.path)} was changed by another program meanwhile")
    return side == "old"


def _move(root: Path, entry: RecordedFile, tolerant: bool) -> None:
    """Put the new content in the file's place. What comes out is looked at, so that no save is ever lost."""
    with _both(root, entry) as (source, temporary, target, name):
        if entry.change.before is None:
            try:
                move_new(source, temporary, target, name)
            except FileExistsError:
                _refuse(entry, tolerant)
        elif not trade(source, temporary, target, name):
            source.move(temporary, target, name)  # this file system cannot: it was compared a moment ago
        elif _came_out(root, entry, source, entry.change):
            source.unlink(temporary)
        else:
            trade(source, temporary, target, name)
            if not _came_out(root, entry, source, entry.change.inverse):  # saved once more, onto ours
                trade(source, temporary, target, name)
            source.unlink(temporary)
            _refuse(entry, tolerant)


def _delete(root: Path, entry: RecordedFile, tolerant: bool) -> None:
    """Take a file away, look at what it was, and only then let it go."""
    with _both(root, entry) as (source, temporary, target, name):
        target.move(name, source, temporary)
        if _came_out(root, entry, source, entry.change):
            source.unlink(temporary)
            return
        try:
            move_new(source, temporary, target, name)
        except FileExistsError:  # saved once more
            source.unlink(temporary)
        _refuse(entry, tolerant)


def _refuse(entry: RecordedFile, tolerant: bool) -> None:
    if not tolerant:
        raise TreeError(f"{show_path(entry.change.path)} was changed by another program meanwhile")


def _came_out(root: Path, entry: RecordedFile, folder: Folder, change: Change) -> bool:
    """True if the temporary has the content that `change` replaces, and no program is writing to it."""
    if is_being_written(folder, split_path(entry.temporary)[1]):
        return False
    return _has(root, entry.temporary, change.before, change.mode_before)


def _is_foreign(root: Path, entry: RecordedFile) -> bool:
    """True if the temporary's name holds neither the old content nor the new."""
    path, change = entry.temporary, entry.change
    return not (
        _has(root, path, None, change.mode)
        or (change.before is not None and _has(root, path, change.before, change.mode_before))
        or (change.after is not None and _has(root, path, change.after, change.mode))
    )


def _has(root: Path, path: str, content: bytes | None, mode: int) -> bool:
    """True if a path has this content, None for nothing at all; False for an unreadable path."""
    try:
        return is_same(look_at(root, path), content, mode)
    except TreeError:
        return False


@contextmanager
def _both(root: Path, entry: RecordedFile) -> Iterator[tuple[Folder, str, Folder, str]]:
    """The folder and name of an entry's temporary, and those of its file."""
    (staged_in, temporary), (goes_to, name) = split_path(entry.temporary), split_path(entry.change.path)
    with (
        told(entry.change.path),
        open_folder(root, staged_in) as source,
        open_folder(root, goes_to, create=entry.change.after is not None) as target,
    ):
        yield source, temporary, target, name


def _remove_folders(root: Path, folders: Iterable[str]) -> None:
    for path in folders:
        above, name = split_path(path)
        with suppress(OSError), open_folder(root, above) as folder:
            folder.rmdir(name)
            folder.sync()
