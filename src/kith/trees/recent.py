"""The last list of a tree's files, for as long as the tree shows that it still holds.

A task asks for it again and again within a second, and git takes a tenth of a second for 40,000 files.
"""

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FRESH_S: Final = 5.0  # for what shows nowhere: a file in a folder that was empty, rules outside of the tree
_TICK_NS: Final = 50_000_000  # clocks of file systems are coarse: what changed so lately may change unseen
_MOST: Final = 4  # trees
_INDEX: Final = ".git/index"

Stamp = tuple[int, int, int] | None
_lists: dict[Path, "_Known"] = {}


@dataclass(frozen=True, slots=True)
class _Known:
    files: tuple[str, ...]
    at: float
    stamps: Mapping[str, Stamp]  # of each folder, of git's index and of the rules of what is ignored


@dataclass(frozen=True, slots=True)
class Begun:
    """When a list was begun: by the clock of the disk, and by one that is never set."""

    wall_ns: int
    steady: float


def begin() -> Begun:
    return Begun(time.time_ns(), time.monotonic())


def recall(root: Path) -> tuple[str, ...] | None:
    """The files of the tree at `root`, None where nobody has listed them lately or anything came or went."""
    known = _lists.get(root)
    if known is None or time.monotonic() - known.at > FRESH_S:
        return None
    top = os.fspath(root)
    if any(_stamp(top, path) != stamp for path, stamp in known.stamps.items()):
        _lists.pop(root, None)
        return None
    return known.files


def remember(root: Path, files: tuple[str, ...], begun: Begun) -> None:
    """Keep a list, unless something changed while it was made, or just before that."""
    top = os.fspath(root)
    rules = (path for path in files if path.endswith(".gitignore"))
    stamps = {path: _stamp(top, path) for path in (*_folders(files), *rules, _INDEX)}
    _lists.pop(root, None)
    if all(stamp is None or stamp[0] < begun.wall_ns - _TICK_NS for stamp in stamps.values()):
        _lists[root] = _Known(files, begun.steady, stamps)
    while len(_lists) > _MOST:
        _lists.pop(next(iter(_lists)), None)


def _folders(files: Iterable[str]) -> set[str]:
    """All folders that hold one of the files, at any depth, and the top ("")."""
    found = {path.rpartition("/")[0] for path in files} | {""}
    for folder in tuple(found):
        while (folder := folder.rpartition("/")[0]) not in found:
            found.add(folder)
    return found


def _stamp(top: str, path: str) -> Stamp:
    """What changes when a folder's names do, or a file; None for what is not there."""
    try:
        found = os.lstat(f"{top}/{path}" if path else top)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size
