"""A damaged log is mended: what can be read goes into a new file, and the damaged one is kept beside it."""

import json
import os
import sqlite3
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Final

from kith.core.errors import BusyError
from kith.memory.locks import hold, let_go
from kith.memory.pages import Row, read_rows
from kith.memory.schema import prepare

_COLUMNS: Final = 6  # of both tables
_MARK: Final = "-damaged"  # ends the name of the file that says so


def mark(path: Path) -> None:
    """Have the log mended by who opens it next."""
    with suppress(OSError):
        _mark(path).touch(mode=0o600)


def is_marked(path: Path) -> bool:
    """Whether somebody has found the log damaged."""
    return _mark(path).exists()


def salvage(path: Path) -> str:
    """Mend the log; returns what came of it, in a sentence.

    Raises BusyError while somebody works with it, OSError and sqlite3.Error where the disk refuses.
    """
    lock = hold(path.with_name(f"{path.name}-mending"))
    if lock is None:
        raise BusyError(f"The log {path} is being mended by another kith.")
    try:
        return _salvage(path)
    finally:
        let_go(lock)


def _salvage(path: Path) -> str:
    new = path.with_name(f"{path.name}-mended")
    for end in ("", "-wal", "-shm"):
        new.with_name(new.name + end).unlink(missing_ok=True)
    events, sessions = _copy(path, new)
    aside = next(each for n in count(1) if not (each := path.with_name(f"{path.name}.damaged-{n}")).exists())
    try:
        os.link(path, aside)  # so that there is a log at every moment
    except OSError:  # not every disk knows links
        path.replace(aside)
    for end in ("-wal", "-shm"):  # they belong to the damaged one
        with suppress(FileNotFoundError):
            path.with_name(path.name + end).replace(aside.with_name(aside.name + end))
    new.replace(path)
    _mark(path).unlink(missing_ok=True)
    held = (
        f"{events:,} events of {sessions:,} sessions were saved" if events else "nothing of it could be read"
    )
    return f"The log was damaged: {held}; the damaged file is kept as {aside}."


def _copy(path: Path, new: Path) -> tuple[int, int]:
    """Write a log of all rows that can be read; how many events, of how many sessions."""
    with closing(sqlite3.connect(new, isolation_level=None)) as db:
        new.chmod(0o600)
        prepare(db, new)
        db.execute("PRAGMA journal_mode=DELETE")  # nothing is left beside the file
        db.execute("BEGIN")
        for number, columns in read_rows(path):
            _keep(db, (number, columns))
        db.execute("COMMIT")
        ((events, sessions),) = db.execute("SELECT COUNT(*), COUNT(DISTINCT session) FROM events").fetchall()
    return events, sessions


def _keep(db: sqlite3.Connection, row: Row) -> None:
    """A row of one of the two tables, if it is one."""
    number, columns = row
    if len(columns) != _COLUMNS or number < 1:
        return
    first, session, third, fourth, fifth, sixth = columns
    texts = (session, fourth, fifth)
    if first is not None or not all(isinstance(each, str) for each in texts):
        return
    if isinstance(third, int | float) and isinstance(sixth, str) and _is_json(sixth):
        db.execute("INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?, ?)", (number, *columns[1:]))
    elif isinstance(third, str) and isinstance(sixth, int):
        db.execute("INSERT OR IGNORE INTO post VALUES (?, ?, ?, ?, ?, ?)", (number, *columns[1:]))


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _mark(path: Path) -> Path:
    return path.with_name(path.name + _MARK)
