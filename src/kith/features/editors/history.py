"""The conversations that an editor can go back to, as the log has them."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from acp.schema import ListSessionsResponse, SessionInfo

from kith.core.errors import UsageError
from kith.memory.log import Log
from kith.view.printing import printable

PAGE: Final = 50
_TITLE: Final = 80  # characters
# The newest first; a page ends before the last event that its cursor names.
_SESSIONS: Final = """
SELECT session, MAX(seq), MAX(at), (
  SELECT body FROM events first WHERE first.session = events.session AND first.kind = 'RunStarted'
  ORDER BY first.seq LIMIT 1
) AS began
FROM events WHERE kind IN ('RunStarted', 'RunEnded', 'Applied') GROUP BY session
HAVING MAX(seq) < ? AND json_extract(began, '$.options.plan') IS NOT NULL ORDER BY 2 DESC
"""


def list_conversations(log: Log, root: Path | None, cursor: str | None) -> ListSessionsResponse:
    """A page of the tasks and conversations of a folder, or of all. Raises UsageError for a wrong cursor."""
    if cursor is not None and not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 19):
        raise UsageError(f"{cursor!r} is no cursor that kith gave.")
    before = int(cursor) if cursor else 1 << 62
    found: list[tuple[int, SessionInfo]] = []
    for session, last, at, began in log.query(_SESSIONS, (before,)):
        started = json.loads(began)
        if root is None or started["root"] == str(root):
            when = datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
            title = title_of(started["task"])
            cwd = printable(started["root"])
            found.append((last, SessionInfo(session_id=session, cwd=cwd, title=title, updated_at=when)))
        if len(found) > PAGE:
            break
    more = str(found[PAGE - 1][0]) if len(found) > PAGE else None
    return ListSessionsResponse(sessions=[info for _, info in found[:PAGE]], next_cursor=more)


def root_of(log: Log, session: str) -> str:
    """The folder of a session. Raises UsageError for one that the log does not know."""
    query = "SELECT json_extract(body, '$.root') FROM events WHERE session = ? AND kind = 'RunStarted'"
    for (root,) in log.query(f"{query} ORDER BY seq LIMIT 1", (session,)):
        return str(root)
    raise UsageError(f"There is no session {printable(session)!r}.")


def title_of(task: str) -> str:
    """A task in a line."""
    line = " ".join(printable(task).split())
    return line if len(line) <= _TITLE else f"{line[: _TITLE - 1]}…"
