"""Give routes the projects, the log, the workers and the state of a session."""

import asyncio
import re
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct, field

from kith.agent.kept_trial import waiting_sessions
from kith.agent.project import Project
from kith.agent.worker import check_tool, start_worker
from kith.core.errors import UsageError
from kith.core.events import Applied, Proposed, RunEnded, RunStarted, TodoSet
from kith.core.run import new_id
from kith.core.values import Answer, FileChange, Question, TodoItem
from kith.edits import summarise
from kith.memory.inbox import Inbox, Letter, can_resume, open_question, unheard_sessions, was_cut_off
from kith.memory.listing import Summary
from kith.memory.live import LiveReader, Position
from kith.memory.log import Log
from kith.memory.queries import asked_ids, newest_event, roots_of

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_BEGUN = "begun"  # a kind of post: the folder of a session that has no events yet
_MIND_S = 0.3  # between two looks whether letters were heard, and
_MOST_S = 30.0  # where they are not


class Desk(Struct):
    """The projects that were chosen when the server started, by name; nothing outside them is reached.

    All of it is used from the server's one thread: the log's connection belongs to it.
    """

    projects: dict[str, Project]
    flags: dict[str, Any] = field(default_factory=dict)  # settings given on the command line
    _workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)  # by session
    _minding: set[str] = field(default_factory=set)

    @property
    def log(self) -> Log:
        return self.first.log

    @property
    def first(self) -> Project:
        """The project that is meant where none is named."""
        return next(iter(self.projects.values()))

    def project(self, name: str = "") -> Project:
        """One of the projects by its name. Raises UsageError."""
        if not name:
            return self.first
        if name not in self.projects:
            raise UsageError(f"There is no project {name!r} here; there are: {', '.join(self.projects)}.")
        return self.projects[name]

    def project_of(self, session: str) -> Project | None:
        """The project that a session belongs to; None for one of another folder, and for one that is not."""
        if not _ID.fullmatch(session):
            return None
        told = roots_of(self.log, session)[:1]
        root = next(iter(told or [body for _, body in self.log.posted(session, _BEGUN)]), "")
        return next((each for each in self.projects.values() if str(each.root) == root), None)

    def sessions(self, project: str = "", limit: int = 50) -> list[Summary]:
        """The newest sessions of a project."""
        return self.log.sessions(self.project(project).root, limit)

    def begun(self) -> list[tuple[str, Project, Letter]]:
        """Sessions that have words and no event yet: their worker is about to begin."""
        ids = (id for id in unheard_sessions(self.log) if not roots_of(self.log, id))
        found = ((id, self.project_of(id), Inbox(self.log, id).next_letter()) for id in ids)
        return [(id, project, letter[1]) for id, project, letter in found if project and letter]

    # --- what a person does --------------------------------------------------------------------

    def begin(self, project: Project, letter: Letter) -> str:
        """A new session that begins with these words; returns its id."""
        session = new_id()
        self.write(project, session, letter)
        self.log.post(session, _BEGUN, "", str(project.root))  # until its first event says where it is
        return session

    def write(self, project: Project, session: str, letter: Letter) -> None:
        """Say something in a session: it steers the model at work, else it is the next task.

        Raises UsageError for a tool to use first that no model has.
        """
        if letter.kind == "run" and letter.tool:
            check_tool(letter.tool)
        Inbox(self.log, session).write(letter)
        self._see_to(project, session)

    def take_up(self) -> None:
        """See to the letters that a server before this one left."""
        for session in unheard_sessions(self.log):
            if project := self.project_of(session):
                self._see_to(project, session)

    def _see_to(self, project: Project, session: str) -> None:
        if session not in self._minding:
            self._minding.add(session)
            asyncio.get_running_loop().create_task(self._mind(project.root, session))

    async def _mind(self, root: Path, session: str) -> None:
        """Make sure that a worker hears the letters: the session's own, else a new one."""
        inbox, pause = Inbox(self.log, session), _MIND_S
        try:
            while inbox.waiting():
                self._workers = {id: each for id, each in self._workers.items() if each.poll() is None}
                if session not in self._workers and not self.log.is_open(session):
                    self._workers[session] = start_worker(root, self.log.path.parent, session)
                    pause = min(2 * pause, _MOST_S)  # one that cannot hear them is not started all the time
                await asyncio.sleep(pause)
        finally:
            self._minding.discard(session)

    def question(self, session: str) -> Question | None:
        """The open question of a session; one whose process died is asked again on resuming."""
        question = open_question(self.log, session)
        return question if question and self.log.is_open(session) else None

    def answer(self, session: str, question: str, answer: Answer) -> Answer | None:
        """Answer a question; None when this answer counts, else the one that was first."""
        inbox = Inbox(self.log, session)
        return None if inbox.claim(question, answer) else inbox.answer_to(question)

    def stop(self, session: str, by: str) -> None:
        Inbox(self.log, session).stop(by)

    def is_working(self, session: str) -> bool:
        """True if a worker has a session, or is about to."""
        return self.log.is_open(session) or bool(Inbox(self.log, session).waiting())

    def is_lost(self, session: str) -> bool:
        """True if the process that worked on the last task died before the end."""
        return not self.is_working(session) and was_cut_off(self.log, session)

    def is_resumable(self, session: str) -> bool:
        """True if the last task was interrupted and not resumed."""
        return not self.is_working(session) and can_resume(self.log, session)

    def is_waiting(self, session: str) -> bool:
        """True if a change of the session is waiting."""
        project = None if self.is_working(session) else self.project_of(session)
        return project is not None and project.waiting_in(session) is not None

    def waiting(self, sessions: Iterable[str]) -> set[str]:
        """Those of the sessions whose change waits."""
        found = {each for each in waiting_sessions(self.log.path.parent) if not self.is_working(each)}
        return found.intersection(sessions)

    # --- what a person sees --------------------------------------------------------------------

    def watch(self, session: str, position: Position | None = None) -> LiveReader:
        """A reader of the session from a position on."""
        return LiveReader(self.log, session, position or Position())


def open_desk(roots: Sequence[Path], flags: dict[str, Any]) -> Desk:
    """The desk for these folders; two of the same name are told apart by a number."""
    projects: dict[str, Project] = {}
    for root in dict.fromkeys(roots):
        name, number = root.name or "root", 2
        while name in projects:
            name, number = f"{root.name}-{number}", number + 1
        projects[name] = Project.open(root, flags)
    return Desk(projects, flags)


# How a session stands, from a few rows of the log.

ChangeState = Literal["waiting", "kept", "applied", "proposed", "none"]
_LOOK_S: Final = 0.1  # between two looks into the log


class SessionState(Struct, frozen=True):
    """The last task of a session: what was wanted, of which model, how it ended ("unfinished": not yet)."""

    task: str = ""
    model: str = ""
    status: str = "unfinished"
    text: str = ""


def session_state(log: Log, session: str) -> SessionState:
    """The state of a session. Raises KithError."""
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
    """True if a question with this id was ever asked in the session."""
    return question in asked_ids(log, session)
