"""Opens, reads, writes and deletes files beneath a root, never following a link out of it."""

import errno
import os
import re
import secrets
import stat
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from kith.core.errors import AbsentError, TreeError
from kith.core.values import EXECUTABLE, FILE, SYMLINK

# Which paths a tree allows, and where symbolic links may lead; `files` opens what passed here.

PROTECTED = (".git", ".kith")
MAX_LINKS = 40  # what Linux follows before it says ELOOP

# Code points that a file system or a reader may drop, beyond Unicode's format characters (category Cf).
_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
_SHORT_NAME = re.compile(r"(git|kith)~[0-9]+")  # what Windows calls .git and .kith in its 8.3 form
_WINDOWS_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?")


def check_path(path: str) -> str:
    """`path` in its plain form: relative, forward slashes, no `.` and no empty parts.

    Raises TreeError for a path that could leave the tree, or reach `.git` or `.kith` in some file system's
    spelling. That covers case, trailing dots, short names, invisible and compatibility characters. The list
    follows git's `verify_path`.
    """
    shown = show_path(path)
    if not path:
        raise TreeError("an empty path names no file")
    if "\0" in path:
        raise TreeError(f"{shown} has a NUL character in its name")
    if path.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", path):
        raise TreeError(f"{shown} is not relative to the tree")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise TreeError(f"{shown} cannot be a file name") from None
    for part in re.split(r"[/\\]", path):
        _check_part(part, shown)
    if os.name == "nt":
        _check_for_windows(path, shown)
    plain = "/".join(part for part in path.split("/") if part not in ("", "."))
    if not plain or path.endswith(("/", "/.")):
        raise TreeError(f"{shown} names a folder, not a file")
    return plain


def show_path(path: str) -> str:
    """A path for people: control and invisible characters and stray bytes made visible."""
    return path if path.isprintable() and path else ascii(path)


def _check_part(part: str, shown: str) -> None:
    folded = part.casefold() if part.isascii() else _fold(part)
    if folded == "..":
        raise TreeError(f"{shown} leaves the tree")
    # NTFS ends a name at ":" (streams) and drops dots and spaces at its end.
    folded = folded.partition(":")[0].rstrip(". ")
    if folded in PROTECTED or _SHORT_NAME.fullmatch(folded):
        raise TreeError(f"{shown} belongs to git or to kith itself and is out of bounds")


