"""What SQLite says when a file refuses, as a sentence for the person."""

import sqlite3
from pathlib import Path

from kith.core.errors import BusyError, KithError
from kith.memory.database import is_damaged

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def explain_refusal(error: sqlite3.Error | UnicodeDecodeError, path: Path, what: str) -> KithError:
    """Why the log at `path` cannot be `what` (opened, read, written); BusyError while another holds it."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _BUSY:
        return BusyError(f"The log {path} cannot be {what}: {error}.")
    if is_damaged(error):  # Python's own words would show all that was read
        return KithError(
            f"The log {path} is damaged and cannot be {what}; "
            "what it still holds is saved when kith starts next."
        )
    return KithError(f"The log {path} cannot be {what}: {error}.")
