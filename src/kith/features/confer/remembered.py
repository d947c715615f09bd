"""What the log holds of councils: who said what, what was decided, and what became of it later."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from kith.core.council_threads import place_of
from kith.core.decisions import Claimed, Concluded, Convened
from kith.core.events import Applied, Called, Event, RunEnded, RunStarted, Said
from kith.core.values import Message
from kith.features.confer.payoff import Finished
from kith.memory.applied import holds
from kith.memory.log import Log

OWN: Final = "confer"  # the command that is a council itself
_BEGUN: Final = frozenset({"Concluded", "RunStarted"})
_KINDS: Final = frozenset({"Applied", "Called", "Concluded", "RunEnded", "RunStarted"})


@dataclass(slots=True)
class Minutes:
    """One council as it went: `said` has (who, what) in order, messages and claims."""

    id: str
    kind: str = ""
    question: str = ""
    members: dict[str, str] = field(default_factory=dict)
    said: list[tuple[str, Message | Claimed]] = field(default_factory=list)
    concluded: Concluded | None = None

    @property
    def claims(self) -> list[Claimed]:
        return [what for _, what in self.said if isinstance(what, Claimed)]


def read_minutes(events: Iterable[Event]) -> dict[str, Minutes]:
    """The councils of a session, by id."""
    councils: dict[str, Minutes] = {}
    for event in events:
        match event:
            case Convened(id, kind, question, members):
                minutes = councils.setdefault(id, Minutes(id))
                minutes.kind, minutes.question, minutes.members = kind, question, members
            case Said(thread, message) if place := place_of(thread):
                id, who = place
                councils.setdefault(id, Minutes(id)).said.append((who, message))
            case Claimed(council=id, by=by):
                councils.setdefault(id, Minutes(id)).said.append((by, event))
            case Concluded(council=id):
                councils.setdefault(id, Minutes(id)).concluded = event
    return councils


def speaker_of(event: Event) -> str:
    """Who said a message in a council ("" for anything else, and for what kith said)."""
    place = place_of(event.thread) if isinstance(event, Said) and event.message.role == "assistant" else None
    return place[1] if place and "/" not in place[1] else ""


def read_results(log: Log) -> tuple[list[Finished], frozenset[str]]:
    """What became of the work that councils spoke about, and the sessions that had any.

    Work that was never carried out, or is not over, has no result.
    """
    sessions = log.having("Concluded")
    found = (_result(log, session) for session in sessions)
    return [each for each in found if each is not None], frozenset(sessions)


def read_others(log: Log, kind: str, councils: frozenset[str]) -> list[Finished]:
    """What became of work of the same command without a council, for councils inside of one (panels)."""
    commands = set[str]()
    for session in councils:
        events = [record.event for record in log.events(session, kinds=_BEGUN)]
        if any(isinstance(each, Concluded) and each.kind == kind for each in events):
            commands |= {each.options.kind for each in events if isinstance(each, RunStarted)}
    others = [
        id for command in sorted(commands - {OWN, ""}) for id in log.of_kind(command) if id not in councils
    ]
    return [result for id in others if (result := _result(log, id, kind))]


def _result(log: Log, session: str, kind: str = "") -> Finished | None:
    """A session as one task; its kind is that of its council where none is given."""
    events = [record.event for record in log.events(session, kinds=_KINDS)]
    solved = _was_solved(log, events)
    if solved is None:
        return None
    kind = kind or next((each.kind for each in events if isinstance(each, Concluded)), "")
    return Finished(kind, solved, sum(each.usage.total for each in events if isinstance(each, Called)))


def _was_solved(log: Log, events: Iterable[Event]) -> bool | None:
    """Adopted, and not taken back since: solved. Tests or the person said no: not. Else nobody knows."""
    started: RunStarted | None = None
    applied: Applied | None = None
    ended: RunEnded | None = None
    for event in events:
        started = started or (event if isinstance(event, RunStarted) else None)
        applied = event if isinstance(event, Applied) else applied
        ended = event if isinstance(event, RunEnded) else ended
    if applied and started:
        return holds(log.applied(started.root), applied.change_id)
    return False if ended and ended.status in ("failed", "limit", "rejected") else None