def _fold(part: str) -> str:
    """Fold a name to the form that some file system may take for it; of ASCII that is its lower case."""
    folded = unicodedata.normalize("NFKC", part)
    folded = "".join(char for char in folded if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", _IGNORABLE.sub("", folded).casefold())


def _check_for_windows(path: str, shown: str) -> None:
    if "\\" in path or re.search(r'[:*?"<>|]', path):
        raise TreeError(f"{shown} has a character that Windows does not allow in names")
    for part in path.split("/"):
        if part != part.rstrip(". ") and part != ".":
            raise TreeError(f"{shown} ends a name with a dot or a space, which Windows drops")
        if _WINDOWS_DEVICE.fullmatch(part.casefold()):
            raise TreeError(f"{shown} is the name of a Windows device")


def resolve_links(root: Path, path: str, readlink: Callable[[str], str | None]) -> str:
    """Resolve every symbolic link on the way of `path`; return a path inside the tree.

    `readlink` gives the target of a link (by its path in the tree), None for anything else. Absolute
    targets are followed when they point below `root`. Raises TreeError when a link leads out of the tree,
    into `.git` or `.kith`, or in a circle.
    """
    shown, top = show_path(path), os.path.realpath(root).rstrip(os.sep) + os.sep
    waiting, real, links = check_path(path).split("/")[::-1], list[str](), 0
    while waiting:
        part = waiting.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not real:
                raise TreeError(f"{shown} is a symbolic link that leads out of the tree")
            real.pop()
            continue
        target = readlink("/".join([*real, part]))
        if target is None:
            real.append(part)
            continue
        links += 1
        if links > MAX_LINKS:
            raise TreeError(f"{shown} is a symbolic link that leads in a circle")
        if Path(target).is_absolute():
            if not (target + os.sep).startswith(top):
                raise TreeError(f"{shown} is a symbolic link that leads out of the tree")
            target, real = target[len(top) :], []
        waiting.extend(target.replace(os.sep, "/").split("/")[::-1])
    if not real:
        raise TreeError(f"{shown} names a folder, not a file")
    return check_path("/".join(real))


def check_link(root: Path, path: str, target: bytes, readlink: Callable[[str], str | None]) -> None:
    """Raises TreeError unless a symbolic link at `path` to `target` would stay inside the tree.

    The target must be relative and go up only at its start: then no other link, present or created
    with it, can bend it outwards.
    """
    words, shown = os.fsdecode(target), show_path(path)
    if not words or "\0" in words or Path(words).is_absolute():
        raise TreeError(f"{shown} would be a symbolic link that is not relative to the tree")
    parts = [part for part in words.split("/") if part not in ("", ".")]
    folder = path.split("/")[:-1]
    while parts and parts[0] == "..":
        if not folder:
            raise TreeError(f"{shown} would be a symbolic link that leads out of the tree")
        parts.pop(0)
        folder.pop()
    if ".." in parts:
        raise TreeError(f"{shown} would be a symbolic link that goes up after it went down")
    if folder or parts:
        resolve_links(root, "/".join([*folder, *parts]), readlink)


READ_LIMIT = 64_000_000  # bytes; larger files are not source code
ABSENT = (FileNotFoundError, NotADirectoryError)

_AT = os.open in os.supports_dir_fd and os.name == "posix"
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# O_NONBLOCK: opening a FIFO for reading must not wait for a writer.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_LINK_OR_FILE = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)


class FileState(Struct, frozen=True):
    """The file at a path: content (a link's target), git's mode, and the permission bits on disk."""

    content: bytes
    mode: int
    permissions: int


class Folder(Struct, frozen=True):
    """One open folder of a tree. Every `name` is a single component, and no link is followed."""

    fd: int | None  # None where the system has no directory descriptors (Windows)
    location: str

    def at(self, name: str) -> str:
        return name if self.fd is not None else os.path.join(self.location, name)  # noqa: PTH118

    def stat(self, name: str) -> os.stat_result:
        return os.stat(self.at(name), dir_fd=self.fd, follow_symlinks=False)

    def readlink(self, name: str) -> str:
        return os.readlink(self.at(name), dir_fd=self.fd)

    def unlink(self, name: str) -> None:
        os.unlink(self.at(name), dir_fd=self.fd)

    def rmdir(self, name: str) -> None:
        os.rmdir(self.at(name), dir_fd=self.fd)

    def mkdir(self, name: str) -> None:
        os.mkdir(self.at(name), dir_fd=self.fd)
        self._hand_over(name)

    def move(self, name: str, target: "Folder", new_name: str) -> None:
        """Rename, replacing what is there in one step."""
        os.replace(self.at(name), target.at(new_name), src_dir_fd=self.fd, dst_dir_fd=target.fd)

    def read(self, name: str, path: str) -> FileState:
        """Raises TreeError, naming `path`, for a folder or special file; OSError when it is not there."""
        found, shown = self.stat(name), show_path(path)
        if stat.S_ISLNK(found.st_mode):
            return FileState(os.fsencode(self.readlink(name)), SYMLINK, 0o777)
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file"
            raise TreeError(f"{shown} is {kind}")
        with os.fdopen(os.open(self.at(name), _READ, dir_fd=self.fd), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise TreeError(f"{shown} is not a regular file")
            if found.st_size > READ_LIMIT:
                raise TreeError(f"{shown} is too large: {found.st_size} bytes, the limit is {READ_LIMIT}")
            mode = EXECUTABLE if found.st_mode & stat.S_IXUSR else FILE
            return FileState(file.read(READ_LIMIT), mode, stat.S_IMODE(found.st_mode))

    def create(
        self, name: str, content: bytes, mode: int, permissions: int | None = None, *, durable: bool = True
    ) -> None:
        """A new file or link. `permissions`: of the file it replaces. `durable`: wait for the disk."""
        if mode == SYMLINK:
            os.symlink(os.fsdecode(content), self.at(name), dir_fd=self.fd)
            self._hand_over(name)
            return
        wanted = 0o777 if mode == EXECUTABLE else 0o666  # less the umask, as any program's new file
        with os.fdopen(os.open(self.at(name), _CREATE, wanted, dir_fd=self.fd), "wb", buffering=0) as file:
            self._hand_over(name)
            if permissions is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), permissions_for(mode, permissions))
            waiting = memoryview(content)
            while waiting:
                waiting = waiting[os.write(file.fileno(), waiting) :]
            if durable:
                os.fsync(file.fileno())

    def _hand_over(self, name: str) -> None:
        """As root, what is made in somebody's folder belongs to them."""
        if os.name == "posix" and os.geteuid() == 0:
            owner = os.stat(self.at("."), dir_fd=self.fd)
            if owner.st_uid:
                with suppress(OSError):  # an owner that is unknown in this user namespace
                    ids = (owner.st_uid, owner.st_gid)
                    os.chown(self.at(name), *ids, dir_fd=self.fd, follow_symlinks=False)

    def sync(self) -> None:
        """Make renames and deletions in this folder survive a power cut."""
        if self.fd is not None:
            os.fsync(self.fd)


