"""SQLite files of kith's own, read with distrust; the log's tables, and its rows as events."""

import gc
import json
import random
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol, TypeVar

from msgspec import Struct

from kith.core.codec import build_event, decode_event
from kith.core.errors import BusyError, KithError, NewerError
from kith.core.events import Applied, Event, Resumed, RunEnded, RunStarted

BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_SWITCH_S: Final = 10.0
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def distrust(db: sqlite3.Connection) -> None:
    """Let nothing in a file's schema have effects, and check sizes before they are believed.

    Source: https://www.sqlite.org/security.html, "Untrusted SQLite Database Files". Raises sqlite3.Error,
    UnicodeDecodeError, also for a file that holds triggers or views: kith makes neither.
    """
    db.execute("PRAGMA trusted_schema=OFF")
    db.execute("PRAGMA cell_size_check=ON")
    if sys.version_info >= (3, 12):
        db.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
    foreign = db.execute("SELECT name FROM sqlite_master WHERE type IN ('trigger', 'view')").fetchone()
    if foreign:
        error = sqlite3.DatabaseError(f"{foreign[0]!r} is not kith's")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


def write_ahead(db: sqlite3.Connection) -> None:
    """Let the file have a write-ahead log. Raises sqlite3.Error.

    The first switch needs the file alone, and SQLite's own time-out does not wait for that where two
    connections read and both want to switch. Source: https://www.sqlite.org/wal.html, section 9.
    """
    give_up = time.monotonic() + _SWITCH_S
    while True:
        try:
            if db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                db.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in BUSY or time.monotonic() > give_up:
                raise
        time.sleep(random.uniform(0.001, 0.02))  # not in step with the other


def is_damaged(error: sqlite3.Error | UnicodeDecodeError) -> bool:
    """True if a file is damaged, and not the disk or another process at fault.

    Python reports bytes that are no text with its own message.
    """
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in _DAMAGED or isinstance(error, UnicodeDecodeError) or "Could not decode" in str(error)


def refuse_newer(db: sqlite3.Connection, path: Path) -> int:
    """Return the version of a log's tables, 0 for a new file. Raises NewerError, sqlite3.Error.

    It comes before all else: nothing in a newer file is damage, and nothing is to be repaired.
    """
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise NewerError(
            f"A newer kith wrote the log {path} (format {version}, this one reads {VERSION}). "
            "Update kith; nothing was changed."
        )
    return version


def refuse_newer_file(path: Path) -> None:
    """Do the same for a file that may be damaged; one that tells no version is not newer."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    with suppress(sqlite3.Error, UnicodeDecodeError), closing(sqlite3.connect(address, uri=True)) as db:
        refuse_newer(db, path)


def copy_log(path: Path, copy: Path) -> None:
    """Copy a log that others may be writing to, as it is at one moment. Raises KithError."""
    try:
        log = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
        with closing(log), closing(sqlite3.connect(copy)) as made:
            log.backup(made)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise explain_refusal(error, path, "copied") from error


def move_log(path: Path, root: Path) -> None:
    """Let all sessions of a log, which nobody uses, belong to the tree at `root`. Raises KithError."""
    statement = "UPDATE events SET body = json_set(body, '$.root', ?) WHERE kind = 'RunStarted'"
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as log:
            log.execute(statement, (str(root),))
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise explain_refusal(error, path, "written") from error


# --- refusals in a sentence ------------------------------------------------------------------


def explain_refusal(error: sqlite3.Error | UnicodeDecodeError, path: Path, what: str) -> KithError:
    """Explain why the log at `path` cannot be `what` (opened, read, written); BusyError if it is locked."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in BUSY:
        return BusyError(f"The log {path} cannot be {what}: {error}.")
    if is_damaged(error):  # Python's own words would show all that was read
        return KithError(
            f"The log {path} is damaged and cannot be {what}. kith repairs it at its next start."
        )
    return KithError(f"The log {path} cannot be {what}: {error}.")


# --- the tables of the log's file ------------------------------------------------------------


