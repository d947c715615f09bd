"""Find a folder's configuration files for kith, each read once, and one digest over them."""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct, field

from kith.core.errors import UsageError

FOLDER: Final = ".kith"
CONFIGS: Final = (".kith/config.toml", ".kith/config.yaml", ".kith/config.yml")
ROLES: Final = ".kith/roles"
TEMPLATES: Final = ".kith/templates"
TOOLS: Final = ".kith/tools"
SKILLS: Final = (".kith/skills", ".agents/skills", ".claude/skills")
SKILL: Final = "SKILL.md"
NOTES: Final = ("AGENTS.md", "CLAUDE.md")  # for agents, in any folder; the first that there is counts
_LARGEST: Final = 64 << 10  # bytes of one file: a person is to read it
_MOST: Final = 50  # roles, templates, skills, tools of one folder
# Nothing waits for a pipe, and no link is followed to a file that the folder does not hold.
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

# "": there is nothing; "unfit": it cannot be trusted, whoever says so.
Standing = Literal["", "new", "changed", "declined", "trusted", "unfit"]


class Brought(Struct, frozen=True):
    """Files of the folder `root` by their paths, and the person's decision on them.

    `fault` says why they are unfit. `left_out`: sentences on notes, skills and templates that nobody could
    trust as they are, which keeps nothing else from being trusted.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    standing: Standing = ""
    fault: str = ""
    left_out: tuple[str, ...] = ()
    root: Path = Path()

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

    @property
    def config(self) -> str:
        """The path of the project's own settings, or where they would be."""
        return next((path for path in CONFIGS if path in self.files), CONFIGS[0])

    @property
    def notes(self) -> str:
        """The path of the project's notes for agents; "" where there are none."""
        return next((name for name in NOTES if name in self.files), "")

    @property
    def skills(self) -> tuple[str, ...]:
        """The paths of its skills."""
        return tuple(path for path in self.files if path.endswith(f"/{SKILL}"))

    @property
    def templates(self) -> tuple[str, ...]:
        """The paths of its templates."""
        return tuple(path for path in self.files if path.startswith(f"{TEMPLATES}/"))

    @property
    def names(self) -> str:
        """The top-level names of the files, in words: `AGENTS.md and .kith`."""
        *most, last = sorted({path.partition("/")[0] for path in self.files}, reverse=True) or [FOLDER]
        return f"{', '.join(most)} and {last}" if most else last


def find_brought(root: Path) -> Brought:
    """Read what would be interpreted; nobody has been asked whether it may."""
    try:
        files = dict(_read_all(root))
    except UsageError as error:
        return Brought(standing="unfit", fault=str(error))
    left_out: list[str] = []
    for path in _find_knowledge(root, left_out):
        try:
            files[path] = _read(root, path)
        except UsageError as error:
            left_out.append(str(error))
    return Brought(files, "new" if files else "", left_out=tuple(left_out), root=root)


def find_notes(folder: Path) -> str:
    """The name of the notes for agents in a folder: the first plain file that is not empty, else ""."""
    return next((name for name in NOTES if _is_filled(folder / name)), "")


def read_notes(root: Path, path: str) -> bytes:
    """Notes of a folder inside. Raises UsageError for what is no plain text of a size that a person reads."""
    return _read(root, path)


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
    configs = [path for path in CONFIGS if (root / path).exists() or (root / path).is_symlink()]
    if len(configs) > 1:
        raise UsageError(f"{configs[0]} and {configs[1]} both exist; remove one of them.")
    yield from ((path, _read(root, path)) for path in configs)
    if _is_folder(root, ROLES):
        names = sorted(name for name in os.listdir(root / ROLES) if name.endswith(".md"))  # noqa: PTH208
        if len(names) > _MOST:
            raise UsageError(f"{ROLES} holds {len(names)} roles; at most {_MOST} are allowed.")
        yield from ((f"{ROLES}/{name}", _read(root, f"{ROLES}/{name}")) for name in names)


def _find_knowledge(root: Path, left_out: list[str]) -> Iterator[str]:
    """The paths of notes, skills, templates and tools. Sentences on what is left out go to `left_out`."""
    notes = find_notes(root)
    if notes:
        yield notes
    else:
        left_out += [_linked(name) for name in NOTES if (root / name).is_symlink()]
    for folder in SKILLS:
        skills = [f"{name}/{SKILL}" for name in _list(root, folder, left_out)]
        yield from _first_of(root, folder, skills, left_out)
    templates = [name for name in _list(root, TEMPLATES, left_out) if name.endswith(".md")]
    yield from _first_of(root, TEMPLATES, templates, left_out)
    yield from _first_of(root, TOOLS, _list(root, TOOLS, left_out), left_out)


def _list(root: Path, folder: str, left_out: list[str]) -> list[str]:
    """The names in a folder that is there, through no link."""
    try:
        there = _is_folder(root, folder.partition("/")[0]) and _is_folder(root, folder)
        return sorted(os.listdir(root / folder)) if there else []  # noqa: PTH208
    except UsageError as error:
        if not _leads_to_another(root, folder):
            left_out.append(str(error))
    except OSError as error:
        left_out.append(f"{folder} cannot be read: {error.strerror}.")
    return []


def _leads_to_another(root: Path, folder: str) -> bool:
    """True if a link leads to another folder of skills that is read anyway."""
    others = [root / each for each in SKILLS if each != folder]
    return any(each.is_dir() and each.resolve() == (root / folder).resolve() for each in others)


def _first_of(root: Path, folder: str, names: Sequence[str], left_out: list[str]) -> Iterator[str]:
    there = [f"{folder}/{name}" for name in names if os.path.lexists(root / folder / name)]
    if len(there) > _MOST:
        left_out.append(f"{folder} holds {len(there)} files; only the first {_MOST} are read.")
    yield from there[:_MOST]


def _is_filled(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size > 0


def _linked(path: str) -> str:
    return f"{path} is a link; kith follows no links to configuration files."


def _is_folder(root: Path, path: str) -> bool:
    """True if there is a folder; a link to one raises UsageError, a plain file is ignored."""
    try:
        mode = (root / path).lstat().st_mode
    except OSError:
        return False
    if stat.S_ISLNK(mode):
        raise UsageError(_linked(path))
    return stat.S_ISDIR(mode)


def _read(root: Path, path: str) -> bytes:
    try:
        data = read_plain(root / path, _LARGEST + 1)
    except OSError as error:
        why = _linked(path) if (root / path).is_symlink() else f"{path} cannot be read: {error.strerror}."
        raise UsageError(why) from error
    if data is None:
        raise UsageError(f"{path} is not a file.")
    if len(data) > _LARGEST:
        raise UsageError(f"{path} is larger than {_LARGEST >> 10} KiB, the limit.")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not written in UTF-8 (byte {error.start}).") from error
    return data
