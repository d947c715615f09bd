"""The append-only log: every event of every session in one SQLite file, one writer per session."""

import os
import sqlite3
import sys
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from kith.core.codec import KINDS, decode_event, encode_event
from kith.core.errors import BusyError, KithError, UsageError
from kith.core.events import Applied, Carded, Event, RunEnded, RunStarted, is_transient
from kith.memory.past import Past, fold

LOG_FILE = "log.sqlite3"  # in the folder for state
SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  session TEXT NOT NULL,
  at REAL NOT NULL,
  path TEXT NOT NULL,
  kind TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX events_of_session ON events (session, seq);
CREATE INDEX starts_and_ends ON events (kind, session) WHERE kind IN ('RunStarted', 'RunEnded', 'Applied');
"""

_LAST_END = """
SELECT kind FROM events WHERE session = ? AND kind IN ('RunStarted', 'RunEnded') ORDER BY seq DESC LIMIT 1
"""

Listener = Callable[[Event, tuple[str, ...]], None]


@dataclass(frozen=True, slots=True)
class Record:
    """One logged event: its number, when (seconds since the epoch), and in which step it happened."""

    seq: int
    at: float
    path: tuple[str, ...]
    event: Event


@dataclass(frozen=True, slots=True)
class Summary:
    """A session in a line: its first task, its folder, when it last did something, how it ended."""

    id: str
    task: str
    root: str
    model: str
    at: float
    status: str


class Log:
    """The log's file. Reading needs no lock; writing goes through a Session.

    Everything raises KithError when the file cannot be used, BusyError while another process locks it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._cards: dict[str, tuple[int, dict[str, Any]]] = {}  # as far as they were read
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._in_words("opened"):
                self._db = sqlite3.connect(path, isolation_level=None, timeout=10)
                path.chmod(0o600)
                self._prepare()
        except OSError as error:
            raise KithError(f"{path.parent} cannot be written: {error.strerror}.") from error

    @contextmanager
    def _in_words(self, what: str) -> Iterator[None]:
        """SQLite's refusals as a sentence for the person."""
        try:
            yield
        except sqlite3.Error as error:
            busy = getattr(error, "sqlite_errorcode", 0) & 0xFF in (
                sqlite3.SQLITE_BUSY,
                sqlite3.SQLITE_LOCKED,
            )
            kind = BusyError if busy else KithError
            raise kind(f"The log {self.path} cannot be {what}: {error}.") from error

    def _read(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        """All the rows of a query."""
        with self._in_words("read"):
            return self._db.execute(query, values).fetchall()

    def _decode(self, kind: str, body: str) -> Event:
        try:
            return decode_event(kind, body)
        except (ValueError, TypeError, KeyError) as error:
            raise KithError(
                f"The log {self.path} is damaged: it holds a {kind} that cannot be read."
            ) from error

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        version: int = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise KithError(
                f"The log {self.path} was written by a newer kith (schema {version}, this one knows "
                f"{SCHEMA_VERSION}); nothing was touched."
            )
        if version == 0:
            # Two first starts may meet here: the loser of the lock sees the winner's version.
            self._db.execute("BEGIN IMMEDIATE")
            if self._db.execute("PRAGMA user_version").fetchone()[0] == 0:
                for statement in _SCHEMA.split(";"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
            self._db.execute("COMMIT")
        if not self._db.execute("PRAGMA index_info(cards)").fetchall():  # a log from before there were cards
            self._db.execute("CREATE INDEX IF NOT EXISTS cards ON events (kind) WHERE kind = 'Carded'")
        if not self._db.execute("PRAGMA index_info(calls)").fetchall():  # ... before anything was paid
            self._db.execute("CREATE INDEX IF NOT EXISTS calls ON events (at) WHERE kind = 'Called'")
            self._db.execute("CREATE INDEX IF NOT EXISTS answers ON events (seq) WHERE kind = 'Answered'")

    def append(self, session: str, event: Event, path: tuple[str, ...]) -> int:
        """Write one event; returns its number."""
        row = (session, time.time(), "/".join(path), type(event).__name__, encode_event(event))
        with self._in_words("written"):
            insert = "INSERT INTO events (session, at, path, kind, body) VALUES (?, ?, ?, ?, ?)"
            return self._db.execute(insert, row).lastrowid or 0

    def events(self, session: str, after: int = 0, kinds: Container[str] = KINDS) -> Iterator[Record]:
        """The session's events in order, after number `after`, of these kinds."""
        query = "SELECT seq, at, path, kind, body FROM events WHERE session = ? AND seq > ? ORDER BY seq"
        for seq, at, path, kind, body in self._read(query, (session, after)):
            # A newer kith may have written kinds that this one does not know.
            if kind in kinds and kind in KINDS:
                yield Record(seq, at, tuple(path.split("/")) if path else (), self._decode(kind, body))

    def past(self, session: str) -> Past:
        """What a session's events add up to."""
        return fold(record.event for record in self.events(session))

    def extent(self) -> tuple[int, int, str]:
        """How many events there are, the newest one's number, and what tells this log from others."""
        query = "SELECT (SELECT COUNT(*) FROM events), (SELECT MAX(seq) FROM events)"
        ((count, newest),) = self._read(query)
        first = self._read("SELECT session, at FROM events ORDER BY seq LIMIT 1")
        return count, newest or 0, " ".join(map(str, first[0])) if first else ""

    def count_after(self, number: int) -> int:
        """How many events came after this number."""
        ((count,),) = self._read("SELECT COUNT(*) FROM events WHERE seq > ?", (number,))
        return int(count)

    def session_ids(self, after: int = 0) -> list[str]:
        """The sessions with events after number `after`, in the order of the first of these."""
        query = "SELECT session FROM events WHERE seq > ? GROUP BY session ORDER BY MIN(seq)"
        return [session for (session,) in self._read(query, (after,))]

    def having(self, kind: str) -> list[str]:
        """The sessions in which an event of this kind happened, oldest first."""
        query = "SELECT session FROM events WHERE kind = ? GROUP BY session ORDER BY MIN(seq)"
        return [session for (session,) in self._read(query, (kind,))]

    def sessions(self, root: Path | None = None, limit: int = 50) -> list[Summary]:
        """The newest sessions first, those of one folder when `root` is given."""
        query = """
            SELECT session, MAX(seq), MAX(at) FROM events
            WHERE kind IN ('RunStarted', 'RunEnded', 'Applied') GROUP BY session ORDER BY 2 DESC
        """
        summaries = (self._summarise(session, at) for session, _, at in self._read(query))
        mine = (each for each in summaries if root is None or each.root == str(root))
        return [summary for _, summary in zip(range(limit), mine, strict=False)]

    def _summarise(self, session: str, at: float) -> Summary:
        started = self._one(session, "RunStarted", "ASC")
        ended = self._one(session, "RunEnded", "DESC")
        task, root, model = "", "", ""
        if isinstance(started, RunStarted):
            task, root, model = started.task, started.root, started.model
        last = self._read(_LAST_END, (session,))
        status = ended.status if isinstance(ended, RunEnded) and last[0][0] == "RunEnded" else "unfinished"
        return Summary(session, task, root, model, at, status)

    def _one(self, session: str, kind: str, order: str) -> Event | None:
        query = f"SELECT body FROM events WHERE session = ? AND kind = ? ORDER BY seq {order} LIMIT 1"
        row = next(iter(self._read(query, (session, kind))), None)
        return self._decode(kind, row[0]) if row else None

    def applied(self, root: str) -> list[tuple[str, Applied]]:
        """Every change that was applied in a folder, oldest first, with its session."""
        query = "SELECT session, body FROM events WHERE kind = 'Applied' ORDER BY seq"
        found: list[tuple[str, Applied]] = []
        for session, body in self._read(query):
            event, started = self._decode("Applied", body), self._one(session, "RunStarted", "ASC")
            if isinstance(event, Applied) and isinstance(started, RunStarted) and started.root == root:
                found.append((session, event))
        return found

    def applied_ids(self) -> set[str]:
        """The ids of all changes that the log knows of."""
        query = "SELECT json_extract(body, '$.change_id') FROM events WHERE kind = 'Applied'"
        return {id for (id,) in self._read(query)}

    def card(self, digest: str) -> dict[str, Any]:
        """What was learned of the model with these weights, the newest of each fact; {} when nothing was."""
        if not digest:
            return {}
        # Thousands of sessions have told of it: SQLite finds the few rows that count, and those only once.
        known, facts = self._cards.get(digest, (0, {}))
        query = """
            SELECT fact.key, MAX(told.seq), told.body FROM events told, json_each(told.body, '$.facts') fact
            WHERE told.kind = 'Carded' AND told.seq > ? AND json_extract(told.body, '$.digest') = ?
            GROUP BY fact.key
        """
        newest = known
        for key, seq, body in self._read(query, (known, digest)):
            event, newest = self._decode("Carded", body), max(newest, seq)
            facts |= {key: event.facts[key]} if isinstance(event, Carded) else {}
        self._cards[digest] = newest, facts
        return dict(facts)

    def cards(self) -> dict[str, dict[str, Any]]:
        """What was learned of every model, by digest."""
        found = self._read("SELECT DISTINCT json_extract(body, '$.digest') FROM events WHERE kind = 'Carded'")
        return {str(digest): self.card(str(digest)) for (digest,) in found}

    def paid(self, since: float, kind: str = "") -> float:
        """US dollars of all calls since a moment (seconds since the epoch), or those of one command."""
        query = "SELECT SUM(json_extract(body, '$.usd')) FROM events WHERE kind = 'Called' AND at >= ?"
        if not kind:
            return float(self._read(query, (since,))[0][0] or 0.0)
        of_kind = "kind = 'RunStarted' AND json_extract(body, '$.options.kind') = ?"
        query += f" AND session IN (SELECT session FROM events WHERE {of_kind})"
        return float(self._read(query, (since, kind))[0][0] or 0.0)

    def paid_in(self, session: str) -> float:
        """US dollars of the calls of a session's last task."""
        query = """
            SELECT SUM(json_extract(body, '$.usd')) FROM events WHERE session = ? AND kind = 'Called'
            AND seq > (SELECT COALESCE(MAX(seq), 0) FROM events WHERE session = ? AND kind = 'RunStarted')
        """
        return float(self._read(query, (session, session))[0][0] or 0.0)

    def paid_by_session(self, model: str, limit: int = 50) -> list[float]:
        """US dollars of each session that paid for a model, the newest first."""
        query = """
            SELECT SUM(json_extract(body, '$.usd')) AS usd FROM events
            WHERE kind = 'Called' AND json_extract(body, '$.model') = ?
            GROUP BY session HAVING usd > 0 ORDER BY MAX(seq) DESC LIMIT ?
        """
        return [float(usd) for (usd,) in self._read(query, (model, limit))]

    def answers(self, prefix: str) -> list[tuple[str, str, str, str]]:
        """Answers to questions whose ids begin so, oldest first: (session, folder, the id, the choice)."""
        query = """
            SELECT said.session, (SELECT json_extract(began.body, '$.root') FROM events began
                    WHERE began.session = said.session AND began.kind = 'RunStarted' LIMIT 1),
                   json_extract(said.body, '$.question_id'), json_extract(said.body, '$.answer.choice')
            FROM events said WHERE said.kind = 'Answered'
            AND substr(json_extract(said.body, '$.question_id'), 1, ?) = ? ORDER BY said.seq
        """
        rows = self._read(query, (len(prefix), prefix))
        return [(session, root or "", id, choice) for session, root, id, choice in rows]

    def find(self, prefix: str) -> str:
        """The one session whose id begins with `prefix`. Raises UsageError for none or several."""
        query = "SELECT DISTINCT session FROM events WHERE substr(session, 1, ?) = ? LIMIT 3"
        rows = self._read(query, (len(prefix), prefix)) if prefix.isascii() and prefix else ()
        found = [session for (session,) in rows]
        if len(found) == 1:
            return str(found[0])
        raise UsageError(
            f"Several sessions begin with {prefix!r}; give more of the id."
            if found
            else f"There is no session {prefix!r}; `kith sessions` lists them."
        )

    def of_kind(self, kind: str, root: Path | None = None) -> list[str]:
        """The sessions that a command of this name began, newest first, those of one folder if given."""
        query = """
            SELECT session, json_extract(body, '$.root') FROM events
            WHERE kind = 'RunStarted' AND json_extract(body, '$.options.kind') = ? ORDER BY seq DESC
        """
        rows = self._read(query, (kind,))
        return list(dict.fromkeys(id for id, place in rows if root is None or place == str(root)))

    def is_open(self, session: str) -> bool:
        """Whether a process works on a session now."""
        path = self.path.parent / "locks" / f"{session}.lock"
        if not path.exists():
            return False
        with path.open("r+") as file:
            return not _try_lock(file)

    def delete(self, session: str) -> None:
        """Forget a session for good."""
        with self._in_words("written"):
            self._db.execute("DELETE FROM events WHERE session = ?", (session,))
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self._db.close()


class Session:
    """The one writer of one session; listeners (faces) hear every event after it is written."""

    def __init__(self, log: Log, id: str) -> None:
        self.log, self.id = log, id
        self.listeners: list[Listener] = []
        self._lock: IO[str] | None = None

    def __enter__(self) -> "Session":
        folder = self.log.path.parent / "locks"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = _lock(folder / f"{self.id}.lock")
        except OSError as error:
            raise KithError(f"{folder} cannot be written: {error.strerror}.") from error
        if self._lock is None:
            raise BusyError(f"Session {self.id} is open in another kith.")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock:
            Path(self._lock.name).unlink(missing_ok=True)
            self._lock.close()

    def emit(self, event: Event, path: tuple[str, ...] = ()) -> None:
        """Write an event (unless it is only shown), then tell the listeners."""
        if not is_transient(event):
            self.log.append(self.id, event, path)
        for listener in self.listeners:
            listener(event, path)

    def past(self) -> Past:
        """What the session's events add up to."""
        return self.log.past(self.id)


def _lock(path: Path) -> IO[str] | None:
    """The file, locked until it is closed or the process dies; None when somebody else holds it."""
    while True:
        file = path.open("w")
        if not _try_lock(file):
            file.close()
            return None
        # The former holder removes the file as it leaves: a lock on a removed file locks nobody out.
        if path.exists() and path.stat().st_ino == os.fstat(file.fileno()).st_ino:
            return file
        file.close()


def _try_lock(file: IO[str]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
