"""The tables of the log's file."""

import sqlite3
from pathlib import Path
from typing import Final

from kith.core.errors import KithError

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
    """Make the tables that are not there yet. Raises KithError for a log from the future, sqlite3.Error."""
    db.execute("PRAGMA journal_mode=WAL")
    # What was told of outlasts a power cut, too: with NORMAL the last events would be lost in one.
    db.execute("PRAGMA synchronous=FULL")
    db.execute("PRAGMA secure_delete=ON")  # what is forgotten is not in the file any more
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise KithError(
            f"The log {path} was written by a newer kith (schema {version}, this one knows "
            f"{VERSION}); nothing was touched."
        )
    if version == 0:
        # Two first starts may meet here: the loser of the lock sees the winner's version.
        db.execute("BEGIN IMMEDIATE")
        if db.execute("PRAGMA user_version").fetchone()[0] == 0:
            for statement in _EVENTS.split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version={VERSION}")
        db.execute("COMMIT")
    for index, statements in _LATER.items():
        if not db.execute(f"PRAGMA index_info({index})").fetchall():
            db.executescript(statements)
