"""How a session stands, from a few rows of the log."""

import asyncio
import time
from dataclasses import dataclass
from typing import Final, Literal

from kith.core.events import Applied, Proposed, RunEnded, RunStarted, TodoSet
from kith.core.values import FileChange, Question, TodoItem
from kith.edits import summarise
from kith.features.web.desk import Desk
from kith.memory.log import Log
from kith.memory.queries import asked_ids, newest_event

ChangeState = Literal["waiting", "kept", "applied", "proposed", "none"]
_LOOK_S: Final = 0.1  # between two looks into the log


@dataclass(frozen=True, slots=True)
class SessionState:
    """The last task of a session: what was wanted, of which model, how it ended ("unfinished": not yet)."""

    task: str = ""
    model: str = ""
    status: str = "unfinished"
    text: str = ""


def session_state(log: Log, session: str) -> SessionState:
    """How a session stands. Raises KithError."""
    started = newest_event(log, session, "RunStarted")
    if not isinstance(started, RunStarted):
        return SessionState()
    ended = newest_event(log, session, "RunEnded", "RunStarted", "Resumed")
    if not isinstance(ended, RunEnded):
        return SessionState(started.task, started.model)
    return SessionState(started.task, started.model, ended.status, ended.text)


def todo_list(log: Log, session: str) -> tuple[TodoItem, ...]:
    """The model's list."""
    told = newest_event(log, session, "TodoSet")
    return told.items if isinstance(told, TodoSet) else ()


async def settle(desk: Desk, session: str, seconds: float) -> Question | None:
    """Wait until the last task has ended, or its process, or its question is there, or the time is over."""
    end, seen = time.monotonic() + seconds, -1
    while desk.is_working(session) and time.monotonic() < end:
        if (changed := desk.log.changed()) != seen:
            seen = changed
            if question := desk.question(session):
                return question
            if session_state(desk.log, session).status != "unfinished":
                return None
        await asyncio.sleep(_LOOK_S)
    return None


def last_change(desk: Desk, session: str) -> tuple[ChangeState, tuple[FileChange, ...]]:
    """The change of the last task, and what has become of it."""
    question = desk.question(session)
    if question and question.files:
        return "waiting", question.files
    if (project := desk.project_of(session)) and desk.is_waiting(session):
        name = project.waiting_in(session)
        return "kept", summarise(project.tree.waiting_change(name)) if name else ()
    match newest_event(desk.log, session, "Applied", "Proposed", "RunStarted"):
        case Applied(files=files):
            return "applied", files
        case Proposed(files):
            return "proposed", files
    return "none", ()


def was_asked(log: Log, session: str, question: str) -> bool:
    """Whether a question with this id was ever asked in the session."""
    return question in asked_ids(log, session)