def permissions_for(mode: int, permissions: int) -> int:
    """`permissions` with the executable bits that git's mode asks for: who may read may execute."""
    if mode == EXECUTABLE:
        return permissions if permissions & stat.S_IXUSR else permissions | (permissions & 0o444) >> 2
    return permissions & ~0o111


@contextmanager
def open_folder(root: Path, path: str = "", *, create: bool = False) -> Iterator[Folder]:
    """The folder at `path` (a checked path, or "" for the root), opened component by component.

    With `create`, missing folders are made. Raises TreeError for a link on the way, FileNotFoundError or
    NotADirectoryError when it is not there.
    """
    if not _AT:
        yield _open_by_name(root, path, create)
        return
    fd = os.open(root, os.O_RDONLY | _FOLDER & ~getattr(os, "O_NOFOLLOW", 0))
    try:
        for part in path.split("/") if path else ():
            above, fd = fd, _descend(Folder(fd, ""), part, path, create)
            os.close(above)
        yield Folder(fd, "")
    finally:
        os.close(fd)


def _descend(folder: Folder, part: str, path: str, create: bool) -> int:
    if create:
        with suppress(FileExistsError):
            folder.mkdir(part)
            folder.sync()
    try:
        return os.open(part, os.O_RDONLY | _FOLDER, dir_fd=folder.fd)
    except OSError as error:
        if error.errno in _LINK_OR_FILE and stat.S_ISLNK(folder.stat(part).st_mode):
            raise TreeError(f"{show_path(path)} is behind a symbolic link ({show_path(part)})") from None
        raise


def _open_by_name(root: Path, path: str, create: bool) -> Folder:
    """Without directory descriptors: compare real names. A link made in between is not noticed."""
    top = os.path.realpath(root)
    location = os.path.join(top, *path.split("/")) if path else top  # noqa: PTH118
    if os.path.normcase(os.path.realpath(location)) != os.path.normcase(location):
        raise TreeError(f"{show_path(path)} is behind a symbolic link")
    if create:
        os.makedirs(location, exist_ok=True)  # noqa: PTH103
    os.stat(os.path.join(location, ""))  # noqa: PTH116, PTH118  (raises what os.open would)
    return Folder(None, location)


