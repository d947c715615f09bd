"""What was decided about models in a session, why, and how it went afterwards: read from the log."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kith.core.codec import encode
from kith.core.decisions import Routed
from kith.core.errors import UsageError
from kith.core.events import Applied, Called, Event, Judged, RunEnded, RunStarted
from kith.memory.log import Log, Record


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
    words = ""
    for record in log.events(session):
        if isinstance(record.event, RunStarted):
            words = record.event.task
        _take(found, record, words)
    return found


def _take(found: list[Decided], record: Record, words: str) -> None:
    event: Event = record.event
    if isinstance(event, Routed) and (not event.after or not found):
        found.append(Decided(record.at, words, "/".join(record.path), event))
    if not found:
        return
    match event:
        case Routed() if event.after:
            found[-1].later.append(event)
        case Called():
            found[-1].calls.append(event)
        case Judged(when="after") if event.ran:
            found[-1].verdicts.append(event)
        case Applied(undoes=""):
            found[-1].change = event.change_id
        case RunEnded():
            found[-1].ended = event


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
