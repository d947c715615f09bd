"""What a scan found in each file, kept until the file changes: a cache in SQLite that may vanish any time."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kith import __version__
from kith.memory.caches import CacheFile, Stamp, is_storable

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
class KeptScan:
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
        version = f"{_VERSION} {__version__} {sys.version_info[:2]}"
        self._file = CacheFile(cache, "scan", root, _SCHEMA, version)

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
        """What was noted under a name, "" for nothing."""
        found = self._file.read("SELECT text FROM notes WHERE name = ?", (name,))
        return str(found[0][0]) if found else ""

    def write_note(self, name: str, text: str) -> None:
        """Note a text under a name, in place of what was there."""
        self._change("INSERT OR REPLACE INTO notes VALUES (?, ?)", [(name, text)])
