"""The append-only log: every event of every session in one SQLite file; `session.py` writes it."""

import sqlite3
import sys
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar

from kith.core.codec import KINDS, encode_event
from kith.core.errors import BusyError, KithError, NewerError, UsageError
from kith.core.events import Answered, Applied, Called, Carded, Event, RunStarted, Said, ToolBegan, ToolEnded
from kith.core.locks import hold_now, let_go, sweep_locks, try_lock
from kith.core.old_logs import SUBJECTS
from kith.core.values import Subject
from kith.memory.database import (
    Record,
    Row,
    decode_all,
    distrust,
    explain_refusal,
    is_damaged,
    not_waiting,
    prepare,
    refuse_newer,
    refuse_newer_file,
    try_decode,
    without_collections,
)
from kith.memory.listing import Summary, list_sessions, task_begin
from kith.memory.past import LASTING, Past, go_on, tells
from kith.memory.salvage import is_marked, mark, salvage

S = TypeVar("S", bound=Subject)
Fetch = Callable[[sqlite3.Cursor], list[Any]]
LOG_FILE = "log.sqlite3"  # in the folder for state
_UNREADABLE = "Unreadable"  # the kind of rows that hold no JSON: they stay, and nobody reads them
_AT_ONCE = 500  # rows that are decoded together
_WHOLE = 2  # tasks at a session's end of which all is remembered; of others what outlasts a task
_APPLIED = """
SELECT session, (
  SELECT body FROM events began WHERE began.session = made.session AND began.kind = 'RunStarted'
  ORDER BY began.seq LIMIT 1), body
FROM events made WHERE kind = 'Applied' ORDER BY seq
"""


def _is_made_again(event: Event) -> bool:
    """True for what a power cut may take along.

    A reply is safe once it is said. What it only reads is read again after it, and an edit counts as
    interrupted. What reaches further than the session's own copy of the tree is known to have begun.
    """
    if isinstance(event, ToolBegan):
        return event.effect in ("read", "write")
    return isinstance(event, Called | ToolEnded) or (isinstance(event, Said) and event.message.role == "tool")


