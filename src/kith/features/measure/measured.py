"""What the log has measured, as rows: every call, every model's part of a task, and what was said of it."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from kith.features.measure.folding import KINDS, Folded, VerdictRow, fold_session
from kith.features.measure.kept_rows import decode_calls, decode_legs, decode_verdicts, encode, open_rows
from kith.features.measure.rewards import UNDONE
from kith.features.measure.rows import CallRow, LegRow
from kith.memory.log import Log
from kith.memory.session_rows import Extent, SessionRows

Row = TypeVar("Row", CallRow, LegRow, VerdictRow)
Rows = tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    """Rows that are made when somebody wants them: who routes needs no calls, of which there are most."""

    calls: Callable[[], Iterable[CallRow]]
    legs: Callable[[], Iterable[tuple[LegRow, Iterable[str]]]]
    verdicts: Callable[[], Iterable[VerdictRow]]
    undoes: Iterable[tuple[int, str, str]]


class Measured:
    """Calls, parts of tasks and verdicts, each in the order of time; the latest word on a part holds."""

    def __init__(self, found: _Found, since: float = 0.0) -> None:
        self._found, self._since = found, since

    @cached_property
    def calls(self) -> tuple[CallRow, ...]:
        return self._in_order(self._found.calls())

    @cached_property
    def legs(self) -> tuple[LegRow, ...]:
        """The parts; one whose change does not hold any more is unsolved."""
        undone = _undone(self._found.undoes)
        return self._in_order(
            leg if undone.isdisjoint(changes) else _as_undone(leg) for leg, changes in self._found.legs()
        )

    @cached_property
    def verdicts(self) -> tuple[VerdictRow, ...]:
        return self._in_order(self._found.verdicts())

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
    found = _read_kept(log, cache, wanted, since) if cache else None
    return Measured(found or _read_anew(log, wanted), since)


def measure(calls: Iterable[CallRow] = (), legs: Iterable[LegRow] = ()) -> Measured:
    """Rows that did not come from a log, as if they had."""
    kept = [(leg, ()) for leg in legs]
    return Measured(_Found(lambda: calls, lambda: kept, lambda: (), ()))


def _read_anew(log: Log, root: str) -> _Found:
    every = list(_fold(log, log.session_ids()))
    own = [each for each in every if root in ("", each.root)]
    return _Found(
        lambda: [call for each in own for call in each.calls],
        lambda: [pair for each in own for pair in zip(each.legs, each.changes, strict=True)],
        lambda: [verdict for each in own for verdict in each.verdicts],
        sorted(undo for each in every for undo in each.undoes),
    )


def _read_kept(log: Log, cache: Path, root: str, since: float) -> _Found | None:
    """The rows by way of the cache; None where the disk refuses it."""
    with closing(open_rows(cache, log.path)) as kept:
        _bring_up(kept, log)
        calls, legs = kept.rows("calls", root, since), kept.rows("legs", root, since)
        verdicts, undoes = kept.rows("verdicts", root, since), kept.undoes()
        if not kept.usable:
            return None
    return _Found(
        lambda: _sound(lambda: decode_calls(calls), lambda: _read_anew(log, root).calls()),
        lambda: _sound(lambda: decode_legs(legs), lambda: _read_anew(log, root).legs()),
        lambda: _sound(lambda: decode_verdicts(verdicts), lambda: _read_anew(log, root).verdicts()),
        undoes,
    )


def _sound(kept: Callable[[], Iterable[Any]], anew: Callable[[], Iterable[Any]]) -> Iterable[Any]:
    """What the cache holds, or what the log tells where that was damaged on the disk."""
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
    """The changes that do not hold now: taken back, and not brought again by undoing that."""
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
