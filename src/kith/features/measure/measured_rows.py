"""Fold the events of sessions into measured rows, and keep them as JSON for the next time."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, TypeVar, get_type_hints

from msgspec import Struct, field
from msgspec.structs import astuple, replace

from kith.core.codec import KINDS as ALL
from kith.core.events import Applied, Called, Engaged, RunStarted
from kith.core.values import Timing, Usage
from kith.features.measure.legs import UNDONE
from kith.features.measure.rows import CallRow, LegRow
from kith.features.measure.task_parts import LoggedTask
from kith.memory.caches import Extent, SessionRow, SessionRows
from kith.memory.database import Record, without_asides
from kith.memory.log import Log
from kith.settings import Settings

# The events of one session, folded into rows: its calls, its parts of tasks, and who said what of them.

_UNREAD: Final = frozenset({"Said", "TodoSet", "Planned", "Compacted", "Carded", "Reviewed", "Locked"})
KINDS: Final = frozenset(ALL) - _UNREAD  # the events that are read for this


class VerdictRow(Struct, frozen=True):
    """A verdict on one model's part of a task, and its source.

    `gate`: "edits" (they could be applied), a gate's own name, "audit" (a model's second look), "errand" or
    "person". `attempt`: of the task, 0 where there is none. `call` counts the session's calls up to it: the
    last of them wrote what was judged.
    """

    session: str
    task: int
    at: float
    model: str
    kind: str
    gate: str
    ok: bool
    part: str = ""
    attempt: int = 0
    call: int = 0


class Folded(Struct):
    """The rows of a session, its folder, its first event's number and its last one's moment.

    `changes`: for each leg what it applied; `undoes`: number, change, and the one that it undid. Only all
    sessions together tell if a change holds.
    """

    session: str
    root: str = ""
    first: int = 0
    last: float = 0.0
    calls: list[CallRow] = field(default_factory=list)
    legs: list[LegRow] = field(default_factory=list)
    changes: list[tuple[str, ...]] = field(default_factory=list)
    verdicts: list[VerdictRow] = field(default_factory=list)
    undoes: list[tuple[int, str, str]] = field(default_factory=list)


def fold_session(session: str, records: Iterable[Record]) -> Folded:
    """The rows of one session, from its events in their order."""
    folded, engaged, task, tasks = Folded(session), dict[str, Engaged](), None, 0
    for record in without_asides(records):
        event = record.event
        folded.first, folded.last = folded.first or record.seq, record.at
        match event:
            case RunStarted(root=root):
                _close(folded, task)
                tasks, folded.root = tasks + 1, folded.root or root
                task = LoggedTask(session, tasks, event)
            case Engaged():
                engaged[event.model] = event
            case Called():
                model = engaged.get(event.model, Engaged(event.model))
                row = _row(event, record, session, task.started.root if task else "", model)
                folded.calls.append(row)
                if task:
                    task.call(event, record.path, row, model)
            case Applied(_, _, undoes) if undoes:
                folded.undoes.append((record.seq, event.change_id, undoes))
            case _ if task:
                _take(folded, task, record)
    _close(folded, task)
    return folded


def _row(event: Called, record: Record, session: str, root: str, model: Engaged) -> CallRow:
    """A call with what is known of its model."""
    return CallRow(
        session=session,
        at=record.at,
        root=root,
        model=event.model,
        purpose=event.purpose,
        digest=model.digest,
        quantisation=model.quantisation,
        parameters=model.parameters,
        machine=model.machine,
        cloud=model.cloud,
        window=event.window or model.window,
        step="/".join(record.path),
        attempt=event.attempt,
        usage=event.usage,
        evaluated=event.evaluated,
        timing=event.timing,
        error=(event.error or "failed") if event.stop == "error" else "",
        usd=event.usd,
        expected_s=event.expected_s,
        slow=event.slow,
        busy=event.busy,
        strategy=event.strategy,
    )


def _take(folded: Folded, task: LoggedTask, record: Record) -> None:
    """An event of a task, and the rows of what it says."""
    for draft, gate, ok, attempt in task.take(record.event, record.path, record.at):
        draft.at = record.at
        folded.verdicts.append(
            VerdictRow(
                session=folded.session,
                task=task.number,
                at=record.at,
                model=draft.model,
                kind=draft.kind,
                gate=gate,
                ok=ok,
                part=draft.part,
                attempt=attempt,
                call=len(folded.calls),
            )
        )


def _close(folded: Folded, task: LoggedTask | None) -> None:
    """A task is over, or the log ends in it: its parts become rows."""
    for draft in task.close() if task else ():
        folded.legs.append(draft.row())
        folded.changes.append(draft.changes)


# Rows as they are kept for the next time: a session's as JSON, and gone with the session.

_NESTED: Final[dict[Any, Callable[[list[Any]], Any]]] = {
    Usage: lambda values: Usage(*values),
    Timing: lambda values: Timing(*values),
    tuple[str, ...]: tuple,
}


def open_rows(cache: Path, log: Path) -> SessionRows:
    """Open the cached rows of a log: empty, where rows had another shape."""
    shape = [(kind.__name__, list(kind.__struct_fields__)) for kind in (CallRow, LegRow, VerdictRow)]
    return SessionRows(cache, log, shape)


def forget_rows(chosen: Settings, log: Log, session: str) -> None:
    """Drop what is kept of a session."""
    with closing(open_rows(chosen.cache, log.path)) as kept:
        kept.forget(session)


def encode(folded: Folded) -> SessionRow:
    """The rows of a session, as they are kept."""
    legs = [(*_values(leg), ids) for leg, ids in zip(folded.legs, folded.changes, strict=True)]
    return SessionRow(
        folded.session,
        folded.root,
        folded.first,
        folded.last,
        _dump(map(_values, folded.calls)),
        _dump(legs),
        _dump(map(_values, folded.verdicts)),
        folded.undoes,
    )


def _values(row: Struct) -> tuple[Any, ...]:
    """A row's values in their order, those within a value as well."""
    return tuple(_values(each) if isinstance(each, Struct) else each for each in astuple(row))


