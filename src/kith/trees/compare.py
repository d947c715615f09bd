"""Compare a trial with its tree, once it is known which files to look at."""

import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from kith.core.errors import TreeError
from kith.core.values import FILE, Change, Changes
from kith.trees.files import FileState, look_at

Stamp = tuple[object, ...]  # a path's state in numbers: as long as it is the same, so is the file
GONE: Stamp = ("gone",)
Look = Callable[[str], FileState | None]
BY_PRODUCTS: Final = "by-products"  # a file in a trial's folder

_MOST_BYTES = 128 << 20  # of all files of a change: they are held in memory
_CACHES = {
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".coverage",
    ".DS_Store",
}


class Touched(Struct, frozen=True):
    """Paths that may differ from the user's tree: those that are there now, and those that no longer are."""

    present: Collection[str]
    gone: Collection[str]


def stamp_of(found: os.stat_result) -> Stamp:
    """Return the file attributes that change whenever a file does."""
    return (found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def compare(touched: Touched, before: Look, after: Look) -> Changes:
    """The changes among the touched paths, sorted; `before` and `after` say what lies at one (None: nothing).

    Files that may not be read are left out, and so are caches of well-known tools where there were none.
    Raises TreeError for a file too large to be part of a change, and for too much in all.
    """
    found, held = list[Change](), 0
    for path in sorted({*touched.present, *touched.gone}):
        try:
            old, new = before(path), after(path) if path in touched.present else None
        except TreeError as error:
            if isinstance(error.__cause__, PermissionError):
                continue
            raise
        if _differ(old, new) and not (old is None and is_cache(path)):
            found.append(_change(path, old, new))
            held += sum(len(each.content) for each in (old, new) if each)
            if held > _MOST_BYTES:
                raise TreeError(
                    f"the change is larger than {_MOST_BYTES >> 20} MiB; remove files that do not "
                    "belong to it"
                )
    return tuple(found)


def files_of(root: Path) -> Look:
    """Return a function that reads a file of the tree; a folder, or a file behind a link, is None."""

    @cache
    def is_real(folder: Path) -> bool:
        return folder.resolve() == folder

    def look(path: str) -> FileState | None:
        place = root / path
        if not is_real(place.parent) or not (place.is_symlink() or place.is_file()):
            return None
        return look_at(root, path)

    return look


def _differ(old: FileState | None, new: FileState | None) -> bool:
    if old is None or new is None:
        return old is not new
    return (old.content, old.mode) != (new.content, new.mode)


def _change(path: str, old: FileState | None, new: FileState | None) -> Change:
    return Change(
        path,
        old.content if old else None,
        new.content if new else None,
        new.mode if new else old.mode if old else FILE,
        old.mode if old else new.mode if new else FILE,
    )


def is_cache(path: str) -> bool:
    """True for what interpreters and test runners leave behind."""
    return path.endswith(".pyc") or not _CACHES.isdisjoint(path.split("/"))


def outside_repositories(paths: Iterable[str], is_repository: Callable[[str], bool]) -> list[str]:
    """`paths` without those in nested repositories; `is_repository` answers for a folder of the tree."""
    known = {"": False}

    def inside(folder: str) -> bool:
        unknown = list[str]()
        while folder not in known:
            unknown.append(folder)
            folder = folder.rpartition("/")[0]
        found = known[folder]
        for each in reversed(unknown):
            found = known[each] = found or is_repository(each)
        return found

    return [path for path in paths if not inside(path.rpartition("/")[0])]


class ByProducts(Struct, frozen=True):
    """The files that checks left behind: path and stamp. A path that changes again counts again.

    While a check runs, a second file lists what the work itself had changed before: that stays part of the
    change. Where the second file is left over, the check was cut off.
    """

    file: Path

    def load(self) -> dict[str, Stamp]:
        try:
            stored: dict[str, list[object]] = json.loads(self.file.read_text())
        except FileNotFoundError:
            return {}
        return {path: tuple(stamp) for path, stamp in stored.items()}

    def save(self, stamps: Mapping[str, Stamp]) -> None:
        _write(self.file, stamps)

    def begin(self, stamps: Mapping[str, Stamp]) -> None:
        """A check begins. It is alone in the trial until it ends."""
        known = self.load()
        _write(self.during, [path for path, stamp in stamps.items() if known.get(path) != stamp])

    def end(self, stamps: Mapping[str, Stamp]) -> None:
        """It has ended, whenever that was: all but the work's own files are what checks left behind."""
        own = set(json.loads(self.during.read_text()))
        self.save({path: stamp for path, stamp in stamps.items() if path not in own})
        self.during.unlink()

    @property
    def during(self) -> Path:
        return self.file.with_suffix(".during")

    @property
    def cut_off(self) -> bool:
        return self.during.exists()


def _write(file: Path, content: object) -> None:
    """All of it or nothing: who copies a trial at work reads this."""
    draft = file.with_suffix(".new")
    draft.write_text(json.dumps(content))
    draft.replace(file)
