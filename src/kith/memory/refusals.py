"""What SQLite says when a file refuses, as a sentence for the person."""

import sqlite3
from pathlib import Path

from kith.core.errors import BusyError, KithError

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def explain_refusal(error: sqlite3.Error | UnicodeDecodeError, path: Path, what: str) -> KithError:
    """Why the log at `path` cannot be `what` (opened, read, written); BusyError while another holds it."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _BUSY:
        return BusyError(f"The log {path} cannot be {what}: {error}.")
    # Python tells of bytes that are no text in words of its own, and shows all that was read.
    if code in _DAMAGED or isinstance(error, UnicodeDecodeError) or "Could not decode" in str(error):
        return KithError(
            f"The log {path} is damaged and cannot be {what}; move it elsewhere and kith begins a new one "
            "(`sqlite3 FILE .recover` saves what it still holds)."
        )
    return KithError(f"The log {path} cannot be {what}: {error}.")
