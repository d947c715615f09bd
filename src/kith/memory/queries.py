"""Questions that the log answers from its rows, for which no session needs to be read."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from kith.core.codec import build_event, decode_event
from kith.core.decisions import Delegated, Routed
from kith.core.events import Event, RunStarted
from kith.core.numbers import median
from kith.core.values import Outage
from kith.memory.log import Log

_ROOTS: Final = """
SELECT json_extract(body, '$.root') FROM events WHERE session = ? AND kind = 'RunStarted' ORDER BY seq
"""
_UNDONE: Final = "SELECT 1 FROM events WHERE kind = 'Applied' AND json_extract(body, '$.undoes') = ? LIMIT 1"
_APPLIED: Final = """
SELECT session, json_extract(body, '$.change_id'), json_extract(body, '$.undoes') FROM events
WHERE kind = 'Applied' ORDER BY seq
"""
_COUNTED: Final = """
SELECT seq, session, kind, body FROM events
WHERE seq > ? AND kind IN ('Called', 'RunStarted', 'RunEnded') ORDER BY seq LIMIT 5000
"""
# The newest first; a page ends before the last event that its cursor names.
_CONVERSATIONS: Final = """
SELECT session, MAX(seq), MAX(at), (
  SELECT body FROM events first WHERE first.session = events.session AND first.kind = 'RunStarted'
  ORDER BY first.seq LIMIT 1
) AS began
FROM events WHERE kind IN ('RunStarted', 'RunEnded', 'Applied') GROUP BY session
HAVING MAX(seq) < ? AND json_extract(began, '$.options.plan') IS NOT NULL ORDER BY 2 DESC
"""
# Of the newest events only: the number of an event is found at once, its moment is not.
_OUTAGES: Final = """
SELECT at, body FROM events
WHERE seq > (SELECT max(seq) FROM events) - 50000 AND kind = 'Routed' AND at > ?
AND json_extract(body, '$.down') IS NOT NULL ORDER BY seq
"""
_DELEGATED: Final = """
SELECT body FROM events WHERE kind = 'Delegated' AND at >= ? AND (? = '' OR EXISTS (
  SELECT 1 FROM events began WHERE began.session = events.session AND began.kind = 'RunStarted'
  AND json_extract(began.body, '$.root') = ?
)) ORDER BY seq
"""


class PastConversation(Struct, frozen=True):
    """A session with a task or a conversation: its last event's number and time, and how it began."""

    session: str
    last: int
    at: float
    began: RunStarted


class AppliedIn(Struct, frozen=True):
    """A change that was applied: in which session, under which id, and which change it undid ("")."""

    session: str
    change_id: str
    undoes: str


def roots_of(log: Log, session: str) -> list[str]:
    """The folders that a session worked in, in order."""
    return [str(root) for (root,) in log.query(_ROOTS, (session,)) if root]


def kinds_in(log: Log, session: str) -> set[str]:
    """The commands that began and resumed a session: run, build, undo ..."""
    query = """
    SELECT DISTINCT json_extract(body, '$.options.kind') FROM events
    WHERE session = ? AND kind = 'RunStarted'
    """
    return {str(kind or "run") for (kind,) in log.query(query, (session,))}


def conversations_before(log: Log, seq: int) -> Iterator[PastConversation]:
    """Tasks and conversations whose last event has a smaller number, the newest first."""
    for session, last, at, body in log.query(_CONVERSATIONS, (seq,)):
        began = build_event("RunStarted", json.loads(body))
        if isinstance(began, RunStarted):
            yield PastConversation(session, last, at, began)


def outages_since(log: Log, since: float) -> Iterator[tuple[float, Outage]]:
    """The models that could not be reached since then, and when, in order."""
    for at, body in log.query(_OUTAGES, (since,)):
        event = build_event("Routed", json.loads(body))
        if isinstance(event, Routed):
            yield from ((at, each) for each in event.down)


def delegated_since(log: Log, since: float = 0.0, root: str = "") -> list[Delegated]:
    """The errands since then, in order: those of sessions in the folder `root`, or of all ("")."""
    events = (
        build_event("Delegated", json.loads(body)) for (body,) in log.query(_DELEGATED, (since, root, root))
    )
    return [event for event in events if isinstance(event, Delegated)]


def applied_changes(log: Log) -> list[AppliedIn]:
    """Every change that was ever applied, in order."""
    return [AppliedIn(session, change, undoes or "") for session, change, undoes in log.query(_APPLIED)]


def is_undone(log: Log, change_id: str) -> bool:
    """True if a change was undone, in any session."""
    return bool(log.query(_UNDONE, (change_id,)))


def newest_event(log: Log, session: str, *kinds: str) -> Event | None:
    """The newest event of these kinds."""
    marks = ", ".join("?" * len(kinds))
    query = f"SELECT kind, body FROM events WHERE session = ? AND kind IN ({marks}) ORDER BY seq DESC LIMIT 1"
    for kind, body in log.query(query, (session, *kinds)):
        return decode_event(kind, body)
    return None


def asked_ids(log: Log, session: str) -> set[str]:
    """The ids of all questions that were asked in a session."""
    query = "SELECT json_extract(body, '$.question.id') FROM events WHERE session = ? AND kind = 'Asked'"
    return {str(id) for (id,) in log.query(query, (session,))}


def counted_after(log: Log, seq: int) -> list[tuple[int, str, str, dict[str, Any]]]:
    """Calls, beginnings and ends after an event, at most 5,000: number, session, kind and plain data."""
    return [
        (number, session, kind, json.loads(body))
        for number, session, kind, body in log.query(_COUNTED, (seq,))
    ]


def find_damage(path: Path) -> str:
    """The first thing that SQLite finds wrong in a file (`PRAGMA quick_check`), "" when it finds nothing."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            said = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        said = str(error)
    return "" if said == "ok" else " ".join(said.split())


# --- what was paid ---------------------------------------------------------------------------


class MedianCost(Struct, frozen=True):
    """The median cost of a session with a model in US dollars, and the number of sessions."""

    usd: float
    sessions: int


def paid_today(log: Log, now: datetime | None = None, *, kind: str = "") -> float:
    """US dollars since midnight, by the clock and calendar of this machine; `kind`: by one command only."""
    midnight = (now or datetime.now()).replace(hour=0, minute=0, second=0, microsecond=0)
    return log.paid(midnight.timestamp(), kind)


def usual_cost(log: Log, model: str) -> MedianCost | None:
    """Return the usual cost of sessions with a model; None when there was none yet."""
    paid = log.paid_by_session(model)
    return MedianCost(median(paid), len(paid)) if paid else None
