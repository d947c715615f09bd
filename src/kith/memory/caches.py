"""What the caches of a project have in common: where they lie, when a file is the same, and when they go."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

Stamp = tuple[int, int]  # size in bytes, time of the last write in ns (0: look again)

_SETTLED: Final = 2_000_000_000  # ns; a file written later than this ago may change and keep its stamp
_ROOT: Final = ".root"  # beside each cache: the folder that it is of


def settle(stamp: Stamp, now: int) -> Stamp:
    """The stamp by which a file is known again; one written just before `now` (ns) is looked at again."""
    size, written = stamp
    return size, written if written < now - _SETTLED else 0


def is_storable(path: str) -> bool:
    """Names in other encodings, kept as surrogates, cannot be stored as text; caches leave them out."""
    return path.isascii() or not any("\ud800" <= char <= "\udfff" for char in path)


def find_place(cache: Path, kind: str, root: Path) -> Path:
    """The file for a project's cache of a kind. Raises OSError.

    Before a new one is begun, those whose folders are gone are removed.
    """
    root, folder = root.resolve(), cache / kind
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    told = folder / f"{name}{_ROOT}"
    if not told.exists():
        _prune(folder)
        told.write_bytes(os.fsencode(root))
    return folder / f"{name}.sqlite3"


def remove(place: Path) -> None:
    """Remove a cache with its journal. Raises OSError."""
    for ending in ("", "-wal", "-shm"):
        place.with_name(place.name + ending).unlink(missing_ok=True)


def _prune(folder: Path) -> None:
    for told in folder.glob(f"*{_ROOT}"):
        with suppress(OSError, ValueError):  # what cannot be read or removed stays
            if _is_gone(Path(os.fsdecode(told.read_bytes()))):
                remove(told.with_suffix(".sqlite3"))
                told.unlink()


def _is_gone(root: Path) -> bool:
    """Whether a folder is there no more; one that may not be looked at is."""
    try:
        root.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    return False