def _dump(rows: Iterable[tuple[Any, ...]]) -> str:
    return json.dumps(list(rows), separators=(",", ":"))[1:-1]


def _reader(kind: Any) -> Callable[[list[Any]], Any]:
    """Return a function that makes a row of a list: JSON has neither tuples nor nested values."""
    hints = get_type_hints(kind)
    made = [
        (place, _NESTED[hints[name]])
        for place, name in enumerate(kind.__struct_fields__)
        if hints[name] in _NESTED
    ]

    def read(values: list[Any]) -> Any:
        for place, make in made:
            values[place] = make(values[place])
        return kind(*values)

    return read


_read_call: Callable[[list[Any]], CallRow] = _reader(CallRow)
_read_leg: Callable[[list[Any]], LegRow] = _reader(LegRow)


def decode_calls(text: str) -> list[CallRow]:
    """The calls that `SessionRows.rows` gave."""
    return [_read_call(row) for row in json.loads(text)]


def decode_legs(text: str) -> list[tuple[LegRow, list[str]]]:
    """The legs that `SessionRows.rows` gave, each with the changes that it applied."""
    found = []
    for row in json.loads(text):
        changes = row.pop()
        found.append((_read_leg(row), changes))
    return found


def decode_verdicts(text: str) -> list[VerdictRow]:
    """The verdicts that `SessionRows.rows` gave."""
    return [VerdictRow(*row) for row in json.loads(text)]


Row = TypeVar("Row", CallRow, LegRow, VerdictRow)


class Measured:
    """Calls, parts of tasks and verdicts, each in the order of time; the latest word on a part holds.

    Rows are made when somebody wants them: who routes needs no calls, of which there are most.
    """

    def __init__(
        self,
        calls: Callable[[], Iterable[CallRow]],
        legs: Callable[[], Iterable[tuple[LegRow, Iterable[str]]]],
        verdicts: Callable[[], Iterable[VerdictRow]],
        undoes: Iterable[tuple[int, str, str]],
        since: float = 0.0,
    ) -> None:
        self._calls, self._legs, self._verdicts = calls, legs, verdicts
        self._undoes, self._since = undoes, since

    @cached_property
    def calls(self) -> tuple[CallRow, ...]:
        return self._in_order(self._calls())

    @cached_property
    def legs(self) -> tuple[LegRow, ...]:
        """The parts; one whose change does not hold any more is unsolved."""
        undone = _undone(self._undoes)
        return self._in_order(
            leg if undone.isdisjoint(changes) else _as_undone(leg) for leg, changes in self._legs()
        )

    @cached_property
    def verdicts(self) -> tuple[VerdictRow, ...]:
        return self._in_order(self._verdicts())

    def _in_order(self, rows: Iterable[Row]) -> tuple[Row, ...]:
        since = self._since
        recent = (row for row in rows if row.at >= since) if since else rows
        return tuple(sorted(recent, key=attrgetter("at")))


