"""SQLite files of kith's own, read so that what somebody else put into one does nothing."""

import sqlite3
import sys
from typing import Final

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
        error = sqlite3.DatabaseError(f"{foreign[0]!r} is none of kith's")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


def is_damaged(error: sqlite3.Error | UnicodeDecodeError) -> bool:
    """Whether a file is at fault, and not the disk or another process.

    Python tells of bytes that are no text in words of its own.
    """
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in _DAMAGED or isinstance(error, UnicodeDecodeError) or "Could not decode" in str(error)
