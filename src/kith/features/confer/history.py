"""Read councils and their outcomes from the log, and judge if they pay."""

from collections.abc import Iterable, Sequence
from math import sqrt
from typing import Final

from msgspec import Struct, field

from kith.core.decisions import Claimed, Concluded, Convened, place_of
from kith.core.events import Applied, Called, Event, RunEnded, RunStarted, Said
from kith.core.values import Message
from kith.features.measure.rows import LegRow
from kith.memory.applied import holds
from kith.memory.log import Log

# Whether councils pay: what they solved and cost, against the same sort of work done without one.

ENOUGH: Final = 50  # councils of one kind, before they can be switched off
ENOUGH_WITHOUT: Final = 20  # tasks of that kind without a council
WORTH: Final = 0.2  # what the tokens of one usual task are worth, in solved tasks
_Z90: Final = 1.281552  # standard deviations below which 90 of 100 lie


class Finished(Struct, frozen=True):
    """One task that is over: its kind, whether it was solved, and the tokens it took (read and written)."""

    kind: str
    solved: bool
    tokens: int


class Payoff(Struct, frozen=True):
    """The benefit of councils for one kind: `gain` in solved tasks per task, tokens included.

    `upper`: the gain is below this with 90 % confidence. `pays` is False only when that is below zero.
    """

    kind: str
    councils: int
    others: int
    gain: float = 0.0
    upper: float = 1.0
    pays: bool = True

    @property
    def why(self) -> str:
        """The figures, in a sentence."""
        if not self.pays:
            seen = f"{self.councils} councils, {self.others} tasks without"
            gain = f"{self.gain:+.2f} solved for each task, tokens counted in, at most {self.upper:+.2f}"
            return f"Councils do not pay for {self.kind} here: {gain} ({seen})."
        return f"Not known yet whether councils pay for {self.kind} here ({self.councils} so far)."


def weigh(kind: str, councils: Sequence[Finished], others: Sequence[Finished]) -> Payoff:
    """Compute the benefit of councils for `kind`. Both lists may hold other kinds.

    The shares are Agresti and Caffo's (one success and one failure added to each side), so that a few equal
    outcomes do not look certain. The tokens of one task without a council count as WORTH.
    """
    mine = [each for each in councils if each.kind == kind]
    without = [each for each in others if each.kind == kind]
    if len(mine) < ENOUGH or len(without) < ENOUGH_WITHOUT:
        return Payoff(kind, len(mine), len(without))
    (one, spread), (other, other_spread) = _share(mine), _share(without)
    usual = sum(each.tokens for each in without) / len(without)
    more = sum(each.tokens for each in mine) / len(mine) - usual
    gain = one - other - (WORTH * more / usual if usual else 0.0)
    upper = gain + _Z90 * sqrt(spread + other_spread)
    return Payoff(kind, len(mine), len(without), gain, upper, upper >= 0)


def _share(results: Sequence[Finished]) -> tuple[float, float]:
    """The share that was solved, and the variance of that."""
    number = len(results) + 2
    share = (sum(each.solved for each in results) + 1) / number
    return share, share * (1 - share) / number


def results_of(rows: Iterable[LegRow], councils: Iterable[str] = ()) -> list[Finished]:
    """Whole tasks with a verdict, from their models' parts; sessions named in `councils` are left out."""
    tasks: dict[tuple[str, int, str], list[LegRow]] = {}
    known = frozenset(councils)
    for row in rows:
        if row.session not in known:
            tasks.setdefault((row.session, row.task, row.part), []).append(row)
    return [result for legs in tasks.values() if (result := _result_of(legs)) is not None]


def _result_of(legs: Sequence[LegRow]) -> Finished | None:
    verdicts = [leg.solved for leg in legs if leg.solved is not None]
    if not verdicts:
        return None
    tokens = sum(leg.usage.total for leg in legs)
    return Finished(legs[0].kind, any(verdicts), tokens)


OWN: Final = "confer"  # the command that is a council itself
_BEGUN: Final = frozenset({"Concluded", "RunStarted"})
_KINDS: Final = frozenset({"Applied", "Called", "Concluded", "RunEnded", "RunStarted"})


class Minutes(Struct):
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
    """Return the speaker of a message in a council ("" for other events, and for kith)."""
    place = place_of(event.thread) if isinstance(event, Said) and event.message.role == "assistant" else None
    return place[1] if place and "/" not in place[1] else ""


def read_results(log: Log) -> tuple[list[Finished], frozenset[str]]:
    """Read the outcomes of work that councils discussed, and the sessions with councils.

    Work that was never carried out, or is unfinished, has no result.
    """
    sessions = log.having("Concluded")
    found = (_result(log, session) for session in sessions)
    return [each for each in found if each is not None], frozenset(sessions)


def read_others(log: Log, kind: str, councils: frozenset[str]) -> list[Finished]:
    """Read outcomes of the same command without a council, to compare panels inside it."""
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
    """Adopted, and not undone since: solved. Tests or the person said no: not. Else nobody knows."""
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