# Of the log and all that is beside it: one number guards journal, trials and live pieces, too.
VERSION: Final = 1
_EVENTS: Final = """
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
# What people say to sessions, from any process: `inbox.py` knows what it means.
_POST: Final = """
CREATE TABLE IF NOT EXISTS post (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  session TEXT NOT NULL,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  body TEXT NOT NULL,
  taken INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX IF NOT EXISTS first_answers ON post (session, key) WHERE kind = 'answer';
CREATE INDEX IF NOT EXISTS not_taken ON post (session, kind) WHERE NOT taken;
"""
# What logs of earlier versions lack: the index by which that is seen, and all that came with it.
_LATER: Final = {
    "cards": "CREATE INDEX IF NOT EXISTS cards ON events (kind) WHERE kind = 'Carded'",
    "calls": """
        CREATE INDEX IF NOT EXISTS calls ON events (at) WHERE kind = 'Called';
        CREATE INDEX IF NOT EXISTS answers ON events (seq) WHERE kind = 'Answered'""",
    "not_taken": _POST,
    "names": "CREATE INDEX IF NOT EXISTS names ON events (session, seq) WHERE kind = 'Named'",
    "tasks": """
        CREATE INDEX IF NOT EXISTS tasks ON events (session, seq)
        WHERE kind IN ('RunStarted', 'RunEnded', 'Resumed')""",
}


def prepare(db: sqlite3.Connection, path: Path) -> None:
    """Make the tables that are not there yet. Raises NewerError for a newer kith's log, sqlite3.Error."""
    version = refuse_newer(db, path)
    write_ahead(db)
    # What was told of outlasts a power cut, too: with NORMAL the last events would be lost in one.
    db.execute("PRAGMA synchronous=FULL")
    db.execute("PRAGMA secure_delete=ON")  # what is forgotten is not in the file any more
    if version == 0:
        # Two first starts may meet here: the loser of the lock sees the winner's version.
        with _change(db):
            if db.execute("PRAGMA user_version").fetchone()[0] == 0:
                _make(db, _EVENTS)
                db.execute(f"PRAGMA user_version={VERSION}")
    for index, statements in _LATER.items():
        if not db.execute(f"PRAGMA index_info({index})").fetchall():
            with _change(db):
                _make(db, statements)


@contextmanager
def not_waiting(db: sqlite3.Connection) -> Iterator[None]:
    """Write without waiting for the disk: the next write that waits takes along what is written here."""
    db.execute("PRAGMA synchronous=NORMAL")
    try:
        yield
    finally:
        db.execute("PRAGMA synchronous=FULL")


@contextmanager
def _change(db: sqlite3.Connection) -> Iterator[None]:
    """A transaction that writes from its begin: one that reads first could not wait for another one's end."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _make(db: sqlite3.Connection, statements: str) -> None:
    for statement in statements.split(";"):
        db.execute(statement)


# The log's rows as events: quick for many, and one that holds no event costs only itself.

Row = tuple[int, float, str, str, str]  # number, when, path, kind, body


class Record(Struct, frozen=True):
    """One logged event: its number, when (seconds since the epoch), and in which step it happened."""

    seq: int
    at: float
    path: tuple[str, ...]
    event: Event


@contextmanager
def without_collections() -> Iterator[None]:
    """Python looks for no cycles meanwhile: events hold none, and the search takes a fifth longer."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def decode_all(rows: Sequence[Row]) -> list[Event | None]:
    """The events of some rows; read as one text, since many small ones take far longer."""
    try:
        data = json.loads(f"[{','.join(row[4] for row in rows)}]")
        if len(data) == len(rows):
            return [build_event(row[3], each) for row, each in zip(rows, data, strict=True)]
    except (ValueError, RecursionError):
        pass
    return [try_decode(row[3], row[4]) for row in rows]


def try_decode(kind: str, body: str) -> Event | None:
    """The event, None for what is none: one bad row must not cost the others."""
    try:
        return decode_event(kind, body)
    except ValueError:
        return None


# --- what a person did between tasks: it stands beside them, and cuts none in two ------------


COMMAND: Final = "command"  # of the run that holds such a command
APPLY: Final = "apply waiting"  # of the run in which a change that waited is applied after all
ASIDES: Final = (COMMAND, APPLY)


class _Recorded(Protocol):
    @property
    def event(self) -> Event: ...


R = TypeVar("R", bound=_Recorded)


def is_aside(event: Event) -> bool:
    """True if the event begins a person's own command, or applies a waiting change."""
    return isinstance(event, RunStarted) and event.options.kind in ASIDES


def without_asides(records: Iterable[R], *, changes: bool = False) -> Iterator[R]:
    """The records of everything else; with `changes`, also of those that such commands made."""
    aside = False
    for record in records:
        if isinstance(record.event, RunStarted | Resumed):  # whatever it was, the one before is over
            aside = is_aside(record.event)
        if not aside or (changes and isinstance(record.event, Applied)):
            yield record
        elif isinstance(record.event, RunEnded):
            aside = False
