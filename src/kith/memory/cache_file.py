"""A cache in SQLite that may vanish any time: where the disk refuses, nothing is kept and nothing fails."""

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kith.memory.caches import find_place, remove
from kith.memory.database import distrust, is_damaged


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
