"""SQLite files of kith's own, read so that what somebody else put into one does nothing."""

import sqlite3
import sys


def distrust(db: sqlite3.Connection) -> None:
    """Let nothing in a file's schema have effects, and check sizes before they are believed.

    Source: https://www.sqlite.org/security.html, "Untrusted SQLite Database Files". Raises sqlite3.Error, also
    for a file that holds triggers or views: kith makes neither.
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