class Log:
    """The log's file. Reading needs no lock; writing goes through a Session.

    Everything raises KithError when the file cannot be used, BusyError while another process locks it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._cards: dict[str, tuple[int, dict[str, Any]]] = {}  # as far as they were read
        self._folded = ("", 0, Past())  # the session that was asked for last, up to an event of it
        self._left_out: dict[str, set[int]] = {}  # events that could not be read, of each session
        self.mended = ""  # what came of mending the file, in a sentence, until somebody has said it
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._in_words("opened"):
                self._open()
        except OSError as error:
            raise KithError(f"{path.parent} cannot be written: {error.strerror}.") from error

    def _open(self) -> None:
        """Open the file; a damaged one is repaired first."""
        if is_marked(self.path) and self.path.exists():
            refuse_newer_file(self.path)
            self._mend()
        try:
            self._connect()
        except NewerError:
            self._db.close()
            raise
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if not is_damaged(error):
                raise
            self._db.close()
            self._mend()
            self._connect()

    def _connect(self) -> None:
        self._db = sqlite3.connect(self.path, isolation_level=None, timeout=10)
        self.path.chmod(0o600)
        refuse_newer(self._db, self.path)
        distrust(self._db)
        prepare(self._db, self.path)
        self._inode = self.path.stat().st_ino

    def _mend(self) -> None:
        if self.open_ids():
            raise BusyError(f"The log {self.path} is damaged; kith repairs it once no other kith uses it.")
        self.mended = salvage(self.path)

    @contextmanager
    def _in_words(self, what: str) -> Iterator[None]:
        """SQLite's refusals as a sentence for the person."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if is_damaged(error):
                mark(self.path)
            raise explain_refusal(error, self.path, what) from error

    def query(
        self, statement: str, values: Sequence[object] = (), fetch: Fetch = sqlite3.Cursor.fetchall
    ) -> list[Any]:
        """All the rows of a query, or those that `fetch` takes, for readers that need their own."""
        with self._in_words("read"):
            try:
                return fetch(self._db.execute(statement, values))
            except sqlite3.OperationalError as error:
                self._put_up_with(error)
            return fetch(self._db.execute(statement, values))

    def _put_up_with(self, error: sqlite3.OperationalError) -> None:
        """Keep one bad row from hiding the others. Raises the error where that is not the cause."""
        if "Could not decode" in str(error):
            self._db.text_factory = lambda data: data.decode("utf-8", "replace")
        elif "malformed JSON" in str(error):
            self._db.execute("UPDATE events SET kind = ? WHERE NOT json_valid(body)", (_UNREADABLE,))
            self._left_out.clear()
        else:
            raise error

    def left_out(self, session: str) -> int:
        """Count a session's unreadable events, as far as they were read; they are ignored."""
        query = "SELECT COUNT(*) FROM events WHERE session = ? AND kind = ?"
        ((lost,),) = self.query(query, (session, _UNREADABLE))
        return int(lost) + len(self._left_out.get(session, ()))

    def append(self, session: str, event: Event, path: tuple[str, ...]) -> int:
        """Write one event; returns its number."""
        row = (session, time.time(), "/".join(path), type(event).__name__, encode_event(event))
        insert = "INSERT INTO events (session, at, path, kind, body) VALUES (?, ?, ?, ?, ?)"
        with self._in_words("written"):
            if not _is_made_again(event) or self._db.in_transaction:
                return self._db.execute(insert, row).lastrowid or 0
            with not_waiting(self._db):
                return self._db.execute(insert, row).lastrowid or 0

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """All that is written meanwhile, or, where that fails, nothing of it."""
        with self._in_words("written"):
            self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            with self._in_words("written"):
                self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # SQLite itself has taken some failures back
                self._db.execute("ROLLBACK")
            raise

    def events(self, session: str, after: int = 0, kinds: Container[str] = KINDS) -> Iterator[Record]:
        """The session's events in order, after number `after`, of these kinds."""
        return self._read(session, after, lambda seq, kind, body: kind in kinds)

    def _read(self, session: str, after: int, wanted: Callable[[int, str, str], bool]) -> Iterator[Record]:
        query = "SELECT seq, at, path, kind, body FROM events WHERE session = ? AND seq > ? ORDER BY seq"
        # A newer kith may have written kinds that this one does not know.
        every: list[Row] = self.query(query, (session, after))
        rows = [row for row in every if row[3] in KINDS and wanted(row[0], row[3], row[4])]
        for begin in range(0, len(rows), _AT_ONCE):
            batch = rows[begin : begin + _AT_ONCE]
            for (seq, at, path, _, _), event in zip(batch, decode_all(batch), strict=True):
                if event:
                    yield Record(seq, at, tuple(path.split("/")) if path else (), event)
                else:
                    self._left_out.setdefault(session, set()).add(seq)

    def rows(self, session: str, after: int, limit: int, size: int = sys.maxsize) -> list[Row]:
        """The session's events as they are stored: (number, when, path, kind, body).

        At most `limit` of them; none follows the one with which the bodies reach `size` characters.
        """

        def fetch(cursor: sqlite3.Cursor) -> list[Row]:
            found, used = list[Row](), 0
            with closing(cursor):
                for row in cursor:
                    found.append(row)
                    used += len(row[4])
                    if used >= size:
                        break
            return found

        query = "SELECT seq, at, path, kind, body FROM events WHERE session = ? AND seq > ? ORDER BY seq"
        return self.query(f"{query} LIMIT ?", (session, after, limit), fetch)

    def last(self, session: str) -> int:
        """The number of a session's newest event, 0 when there is none."""
        ((newest,),) = self.query("SELECT MAX(seq) FROM events WHERE session = ?", (session,))
        return newest or 0

    def changed(self) -> int:
        """A number that differs once anybody has written to the log."""
        ((others,),) = self.query("PRAGMA data_version")
        return int(others) + self._db.total_changes

    def post(self, session: str, kind: str, key: str, body: str) -> bool:
        """Leave a message for the process that works on a session; False when that question has an answer."""
        with self._in_words("written"):
            insert = "INSERT OR IGNORE INTO post (session, kind, key, body) VALUES (?, ?, ?, ?)"
            return self._db.execute(insert, (session, kind, key, body)).rowcount > 0

    def posted(self, session: str, kind: str, key: str = "") -> list[tuple[int, str]]:
        """Return the untaken items of a kind, oldest first: (number, body)."""
        query = "SELECT number, body FROM post WHERE session = ? AND kind = ? AND key = ? AND NOT taken"
        return self.query(f"{query} ORDER BY number", (session, kind, key))

    def take(self, numbers: Sequence[int]) -> None:
        """Mark items as taken, and delete their text."""
        with self._in_words("written"):
            take = "UPDATE post SET taken = 1, body = '' WHERE number = ?"
            self._db.executemany(take, [(each,) for each in numbers])

    def past(self, session: str) -> Past:
        """Fold a session's events; reads only those since the last call."""
        known, seq, past = self._folded
        self._folded = ("", 0, Past())  # while it grows, it is nothing to rely on
        if known != session or not self._has(session, seq):
            seq, past = 0, Past()
        whole = task_begin(self.query, session, _WHOLE)

        def wanted(seq: int, kind: str, body: str) -> bool:
            return tells(kind, body) if seq >= whole else kind in LASTING

        with without_collections():
            for record in self._read(session, seq, wanted):
                past, seq = go_on(past, record.event), record.seq
        if not self._db.in_transaction:  # else it may be taken back
            self._folded = session, seq, past
        return past.snapshot()

    def _has(self, session: str, seq: int) -> bool:
        return bool(self.query("SELECT 1 FROM events WHERE seq = ? AND session = ?", (seq, session)))

    def extent(self) -> tuple[int, int, str]:
        """Return the number of events, the newest number, and a name unique to this log."""
        query = "SELECT (SELECT COUNT(*) FROM events), (SELECT MAX(seq) FROM events)"
        ((count, newest),) = self.query(query)
        first = self.query("SELECT session, at FROM events ORDER BY seq LIMIT 1")
        return count, newest or 0, " ".join(map(str, first[0])) if first else ""

    def count_after(self, number: int) -> int:
        """Count the events after this number."""
        ((count,),) = self.query("SELECT COUNT(*) FROM events WHERE seq > ?", (number,))
        return int(count)

    def session_ids(self, after: int = 0) -> list[str]:
        """The sessions with events after number `after`, in the order of the first of these."""
        query = "SELECT session FROM events WHERE seq > ? GROUP BY session ORDER BY MIN(seq)"
        return [session for (session,) in self.query(query, (after,))]

    def having(self, kind: str) -> list[str]:
        """The sessions in which an event of this kind happened, oldest first."""
        query = "SELECT session FROM events WHERE kind = ? GROUP BY session ORDER BY MIN(seq)"
        return [session for (session,) in self.query(query, (kind,))]

    def sessions(
        self, root: Path | None = None, limit: int = 50, also: Container[str] = (), words: str = ""
    ) -> list[Summary]:
        """The newest sessions first, those of one folder when `root` is given; of `also` old ones, too.

        With `words`, those whose id, name, tasks or last words contain all of them.
        """
        return list(list_sessions(self.query, str(root) if root else None, limit, also, words))

    def applied(self, root: str) -> list[tuple[str, Applied]]:
        """Every change that was applied in a folder, oldest first, with its session."""
        found: list[tuple[str, Applied]] = []
        for session, began, body in self.query(_APPLIED):
            started, event = try_decode("RunStarted", began or ""), try_decode("Applied", body)
            if isinstance(event, Applied) and isinstance(started, RunStarted) and started.root == root:
                found.append((session, event))
        return found

    def commit_of(self, change_id: str) -> str:
        """The hash of the commit that an applied change became; "" where kith made none."""
        query = """
            SELECT json_extract(body, '$.commit') FROM events
            WHERE kind = 'Committed' AND json_extract(body, '$.change_id') = ? ORDER BY seq DESC LIMIT 1
        """
        return next((str(commit) for (commit,) in self.query(query, (change_id,))), "")

    def gone(self) -> set[str]:
        """The ids of changes that an undo did not find in the files any more."""
        query = """
            SELECT json_extract(body, '$.options.gone') FROM events
            WHERE kind = 'RunStarted' AND json_extract(body, '$.options.gone') <> ''
        """
        return {str(id) for (id,) in self.query(query)}

    def applied_ids(self) -> set[str]:
        """The ids of all changes that the log knows of."""
        query = "SELECT json_extract(body, '$.change_id') FROM events WHERE kind = 'Applied'"
        return {id for (id,) in self.query(query)}

    def card(self, digest: str) -> dict[str, Any]:
        """Return the known facts of the model with these weights, the newest of each; {} for none."""
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
        for key, seq, body in self.query(query, (known, digest)):
            event, newest = try_decode("Carded", body), max(newest, seq)
            facts |= {key: event.facts[key]} if isinstance(event, Carded) else {}
        self._cards[digest] = newest, facts
        return dict(facts)

    def cards(self) -> dict[str, dict[str, Any]]:
        """Return the known facts of every model, by digest."""
        found = self.query("SELECT DISTINCT json_extract(body, '$.digest') FROM events WHERE kind = 'Carded'")
        return {str(digest): self.card(str(digest)) for (digest,) in found}

    def paid(self, since: float, kind: str = "") -> float:
        """US dollars of all calls since a moment (seconds since the epoch), or those of one command."""
        query = "SELECT SUM(json_extract(body, '$.usd')) FROM events WHERE kind = 'Called' AND at >= ?"
        if not kind:
            return float(self.query(query, (since,))[0][0] or 0.0)
        of_kind = "kind = 'RunStarted' AND json_extract(body, '$.options.kind') = ?"
        query += f" AND session IN (SELECT session FROM events WHERE {of_kind})"
        return float(self.query(query, (since, kind))[0][0] or 0.0)

    def paid_in(self, session: str) -> float:
        """US dollars of the calls of a session's last task."""
        query = """
            SELECT SUM(json_extract(body, '$.usd')) FROM events WHERE session = ? AND kind = 'Called'
            AND seq > (SELECT COALESCE(MAX(seq), 0) FROM events WHERE session = ? AND kind = 'RunStarted')
        """
        return float(self.query(query, (session, session))[0][0] or 0.0)

    def paid_by_session(self, model: str) -> list[float]:
        """US dollars of each of the last 50 sessions that paid for a model, the newest first."""
        query = """
            SELECT SUM(json_extract(body, '$.usd')) AS usd FROM events
            WHERE kind = 'Called' AND json_extract(body, '$.model') = ?
            GROUP BY session HAVING usd > 0 ORDER BY MAX(seq) DESC LIMIT 50
        """
        return [float(usd) for (usd,) in self.query(query, (model,))]

    def answers(self, subject: type[S]) -> list[tuple[str, str, str, S, str]]:
        """Answers about such a subject, oldest first: session, folder, the question's id, subject, choice."""
        query = """
            SELECT said.session, (SELECT json_extract(began.body, '$.root') FROM events began
                    WHERE began.session = said.session AND began.kind = 'RunStarted' LIMIT 1), said.body
            FROM events said WHERE said.kind = 'Answered'
            AND (json_extract(said.body, '$.subject.type') = ?
                 OR json_extract(said.body, '$.question_id') GLOB ?) ORDER BY said.seq
        """
        rows = self.query(query, (subject.__name__, f"{SUBJECTS[subject.__name__]}.*"))
        told = ((session, root or "", try_decode("Answered", body)) for session, root, body in rows)
        return [
            (session, root, event.question_id, event.subject, event.answer.choice)
            for session, root, event in told
            if isinstance(event, Answered) and isinstance(event.subject, subject)
        ]

    def find(self, prefix: str) -> str:
        """The one session whose id begins with `prefix`. Raises UsageError for none or several."""
        query = "SELECT DISTINCT session FROM events WHERE substr(session, 1, ?) = ? LIMIT 3"
        rows = self.query(query, (len(prefix), prefix)) if prefix.isascii() and prefix else ()
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
        rows = self.query(query, (kind,))
        return list(dict.fromkeys(id for id, place in rows if root is None or place == str(root)))

    def lock(self, session: str) -> IO[str]:
        """Keep everybody else from working on a session, until `let_go`. Raises BusyError where one does."""
        folder = self.path.parent / "locks"
        self._follow()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = hold_now(folder / f"{session}.lock")
        except OSError as error:
            raise KithError(f"{folder} cannot be written: {error.strerror}.") from error
        if lock is None:
            raise BusyError(f"Session {session} is open in another kith.")
        return lock

    def _follow(self) -> None:
        """Reopen the log if another kith has repaired it since."""
        with suppress(FileNotFoundError):
            if self.path.stat().st_ino != self._inode:
                self._db.close()
                self._folded = ("", 0, Past())
                with self._in_words("opened"):
                    self._open()

    def is_open(self, session: str) -> bool:
        """True if a process works on a session now."""
        try:
            with (self.path.parent / "locks" / f"{session}.lock").open("r+") as file:
                return not try_lock(file)
        except FileNotFoundError:
            return False

    def open_ids(self) -> list[str]:
        """The sessions that processes work on now."""
        locks = (self.path.parent / "locks").glob("*.lock")
        return [lock.stem for lock in locks if self.is_open(lock.stem)]

    def sweep_locks(self) -> None:
        """Remove the locks that killed processes left."""
        sweep_locks(self.path.parent / "locks")

    def delete(self, session: str, first: Callable[[], None] = lambda: None) -> None:
        """Delete a session for good. Raises BusyError while a process works on it.

        `first` runs before, while the session is locked. It deletes data elsewhere, so that an
        interrupted call can be repeated.
        """
        try:
            lock = self.lock(session)
        except BusyError as error:
            raise BusyError(f"Session {session} is running; stop it before you delete it.") from error
        try:
            first()
            self._folded = ("", 0, Past())
            with self._in_words("written"):
                self._db.execute("DELETE FROM events WHERE session = ?", (session,))
                self._db.execute("DELETE FROM post WHERE session = ?", (session,))
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            for file in (self.path.parent / "live").glob(f"{session}-*.jsonl"):
                file.unlink(missing_ok=True)
        finally:
            let_go(lock)

    def close(self) -> None:
        self._db.close()
