"""What was decided about models in a session, why, and how it went afterwards: read from the log."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kith.core.codec import encode
from kith.core.decisions import Routed
from kith.core.errors import UsageError
from kith.core.events import Applied, Called, Event, Judged, RunEnded, RunStarted
from kith.memory.log import Log
from kith.memory.records import Record


@dataclass(slots=True)
class Decided:
    """One task, or one role's part of a build: the decision, who took over, and what it came to.

    `at` is in seconds since the epoch; `words` are the task's, `part` the step of a build.
    """

    at: float
    words: str
    part: str
    first: Routed
    later: list[Routed] = field(default_factory=list)
    calls: list[Called] = field(default_factory=list)
    verdicts: list[Judged] = field(default_factory=list)
    ended: RunEnded | None = None
    change: str = ""

    @property
    def usd(self) -> float | None:
        """What it cost in US dollars; None where no call has a price."""
        known = [call.usd for call in self.calls if call.usd is not None]
        return sum(known) if known else None

    @property
    def models(self) -> tuple[str, ...]:
        """Who was asked, in the order of their first answers."""
        return tuple(dict.fromkeys(call.model for call in self.calls))


def read_decisions(log: Log, session: str) -> list[Decided]:
    """The decisions of a session, in their order."""
    found: list[Decided] = []
    task: list[Decided] = []  # those of the present one; a build has many
    words = ""
    for record in log.events(session):
        match record.event:
            case RunStarted() as started:
                words, task = started.task, []
            case Routed() as routed if not routed.after or not task:
                task.append(Decided(record.at, words, "/".join(record.path), routed))
                found.append(task[-1])
        _take(task, record)
    return found


def _take(task: Sequence[Decided], record: Record) -> None:
    """An event, for the decision in whose part of the task it happened, or for all."""
    event: Event = record.event
    own = [each for each in task if each.part in ("", *record.path[:1])][-1:]
    match event:
        case RunEnded():
            for each in task:
                each.ended = event
        case Applied(undoes=""):
            for each in task:
                each.change = event.change_id
        case Routed() if event.after:
            for each in own:
                each.later.append(event)
        case Called():
            for each in own:
                each.calls.append(event)
        case Judged(when="after") if event.ran:  # a build checks in a step of its own
            for each in own or task[-1:]:
                each.verdicts.append(event)


def find_session(log: Log, wanted: str, sessions: Sequence[str]) -> str:
    """The session whose id begins with `wanted`; "" or "last": the newest of `sessions` with a decision.

    Raises UsageError.
    """
    if wanted not in ("", "last"):
        return log.find(wanted)
    for session in sessions:
        if any(isinstance(record.event, Routed) for record in log.events(session)):
            return session
    raise UsageError("No model was chosen here yet; a task begins with: kith run.")


def describe_decision(decided: Decided, undone: bool) -> dict[str, Any]:
    """A decision as plain data; `undone`: its change was taken back since."""
    first, ended = decided.first, decided.ended
    return {
        "at": decided.at,
        "task": decided.words,
        "part": decided.part,
        **encode(first),
        "escalations": [{"after": each.after, "to": each.plan[0], "why": each.why} for each in decided.later],
        "outcome": {
            "status": ended.status if ended else "unfinished",
            "text": ended.text if ended else "",
            "models": list(decided.models),
            "verified": decided.verdicts[-1].ok if decided.verdicts else None,
            "applied": decided.change or None,
            "undone": undone,
            "calls": len(decided.calls),
            "seconds": round(sum(call.timing.total_s for call in decided.calls), 3),
            "usd": decided.usd,
        },
    }
