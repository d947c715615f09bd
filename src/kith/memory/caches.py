"""Caches of a project: where they lie, when a file is the same, and one in SQLite that may vanish."""

import hashlib
import os
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from kith.memory.database import distrust, is_damaged

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


# --- a cache in SQLite -----------------------------------------------------------------------


class CacheFile:
    """The cache of one kind for one folder or file, begun anew where it was made for another `version`.

    After an error of the disk or the file it is closed, and neither knows nor keeps anything; a broken file
    is removed.
    """

    def __init__(self, cache: Path, kind: str, of: Path, schema: str, version: str) -> None:
        self._db: sqlite3.Connection | None = None
        for _ in range(2):  # the second time after a broken file was removed
            with self._forgiving():
                self._path = find_place(cache, kind, of)
                self._open(schema, zlib.crc32(version.encode()) >> 1)
            if self._db is not None:
                break

    def _open(self, schema: str, version: int) -> None:
        self._db = sqlite3.connect(self._path, isolation_level=None, timeout=5, check_same_thread=False)
        self._path.chmod(0o600)
        distrust(self._db)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA secure_delete=ON")  # of sessions that are forgotten nothing stays here, too
        self._db.execute("PRAGMA synchronous=OFF")  # a cache: after a power cut it is made anew
        if self._db.execute("PRAGMA user_version").fetchone()[0] == version:
            return
        self._db.execute("BEGIN IMMEDIATE")
        for (table,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            self._db.execute(f'DROP TABLE "{table}"')
        for statement in schema.split(";"):
            self._db.execute(statement)
        self._db.execute(f"PRAGMA user_version={version}")
        self._db.execute("COMMIT")

    @contextmanager
    def _forgiving(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            self.close()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self.close()
            if is_damaged(error):
                with suppress(OSError):
                    remove(self._path)

    @property
    def usable(self) -> bool:
        return self._db is not None

    def read(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        """All the rows of a query; none where the cache cannot be used."""
        with self._forgiving():
            if self._db is not None:
                return self._db.execute(query, values).fetchall()
        return []

    def change(self, *statements: tuple[str, Sequence[Sequence[object]]]) -> None:
        """Run statements, each for all of its rows; together they happen, or do not."""
        with self._forgiving():
            if self._db is not None:
                self._db.execute("BEGIN IMMEDIATE")
                for statement, rows in statements:
                    self._db.executemany(statement, rows)
                self._db.execute("COMMIT")

    def close(self) -> None:
        if self._db is not None:
            with suppress(sqlite3.Error):
                self._db.close()
        self._db = None
