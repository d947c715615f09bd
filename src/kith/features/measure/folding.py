"""The events of one session, folded into rows: its calls, its parts of tasks, and who said what of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from kith.core.codec import KINDS as ALL
from kith.core.events import Applied, Called, Engaged, RunStarted
from kith.features.measure.rows import CallRow, LegRow
from kith.features.measure.task_parts import LoggedTask
from kith.memory.database import Record, without_asides

_UNREAD: Final = frozenset({"Said", "TodoSet", "Planned", "Compacted", "Carded", "Reviewed", "Locked"})
KINDS: Final = frozenset(ALL) - _UNREAD  # the events that are read for this


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """What was said of one model's part of a task, and by whom.

    `gate`: "edits" (they could be brought into the files), a gate's own name, "audit" (a model's second look
    at what the gates let pass), "errand" or "person".
    `attempt`: of the task, 0 where there is none. `call` counts the session's calls up to it: the last of
    them had the last word on what was judged.
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


@dataclass(slots=True)
class Folded:
    """The rows of a session, its folder, its first event's number and its last one's moment.

    `changes`: for each leg what it applied; `undoes`: number, change, and the one that it took back. Whether
    a change holds is only known from all sessions together.
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
