"""Resume conversations by their ids, copy them up to a turn, name and delete them."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from itertools import chain, takewhile
from typing import Final

from msgspec import Struct

from kith import __version__
from kith.agent.project import Project
from kith.agent.task_prompt import LATER, name_files, news_of
from kith.agent.worker import WORKERS
from kith.core.errors import BusyError, TreeError, UsageError
from kith.core.events import Applied, Forked, Named, Options, RunEnded, RunStarted, Said
from kith.core.run import short_session
from kith.core.values import Changes
from kith.edits import summarise
from kith.memory.applied import holds, short_id
from kith.memory.input_history import forget_typed
from kith.memory.listing import Summary, list_sessions
from kith.memory.log import Log
from kith.memory.past import Past, fold
from kith.memory.queries import applied_changes, kinds_in
from kith.memory.session import telling
from kith.memory.turns import FORK, TASK, SessionTurn, turns
from kith.settings import Settings
from kith.settings.features import known_features
from kith.trees.journal import GoneError
from kith.trees.records import forget_records
from kith.trees.trial_folder import forget_trials

LONGEST_TITLE: Final = 120  # characters

Forget = Callable[[Settings, Log, str], None]  # told the session's id


def last_conversation(project: Project) -> Summary:
    """The newest conversation of this folder. Raises UsageError where there was none."""
    every = list_sessions(project.log.query, str(project.root), 1_000)
    found = next((each for each in every if each.talks), None)
    if found is None:
        raise UsageError(f"There was no conversation in {project.root} yet; `kith` starts one.")
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
        raise UsageError(f"Session {short_session(id)} holds no task.")
    if found.root != str(project.root):
        raise UsageError(f"Session {short_session(id)} belongs to {found.root}; use -C.")
    if not found.talks:
        raise UsageError(f"Session {short_session(id)} is not a conversation but a {found.kind or 'report'}.")
    return found


def _is_called(summary: Summary, wanted: str) -> bool:
    return bool(wanted.strip()) and summary.title.casefold() == " ".join(wanted.split()).casefold()


def tell_damage(log: Log, session: str) -> str:
    """Report the unreadable events of a session in a sentence; "" for none."""
    lost = log.left_out(session)
    many = "1 event" if lost == 1 else f"{lost:,} events"
    return f"{many} of session {short_session(session)} cannot be read; the rest is there." if lost else ""


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
    sessions that undid one of its changes, which hold the same text. Raises BusyError while
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
    """Delete a session's files beside its events."""
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


# Beginning again in a conversation: a new session copies an old one up to a turn, and files go back,
# too.


class Fork(Struct, frozen=True):
    """A session that began as a copy; `words` are those of the turn that it begins before ("" for none).

    `undone` are the changes undone for it, the newest first.
    """

    id: str
    words: str = ""
    undone: tuple[Applied, ...] = ()


class _ReturnPoint(Struct, frozen=True):
    """The place in a session to return to: its state there, the turns kept and those given up."""

    session: str
    past: Past
    upto: int
    kept: tuple[SessionTurn, ...]
    given_up: tuple[SessionTurn, ...]

    @property
    def words(self) -> str:
        return self.given_up[0].words if self.given_up else ""


def fork(project: Project, session: str, turn: int = 0) -> Fork:
    """A new session with all that was said in another one before a turn (its number; 0: with everything).

    Files stay as they are. Raises UsageError for a turn that is not there, or a session of another folder.
    """
    return _begin(project, _find(project, session, turn), ())


async def go_back(project: Project, session: str, turn: int) -> Fork:
    """Fork a session before a turn, and undo all changes since then: all of them or none.

    Edits of other hands stay. Raises UsageError as `fork` does, TreeError where a change cannot be taken
    back; the files are then as they were.
    """
    place = _find(project, session, turn)
    await project.recover(None)
    undone = await _take_back(project, _open_changes(project, place.given_up))
    with telling(undone[-1][0]) if undone else nullcontext():
        return _begin(project, place, undone)


def files_since(project: Project, session: str, turn: int) -> tuple[str, ...]:
    """The files that going back before a turn would change. Raises as `fork` does."""
    wanted = _open_changes(project, _find(project, session, turn).given_up)
    return _paths(project, wanted)


# --- finding the place -----------------------------------------------------------------------


def _find(project: Project, session: str, turn: int) -> _ReturnPoint:
    log = project.log
    root = next((started.root for started in (log.past(session).started,) if started), "")
    if root != str(project.root):
        where = f"belongs to {root}; use -C" if root else "holds no task"
        raise UsageError(f"Session {short_session(session)} {where}.")
    every = turns(log, session)
    if turn == 0:
        return _ReturnPoint(session, log.past(session), log.last(session), every, ())
    if not 0 < turn <= len(every):
        many = f"{len(every)} turns" if len(every) != 1 else "one turn"
        raise UsageError(f"Session {short_session(session)} has {many}, and no turn {turn}.")
    kept, given_up = every[: turn - 1], every[turn - 1 :]
    return _ReturnPoint(
        session, _past_before(project, session, given_up[0]), given_up[0].upto, kept, given_up
    )


