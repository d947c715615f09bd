"""What a scan found in each file, kept until the file changes: a cache in SQLite that may vanish any time."""

import sqlite3
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kith import __version__
from kith.memory.caches import Stamp, find_place, is_storable, remove

_VERSION: Final = 3  # of the tables and of what is kept in them
_SCHEMA: Final = """
CREATE TABLE files (
  path TEXT PRIMARY KEY,
  size INTEGER NOT NULL,
  written INTEGER NOT NULL,
  digest BLOB NOT NULL,
  facts TEXT NOT NULL,
  prints BLOB NOT NULL
);
CREATE TABLE notes (name TEXT PRIMARY KEY, text TEXT NOT NULL)
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """One file as it was looked at: `facts` and `prints` are the scan's own words, unread here."""

    path: str
    stamp: Stamp
    digest: bytes
    facts: str
    prints: bytes


class ScanStore:
    """The cache of one project. Where the disk refuses, nothing is kept and nothing fails."""

    def __init__(self, cache: Path, root: Path) -> None:
        self._db: sqlite3.Connection | None = None
        for _ in range(2):  # the second time after a broken file was removed
            with self._forgiving():
                self._path = find_place(cache, "scan", root)
                self._open()
            if self._db is not None:
                break

    def _open(self) -> None:
        self._db = sqlite3.connect(self._path, isolation_level=None, timeout=5, check_same_thread=False)
        self._path.chmod(0o600)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=OFF")  # a cache: after a power cut it is made anew
        # What is found changes with kith's version, and the hashes, which are Python's own, with Python's.
        version = zlib.crc32(f"{_VERSION} {__version__} {sys.version_info[:2]}".encode()) >> 1
        if self._db.execute("PRAGMA user_version").fetchone()[0] == version:
            return
        self._db.execute("BEGIN IMMEDIATE")
        for (table,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            self._db.execute(f'DROP TABLE "{table}"')
        for statement in _SCHEMA.split(";"):
            self._db.execute(statement)
        self._db.execute(f"PRAGMA user_version={version}")
        self._db.execute("COMMIT")

    @contextmanager
    def _forgiving(self) -> Iterator[None]:
        """After an error of the disk or the file, the store is closed; a broken file is removed."""
        try:
            yield
        except OSError:
            self.close()
        except sqlite3.Error as error:
            self.close()
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in (
                sqlite3.SQLITE_CORRUPT,
                sqlite3.SQLITE_NOTADB,
            ):
                with suppress(OSError):
                    remove(self._path)

    def close(self) -> None:
        if self._db is not None:
            with suppress(sqlite3.Error):
                self._db.close()
        self._db = None

    # --- files -------------------------------------------------------------------------------

    def load(self) -> dict[str, Kept]:
        """All that is kept, by path."""
        rows: list[tuple[str, int, int, bytes, str, bytes]] = []
        with self._forgiving():
            if self._db is not None:
                rows = self._db.execute(
                    "SELECT path, size, written, digest, facts, prints FROM files"
                ).fetchall()
        return {
            path: Kept(path, (size, at), digest, facts, prints)
            for path, size, at, digest, facts, prints in rows
        }

    def put(self, files: Iterable[Kept]) -> None:
        """Keep these files, in place of what was known of them; names that are no Unicode are left out."""
        rows = [
            (each.path, *each.stamp, each.digest, each.facts, each.prints)
            for each in files
            if is_storable(each.path)
        ]
        self._change("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)", rows)

    def forget(self, paths: Iterable[str]) -> None:
        """Files that are gone."""
        self._change("DELETE FROM files WHERE path = ?", [(path,) for path in paths])

    def _change(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        with self._forgiving():
            if self._db is not None and rows:
                self._db.execute("BEGIN IMMEDIATE")
                self._db.executemany(statement, rows)
                self._db.execute("COMMIT")

    # --- notes -------------------------------------------------------------------------------

    def note(self, name: str) -> str:
        """What was noted under a name, "" for nothing."""
        found: list[tuple[str]] = []
        with self._forgiving():
            if self._db is not None:
                found = self._db.execute("SELECT text FROM notes WHERE name = ?", (name,)).fetchall()
        return found[0][0] if found else ""

    def write_note(self, name: str, text: str) -> None:
        """Note a text under a name, in place of what was there."""
        self._change("INSERT OR REPLACE INTO notes VALUES (?, ?)", [(name, text)])
