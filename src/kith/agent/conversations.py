"""Conversations by their ids: which one to go on with, what it is called, and how it is forgotten."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from kith.agent.project import Project
from kith.agent.worker import WORKERS
from kith.core.errors import UsageError
from kith.core.events import Named
from kith.memory.listing import Summary, list_sessions
from kith.memory.log import Log
from kith.memory.queries import applied_changes, kinds_in
from kith.memory.typed import forget_typed
from kith.settings import Settings
from kith.settings.features import known_features
from kith.trees.records import forget_records
from kith.trees.trial_folder import forget_trials

LONGEST_TITLE: Final = 120  # characters

Forget = Callable[[Settings, Log, str], None]  # told the session's id


def last_conversation(project: Project) -> Summary:
    """The newest conversation of this folder. Raises UsageError where there was none."""
    every = list_sessions(project.log.query, str(project.root), 1_000)
    found = next((each for each in every if each.talks), None)
    if found is None:
        raise UsageError(f"There was no conversation in {project.root} yet; `kith` begins one.")
    return found


def find_conversation(project: Project, wanted: str) -> Summary:
    """The conversation of this folder whose id begins so, else the newest that the person has named so.

    Raises UsageError where it is no such one.
    """
    try:
        id = project.log.find(wanted)
    except UsageError:
        every = list_sessions(project.log.query, str(project.root), 1_000)
        named = next((each for each in every if each.talks and _is_called(each, wanted)), None)
        if named is None:
            raise
        return named
    found = next(list_sessions(project.log.query, None, 0, (id,)), None)
    if found is None:
        raise UsageError(f"Session {id} holds no task.")
    if found.root != str(project.root):
        raise UsageError(f"Session {id} belongs to {found.root}; use -C.")
    if not found.talks:
        raise UsageError(f"Session {id} is no conversation but a {found.kind or 'report'}.")
    return found


def _is_called(summary: Summary, wanted: str) -> bool:
    return bool(wanted.strip()) and summary.title.casefold() == " ".join(wanted.split()).casefold()


def tell_damage(log: Log, session: str) -> str:
    """What of a session could not be read so far, in a sentence; "" where all could."""
    lost = log.left_out(session)
    many = "1 event" if lost == 1 else f"{lost:,} events"
    return f"{many} of session {session} cannot be read; the rest is there." if lost else ""


def rename(project: Project, session: str, title: str) -> str:
    """Give a session a name of the person's own; returns it as it is kept.

    Raises UsageError for one without words, BusyError while somebody works on it.
    """
    kept = " ".join(title.split())[:LONGEST_TITLE].rstrip()
    if not kept:
        raise UsageError("A name needs a word at least.")
    with project.session(session) as own:
        own.emit(Named(kept))
    return kept


def forget(settings: Settings, log: Log, session: str) -> tuple[str, ...]:
    """Forget a session for good, with all that kith keeps of it; returns what else is gone with it.

    Its changes can be undone no more: the contents of files that this would need go, too. So do the
    sessions in which one of its changes was taken back, which hold the same words. Raises BusyError while
    somebody works on one of them; nothing of that one is gone then.
    """
    applied = applied_changes(log)
    ids = {each.change_id for each in applied if each.session == session}
    others = dict[str, None]()
    for each in applied:
        if each.undoes in ids:
            ids.add(each.change_id)
            others |= {each.session: None} if kinds_in(log, each.session) == {"undo"} else {}
    others.pop(session, None)
    for id in (*others, session):
        own = [each.change_id for each in applied if each.session == id]
        log.delete(id, partial(_erase_files, settings, log, id, own))
    return tuple(others)


def _erase_files(settings: Settings, log: Log, session: str, changes: Sequence[str]) -> None:
    """What is kept of a session beside its events."""
    forget_trials(settings.state, session)
    forget_records(settings.state, changes)
    forget_typed(settings.state, session)
    for feature in known_features():  # one that is off may have kept something before
        if feature.forget:
            forget_more: Forget = feature.forget.load()
            forget_more(settings, log, session)
    for end in ("log", "lock"):
        with suppress(OSError):
            (settings.state / WORKERS / f"{session}.{end}").unlink()