def _past_before(project: Project, session: str, turn: SessionTurn) -> Past:
    """Return the session's state when the turn began."""
    records = project.log.events(session)
    past = fold(record.event for record in takewhile(lambda record: record.seq <= turn.upto, records))
    if not turn.copied:
        return past
    # What was compacted later on may tell of what came after the turn.
    said = past.threads.get(TASK, [])[: turn.after]
    return Past(threads={TASK: said} if said else {}, symbols=past.symbols)


def _open_changes(project: Project, given_up: Sequence[SessionTurn]) -> list[str]:
    """The changes of these turns that hold now, the newest first."""
    applied = project.log.applied(str(project.root))
    ids = chain.from_iterable(turn.changes for turn in given_up)
    return [id for id in reversed(list(ids)) if holds(applied, id)]


def _paths(project: Project, changes: Iterable[str]) -> tuple[str, ...]:
    wanted = set(changes)
    applied = (each for _, each in project.log.applied(str(project.root)) if each.change_id in wanted)
    return tuple(sorted({file.path for each in applied for file in each.files}))


# --- files -----------------------------------------------------------------------------------


async def _take_back(project: Project, ids: Sequence[str]) -> tuple[tuple[Applied, Changes], ...]:
    """Undo changes, one after the other; if one fails, redo the others."""
    undone: list[tuple[Applied, Changes]] = []
    for id in ids:
        try:
            undone.append(await _undo(project, id))
        except GoneError:
            continue  # somebody has taken it back by hand
        except (TreeError, BusyError) as error:
            why = str(error).removesuffix("; nothing was changed")
            text = f"{short_id(id)} cannot be undone: {why}; {await _bring_again(project, undone)}."
            _log_failure(project, undone, text)
            raise TreeError(text) from error
    return tuple(undone)


async def _undo(project: Project, id: str) -> tuple[Applied, Changes]:
    change_id, changes = await project.tree.undo(id)
    return Applied(change_id, summarise(changes), undoes=id), changes


async def _bring_again(project: Project, undone: list[tuple[Applied, Changes]]) -> str:
    """Undo what was undone; says how the files are now."""
    for applied, _ in reversed(tuple(undone)):
        try:
            undone.append(await _undo(project, applied.change_id))
        except (TreeError, BusyError) as error:
            return f"change {short_id(applied.undoes)} was undone, and redoing it failed ({error})"
    return "all files are as they were"


def _log_failure(project: Project, undone: Sequence[tuple[Applied, Changes]], text: str) -> None:
    """Log changes that were undone and redone in the journal, since the log must match it."""
    if not undone:
        return
    with project.session(changes=_all_changes(undone)) as session:
        session.emit(RunStarted("go back", str(project.root), "", __version__, Options("undo")))
        for applied, _ in undone:
            session.emit(applied)
        session.emit(RunEnded("failed", text))


def _all_changes(undone: Sequence[tuple[Applied, Changes]]) -> Changes:
    return tuple(chain.from_iterable(changes for _, changes in undone))


# --- the new session -------------------------------------------------------------------------


def _begin(project: Project, place: _ReturnPoint, undone: Sequence[tuple[Applied, Changes]]) -> Fork:
    past = place.past
    said = tuple(Said(TASK, message) for message in past.threads.get(TASK, ()))
    compacted = tuple(each for each in past.compacted if each.thread == TASK)
    spoken = tuple(turn.spoken for turn in place.kept)
    with project.session(changes=_all_changes(undone)) as session:
        session.emit(_started(project, place, undone))
        session.emit(Forked(place.session, place.upto, said, compacted, past.todo, spoken))
        for applied, _ in undone:
            session.emit(applied)
        session.emit(RunEnded("done", f"A copy of session {place.session}."))
        return Fork(session.id, place.words, tuple(applied for applied, _ in undone))


def _started(project: Project, place: _ReturnPoint, undone: Sequence[tuple[Applied, Changes]]) -> RunStarted:
    """Its first event: the title is the other session's, the tools stay what models were told there."""
    past = place.past
    whole = project.log.past(place.session)
    begun = (*place.kept, *place.given_up)
    title = whole.title or (begun[0].words if begun else "")
    options = Options(
        FORK,
        plan="no",
        symbols=past.symbols if past.threads else None,
        source=place.session,
        news=_news(project, place, undone),
    )
    model = whole.started.model if whole.started else ""
    return RunStarted(title, str(project.root), model, __version__, options)


def _news(project: Project, place: _ReturnPoint, undone: Sequence[tuple[Applied, Changes]]) -> str:
    """Tell the model about files that may be ahead of the conversation."""
    gone = {applied.undoes for applied, _ in undone}
    ahead = _paths(project, set(_open_changes(project, place.given_up)) - gone)
    parts = (news_of(project, place.past), name_files(LATER, ahead) if ahead else "")
    return "\n\n".join(filter(None, parts))
