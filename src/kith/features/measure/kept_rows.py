"""The rows of sessions that were folded already: a cache in SQLite that may vanish any time."""

import json
from collections.abc import Callable, Iterable
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_type_hints

from kith import __version__
from kith.core.values import Timing, Usage
from kith.features.measure.folding import Folded, VerdictRow
from kith.features.measure.rows import CallRow, LegRow
from kith.memory.cache_file import CacheFile
from kith.memory.caches import is_storable

_VERSION: Final = 1  # of the tables, and of what the fold finds
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
_NESTED: Final[dict[Any, Callable[[list[Any]], Any]]] = {
    Usage: lambda values: Usage(*values),
    Timing: lambda values: Timing(*values),
    tuple[str, ...]: tuple,
}


class Extent(NamedTuple):
    """How far a log goes: its events, the newest one's number, and a name that no other log has."""

    events: int = 0
    newest: int = 0
    name: str = ""


class KeptRows:
    """The cache of one log. Where the disk refuses, nothing is kept and nothing fails."""

    def __init__(self, cache: Path, log: Path) -> None:
        shape = [(kind.__name__, [f.name for f in fields(kind)]) for kind in (CallRow, LegRow, VerdictRow)]
        version = f"{_VERSION} {__version__} {shape}"
        self._file = CacheFile(cache, "measured", log, _SCHEMA, version)

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

    def put(self, found: Iterable[Folded], gone: Iterable[str], extent: Extent) -> None:
        """Keep the rows of these sessions, in place of what was there, and drop those that are gone."""
        found = [each for each in found if is_storable(each.root)]
        dropped = [(session,) for session in (*gone, *(each.session for each in found))]
        kept = [(each.session, each.root, each.first, each.last, *_encode(each)) for each in found]
        undoes = [(seq, each.session, *ids) for each in found for seq, *ids in each.undoes]
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
        """One sort of rows, as JSON, of the sessions of a folder ("": of all) that went on since then."""
        query = f"SELECT {column} FROM sessions WHERE last >= ? AND ? IN ('', root) ORDER BY first"
        texts = (text for (text,) in self._file.read(query, (since, root)) if text)
        # Read as one text: thousands of small ones take far longer.
        return f"[{','.join(texts)}]"

    def undoes(self) -> list[tuple[int, str, str]]:
        """All undoings, in their order: number, change, and the one that it took back."""
        return self._file.read("SELECT seq, change, undoes FROM undoes ORDER BY seq")


# --- rows as JSON lists, a session's without the brackets ------------------------------------


def _encode(folded: Folded) -> tuple[str, str, str]:
    legs = [(*astuple(leg), ids) for leg, ids in zip(folded.legs, folded.changes, strict=True)]
    return _dump(map(astuple, folded.calls)), _dump(legs), _dump(map(astuple, folded.verdicts))


def _dump(rows: Iterable[tuple[Any, ...]]) -> str:
    return json.dumps(list(rows), separators=(",", ":"))[1:-1]


def _reader(kind: Any) -> Callable[[list[Any]], Any]:
    """What makes a row of a list: JSON knows neither tuples nor the values within a row."""
    hints = get_type_hints(kind)
    made = [
        (place, _NESTED[hints[field.name]])
        for place, field in enumerate(fields(kind))
        if hints[field.name] in _NESTED
    ]

    def read(values: list[Any]) -> Any:
        for place, make in made:
            values[place] = make(values[place])
        return kind(*values)

    return read


_read_call: Callable[[list[Any]], CallRow] = _reader(CallRow)
_read_leg: Callable[[list[Any]], LegRow] = _reader(LegRow)


def decode_calls(text: str) -> list[CallRow]:
    """The calls that `KeptRows.rows` gave."""
    return [_read_call(row) for row in json.loads(text)]


def decode_legs(text: str) -> list[tuple[LegRow, list[str]]]:
    """The legs that `KeptRows.rows` gave, each with the changes that it applied."""
    found = []
    for row in json.loads(text):
        changes = row.pop()
        found.append((_read_leg(row), changes))
    return found


def decode_verdicts(text: str) -> list[VerdictRow]:
    """The verdicts that `KeptRows.rows` gave."""
    return [VerdictRow(*row) for row in json.loads(text)]
