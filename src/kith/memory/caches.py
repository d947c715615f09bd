"""Caches of a project in SQLite that may vanish: where they lie, scans of files, rows of sessions."""

import hashlib
import os
import sqlite3
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct

from kith import __version__
from kith.memory.database import distrust, is_damaged, write_ahead

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
    """True if a folder no longer exists; an unreadable one still does."""
    try:
        root.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    return False


# --- a cache in SQLite -----------------------------------------------------------------------


class CacheFile:
    """The cache of one kind for one folder or file, emptied where it was made for another `version`.

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
        write_ahead(self._db)
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


# What a scan found in each file, kept until the file changes: a cache in SQLite that may vanish any
# time.

_SCAN_VERSION: Final = 3  # of the tables and of what is kept in them
_SCAN_SCHEMA: Final = """
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


class KeptScan(Struct, frozen=True):
    """One file as it was looked at: `facts` and `prints` are the scan's own words, unread here."""

    path: str
    stamp: Stamp
    digest: bytes
    facts: str
    prints: bytes


class ScanStore:
    """The cache of one project. Where the disk refuses, nothing is kept and nothing fails."""

    def __init__(self, cache: Path, root: Path) -> None:
        # What is found changes with kith's version, and the hashes, which are Python's own, with Python's.
        version = f"{_SCAN_VERSION} {__version__} {sys.version_info[:2]}"
        self._file = CacheFile(cache, "scan", root, _SCAN_SCHEMA, version)

    def close(self) -> None:
        self._file.close()

    # --- files -------------------------------------------------------------------------------

    def load(self) -> dict[str, KeptScan]:
        """All that is kept, by path."""
        rows = self._file.read("SELECT path, size, written, digest, facts, prints FROM files")
        return {
            path: KeptScan(path, (size, at), digest, facts, prints)
            for path, size, at, digest, facts, prints in rows
        }

    def put(self, files: Iterable[KeptScan]) -> None:
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
        if rows:
            self._file.change((statement, rows))

    # --- notes -------------------------------------------------------------------------------

    def note(self, name: str) -> str:
        """Return the note with this name, "" for none."""
        found = self._file.read("SELECT text FROM notes WHERE name = ?", (name,))
        return str(found[0][0]) if found else ""

    def write_note(self, name: str, text: str) -> None:
        """Note a text under a name, in place of what was there."""
        self._change("INSERT OR REPLACE INTO notes VALUES (?, ?)", [(name, text)])


# Rows that were folded from sessions: a cache in SQLite that may vanish any time.

_ROWS_VERSION: Final = 1  # of the tables
_ROWS_SCHEMA: Final = """
CREATE TABLE sessions (
  session TEXT PRIMARY KEY,
  root TEXT NOT NULL,
  first INTEGER NOT NULL,
  last REAL NOT NULL,
  calls TEXT NOT NULL,
  legs TEXT NOT NULL,
  verdicts TEXT NOT NULL
);
CREATE TABLE undoes (
  seq INTEGER PRIMARY KEY, session TEXT NOT NULL, change TEXT NOT NULL, undoes TEXT NOT NULL
);
CREATE TABLE log (events INTEGER NOT NULL, newest INTEGER NOT NULL, name TEXT NOT NULL)
"""


class Extent(NamedTuple):
    """The extent of a log: its number of events, the newest number, and a name unique to this log."""

    events: int = 0
    newest: int = 0
    name: str = ""


class SessionRow(Struct, frozen=True):
    """The totals of one session, from its event `first` to the moment `last`.

    `calls`, `legs` and `verdicts` are items of JSON lists, without the brackets, and not parsed here.
    `undoes`: number, change, and the change that it undid.
    """

    session: str
    root: str
    first: int
    last: float
    calls: str
    legs: str
    verdicts: str
    undoes: Sequence[tuple[int, str, str]] = ()


class SessionRows:
    """The cache of one log, for items of this shape; where the disk refuses, nothing is kept or fails."""

    def __init__(self, cache: Path, log: Path, shape: object) -> None:
        self._file = CacheFile(cache, "measured", log, _ROWS_SCHEMA, f"{_ROWS_VERSION} {__version__} {shape}")

    @property
    def usable(self) -> bool:
        return self._file.usable

    def close(self) -> None:
        self._file.close()

    # --- what is kept ------------------------------------------------------------------------

    def extent(self) -> Extent:
        """The extent of the log when it was last read."""
        rows = self._file.read("SELECT events, newest, name FROM log")
        return Extent(*rows[0]) if rows else Extent()

    def sessions(self) -> set[str]:
        """The sessions whose rows are kept."""
        return {session for (session,) in self._file.read("SELECT session FROM sessions")}

    def put(self, rows: Iterable[SessionRow], gone: Iterable[str], extent: Extent) -> None:
        """Keep what these sessions came to, in place of what was there, and drop those that are gone."""
        rows = [each for each in rows if is_storable(each.root)]
        dropped = [(session,) for session in (*gone, *(each.session for each in rows))]
        kept = [
            (each.session, each.root, each.first, each.last, each.calls, each.legs, each.verdicts)
            for each in rows
        ]
        undoes = [(seq, each.session, *ids) for each in rows for seq, *ids in each.undoes]
        self._file.change(
            ("DELETE FROM sessions WHERE session = ?", dropped),
            ("DELETE FROM undoes WHERE session = ?", dropped),
            ("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?)", kept),
            ("INSERT INTO undoes VALUES (?, ?, ?, ?)", undoes),
            ("DELETE FROM log", [()]),
            ("INSERT INTO log VALUES (?, ?, ?)", [extent]),
        )

    def forget(self, session: str) -> None:
        """Drop what is kept of a session."""
        self.put((), (session,), self.extent())

    def rows(self, column: Literal["calls", "legs", "verdicts"], root: str, since: float) -> str:
        """One sort of items, as a JSON list, of the sessions of a folder ("": of all) that went on since."""
        query = f"SELECT {column} FROM sessions WHERE last >= ? AND ? IN ('', root) ORDER BY first"
        texts = (text for (text,) in self._file.read(query, (since, root)) if text)
        # Read as one text: thousands of small ones take far longer.
        return f"[{','.join(texts)}]"

    def undoes(self) -> list[tuple[int, str, str]]:
        """All undoings, in their order: number, change, and the one that it undid."""
        return self._file.read("SELECT seq, change, undoes FROM undoes ORDER BY seq")
