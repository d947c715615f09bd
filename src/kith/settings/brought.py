"""What a folder brings along that kith would interpret: its files, read once, and one digest over them."""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

from kith.core.errors import UsageError

FOLDER: Final = ".kith"
CONFIG: Final = ".kith/config.toml"
ROLES: Final = ".kith/roles"
_LARGEST: Final = 64 << 10  # bytes of one file: a person is to read it
_MOST: Final = 50  # roles
# Nothing waits for a pipe, and no link is followed to a file that the folder does not hold.
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

# "": there is nothing; "unfit": it cannot be trusted, whoever says so.
Standing = Literal["", "new", "changed", "declined", "trusted", "unfit"]


@dataclass(frozen=True, slots=True)
class Brought:
    """Files by their paths, and how the person stands to them; `fault` says why they are unfit."""

    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    standing: Standing = ""
    fault: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 over all of them, in the order of their paths: a byte more or less gives another one."""
        told = sha256(b"what kith interprets, 1\n")
        for path, data in sorted(self.files.items()):
            told.update(f"{path}\0{len(data)}\0".encode("utf-8", "surrogateescape") + data)
        return told.hexdigest()

    def text(self, path: str) -> str:
        """A file's text; "" where nobody trusts it, or there is none."""
        data = self.files.get(path, b"") if self.standing == "trusted" else b""
        return data.decode("utf-8-sig")


def find_brought(root: Path) -> Brought:
    """Read what would be interpreted; nobody has been asked whether it may."""
    try:
        files = dict(_read_all(root))
    except UsageError as error:
        return Brought(standing="unfit", fault=str(error))
    return Brought(files, "new" if files else "")


def read_plain(path: Path, most: int) -> bytes | None:
    """The first bytes of a plain file; None where it is none. Raises OSError, also for a link."""
    file = os.open(path, _FLAGS)
    try:
        return os.read(file, most) if stat.S_ISREG(os.fstat(file).st_mode) else None
    finally:
        os.close(file)


def _read_all(root: Path) -> Iterator[tuple[str, bytes]]:
    """Raises UsageError for whatever is no plain text file of a size that a person reads."""
    if not _is_folder(root, FOLDER):
        return
    if (root / CONFIG).exists() or (root / CONFIG).is_symlink():
        yield CONFIG, _read(root, CONFIG)
    if _is_folder(root, ROLES):
        names = sorted(name for name in os.listdir(root / ROLES) if name.endswith(".md"))  # noqa: PTH208
        if len(names) > _MOST:
            raise UsageError(f"{ROLES} holds {len(names)} roles, more than anybody reads ({_MOST}).")
        yield from ((f"{ROLES}/{name}", _read(root, f"{ROLES}/{name}")) for name in names)


def _is_folder(root: Path, path: str) -> bool:
    """Whether there is a folder, no link to one; a plain file of this name is none of kith's business."""
    try:
        mode = (root / path).lstat().st_mode
    except OSError:
        return False
    if stat.S_ISLNK(mode):
        raise UsageError(f"{path} is a link, and kith follows none to what it would interpret.")
    return stat.S_ISDIR(mode)


def _read(root: Path, path: str) -> bytes:
    try:
        data = read_plain(root / path, _LARGEST + 1)
    except OSError as error:
        link = (root / path).is_symlink()
        why = "is a link, and kith follows none to what it would interpret" if link else "cannot be read"
        raise UsageError(f"{path} {why}{'' if link else f': {error.strerror}'}.") from error
    if data is None:
        raise UsageError(f"{path} is not a file.")
    if len(data) > _LARGEST:
        raise UsageError(f"{path} is larger than {_LARGEST >> 10} KiB, more than anybody reads.")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not written in UTF-8 (byte {error.start}).") from error
    return data