def read_measured(
    log: Log, root: Path | None = None, since: float = 0.0, *, cache: Path | None = None
) -> Measured:
    """The rows of a log, where given those of one folder, and since a moment (seconds of the epoch).

    With `cache` (the folder for caches) only sessions with new events are folded again. Raises KithError
    when the log cannot be read.
    """
    wanted = str(root) if root else ""
    kept = _read_kept(log, cache, wanted, since) if cache else None
    return kept or _read_anew(log, wanted, since)


def _read_anew(log: Log, root: str, since: float) -> Measured:
    every = list(_fold(log, log.session_ids()))
    own = [each for each in every if root in ("", each.root)]
    return Measured(
        lambda: [call for each in own for call in each.calls],
        lambda: [pair for each in own for pair in zip(each.legs, each.changes, strict=True)],
        lambda: [verdict for each in own for verdict in each.verdicts],
        sorted(undo for each in every for undo in each.undoes),
        since,
    )


def _read_kept(log: Log, cache: Path, root: str, since: float) -> Measured | None:
    """The rows by way of the cache; None where the disk refuses it."""
    with closing(open_rows(cache, log.path)) as kept:
        _bring_up(kept, log)
        calls, legs = kept.rows("calls", root, since), kept.rows("legs", root, since)
        verdicts, undoes = kept.rows("verdicts", root, since), kept.undoes()
        if not kept.usable:
            return None

    def anew() -> Measured:
        return _read_anew(log, root, since)

    return Measured(
        lambda: _sound(lambda: decode_calls(calls), lambda: anew()._calls()),
        lambda: _sound(lambda: decode_legs(legs), lambda: anew()._legs()),
        lambda: _sound(lambda: decode_verdicts(verdicts), lambda: anew()._verdicts()),
        undoes,
        since,
    )


def _sound(kept: Callable[[], Iterable[Any]], anew: Callable[[], Iterable[Any]]) -> Iterable[Any]:
    """Return the cached rows, or those from the log where the cache is damaged."""
    try:
        return kept()
    except (ValueError, TypeError, LookupError, RecursionError):
        return anew()


def _bring_up(kept: SessionRows, log: Log) -> None:
    """Fold the sessions in which something happened since, and drop those that are gone."""
    was, now = kept.extent(), Extent(*log.extent())
    if was == now:
        return
    if was.name != now.name or now.newest < was.newest:  # another log
        touched, gone = log.session_ids(), kept.sessions()
    else:
        touched = log.session_ids(after=was.newest)
        complete = now.events - log.count_after(was.newest) == was.events
        gone = set() if complete else kept.sessions() - set(log.session_ids())
    kept.put(map(encode, _fold(log, touched)), gone, now)


def _fold(log: Log, sessions: Iterable[str]) -> Iterator[Folded]:
    """The rows of each session that has any events of interest."""
    for session in sessions:
        folded = fold_session(session, log.events(session, kinds=KINDS))
        if folded.first:
            yield folded


# --- what only all sessions together tell ----------------------------------------------------


def _undone(undoes: Iterable[tuple[int, str, str]]) -> set[str]:
    """The changes that are undone now, and not redone."""
    taken: dict[str, str] = {}
    closed: set[str] = set()
    for _, change, undone in undoes:
        taken[change] = undone
        closed.add(undone)
        if undone in taken:
            closed.discard(taken[undone])
    return closed


def _as_undone(leg: LegRow) -> LegRow:
    told = UNDONE
    return replace(leg, undone=True, reward=told.reward, weight=told.weight, reason=told.reason)
