"""The conversations that an editor can go back to, as the log has them."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from acp.schema import ListSessionsResponse, SessionInfo

from kith.core.errors import UsageError
from kith.memory.log import Log
from kith.memory.queries import conversations_before, roots_of
from kith.view.printing import printable

PAGE: Final = 50
_TITLE: Final = 80  # characters


def list_conversations(log: Log, root: Path | None, cursor: str | None) -> ListSessionsResponse:
    """A page of the tasks and conversations of a folder, or of all. Raises UsageError for a wrong cursor."""
    if cursor is not None and not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 19):
        raise UsageError(f"{cursor!r} is no cursor that kith gave.")
    before = int(cursor) if cursor else 1 << 62
    found: list[tuple[int, SessionInfo]] = []
    for each in conversations_before(log, before):
        if root is None or each.began.root == str(root):
            when = datetime.fromtimestamp(each.at, UTC).isoformat(timespec="seconds")
            title, cwd = title_of(each.began.task), printable(each.began.root)
            info = SessionInfo(session_id=each.session, cwd=cwd, title=title, updated_at=when)
            found.append((each.last, info))
        if len(found) > PAGE:
            break
    more = str(found[PAGE - 1][0]) if len(found) > PAGE else None
    return ListSessionsResponse(sessions=[info for _, info in found[:PAGE]], next_cursor=more)


def root_of(log: Log, session: str) -> str:
    """The folder of a session. Raises UsageError for one that the log does not know."""
    for root in roots_of(log, session):
        return root
    raise UsageError(f"There is no session {printable(session)!r}.")


def title_of(task: str) -> str:
    """A task in a line."""
    line = " ".join(printable(task).split())
    return line if len(line) <= _TITLE else f"{line[: _TITLE - 1]}…"
