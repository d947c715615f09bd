"""Rows that were folded from sessions: a cache in SQLite that may vanish any time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple

from kith import __version__
from kith.memory.caches import CacheFile, is_storable

_VERSION: Final = 1  # of the tables
_SCHEMA: Final = """
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
    """How far a log goes: its events, the newest one's number, and a name that no other log has."""

    events: int = 0
    newest: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """What one session came to, from its event `first` to the moment `last`.

    `calls`, `legs` and `verdicts` are items of JSON lists, without the brackets, and unread here; `undoes`:
    number, change, and the one that it took back.
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
        self._file = CacheFile(cache, "measured", log, _SCHEMA, f"{_VERSION} {__version__} {shape}")

    @property
    def usable(self) -> bool:
        return self._file.usable

    def close(self) -> None:
        self._file.close()

    # --- what is kept ------------------------------------------------------------------------

    def extent(self) -> Extent:
        """How far the log went when it was last read."""
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
        """All undoings, in their order: number, change, and the one that it took back."""
        return self._file.read("SELECT seq, change, undoes FROM undoes ORDER BY seq")