def is_folder(root: Path, path: str) -> bool:
    """True when a real folder, no link to one, lies at `path`."""
    folder_path, name = split_path(path)
    with told(path), suppress(*ABSENT), open_folder(root, folder_path) as folder:
        return stat.S_ISDIR(folder.stat(name).st_mode)
    return False


def nearest_folder(root: Path, path: str) -> tuple[str, list[str]]:
    """The innermost folder on the way to `path` that exists, and the missing ones, the innermost first."""
    missing = list[str]()
    for folder in (path, *folders_above(path)) if path else ():
        with told(folder), suppress(*ABSENT), open_folder(root, folder):
            return folder, missing
        missing.append(folder)
    return "", missing


def split_path(path: str) -> tuple[str, str]:
    """A checked path as its folder ("" for the root) and its name."""
    folder, _, name = path.rpartition("/")
    return folder, name


def folders_above(path: str) -> Iterator[str]:
    """The folders that a checked path lies in, the innermost first, without the root."""
    while path := split_path(path)[0]:
        yield path


def read_link(root: Path, path: str) -> str | None:
    """The target of the symbolic link at `path`, None for anything else."""
    folder_path, name = split_path(path)
    with told(path), suppress(*ABSENT), open_folder(root, folder_path) as folder:
        if stat.S_ISLNK(folder.stat(name).st_mode):
            return folder.readlink(name)
    return None


def follow_links(root: Path, path: str) -> str:
    """`path` with every symbolic link followed. Raises TreeError when one leads out of the tree."""
    return resolve_links(root, path, lambda link: read_link(root, link))


def look_at(root: Path, path: str) -> FileState | None:
    """Read the file at `path` itself, None for nothing. No link is followed, not even the last.

    Raises TreeError for a folder, a special file, a folder behind a link, or when the disk refuses.
    """
    folder_path, name = split_path(check_path(path))
    with (
        told(path),
        suppress(*ABSENT),
        open_folder(root, folder_path) as folder,
    ):
        return folder.read(name, path)
    return None


def read_file(root: Path, path: str) -> bytes:
    """The bytes of a regular file; links are followed while they stay inside the tree.

    Raises TreeError when there is none, or the path, the file or the disk refuses.
    """
    found = look_at(root, follow_links(root, path))
    if found is None:
        raise AbsentError(f"{show_path(path)} does not exist")
    if found.mode == SYMLINK:  # it was replaced by a link since it was resolved
        raise TreeError(f"{show_path(path)} is a symbolic link")
    return found.content


def write_file(root: Path, path: str, content: bytes, mode: int = FILE) -> None:
    """Create or replace one file or link in one step, with its folders; permissions of the old one are kept.

    Not journaled: for trees that are thrown away. Raises TreeError when anything refuses.
    """
    folder_path, name = split_path(check_path(path))
    with told(path), open_folder(root, folder_path, create=True) as folder:
        permissions = None
        with suppress(FileNotFoundError):
            found = folder.stat(name)
            if stat.S_ISDIR(found.st_mode):
                raise TreeError(f"{show_path(path)} is a folder")
            permissions = stat.S_IMODE(found.st_mode) if stat.S_ISREG(found.st_mode) else None
        temporary = f".kith-{secrets.token_hex(6)}.tmp"
        try:
            folder.create(temporary, content, mode, permissions, durable=False)
            folder.move(temporary, folder, name)
        except OSError:
            with suppress(OSError):
                folder.unlink(temporary)
            raise


def delete_file(root: Path, path: str) -> None:
    """Delete one file or link. Raises TreeError when there is none, or anything refuses."""
    folder_path, name = split_path(check_path(path))
    with told(path), open_folder(root, folder_path) as folder:
        folder.unlink(name)


@contextmanager
def told(path: str) -> Iterator[None]:
    """Turns what the disk says about `path` into one sentence."""
    try:
        yield
    except OSError as error:
        words = (error.strerror or str(error)).lower()
        raise TreeError(f"{show_path(path)}: {words}") from error
