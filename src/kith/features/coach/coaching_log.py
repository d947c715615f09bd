"""Read from the log what coaching did: strategies, pairs of each experiment, and replays."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kith.core.decisions import Coached, Compared
from kith.core.events import Options, RunEnded, RunStarted
from kith.features.coach.sequential_test import Pair
from kith.features.coach.strategy import Ways, fold_ways
from kith.memory.log import Log

COACH: Final = "coach"  # what a session is for, by RunStarted: an experiment, or a word about a way
REPLAY: Final = "replay"  # a recorded task, done again
_READ: Final = frozenset({"Coached", "Compared", "RunStarted", "RunEnded"})

# A model's key and a kind of work; with a strategy's id it names an experiment.
Work = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Coaching:
    """The strategies of each model, and the pairs of experiments: (work, strategy) -> task's id -> pair."""

    ways: Mapping[Work, Ways] = field(default_factory=dict)
    pairs: Mapping[tuple[Work, str], dict[str, Pair]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of replaying a recorded task, and its seconds; `solved` None: no evidence."""

    solved: bool | None
    seconds: float


def options_of(kind: str, key: str, work: str, strategy: str, task: str = "") -> Options:
    """The options of a session of coaching, by which it is found again."""
    return Options(kind, digest=key, work=work, strategy=strategy, recorded=task)


def read_coaching(log: Log) -> Coaching:
    """All that was told of ways to ask, and all pairs. Raises KithError when the log cannot be read."""
    told, pairs = list[tuple[float, Coached]](), dict[tuple[Work, str], dict[str, Pair]]()
    for session in reversed(log.of_kind(COACH)):
        work = ("", "")
        for record in log.events(session, kinds=_READ):
            match record.event:
                case RunStarted(options=options):
                    work = (options.digest, options.work)
                case Coached() as event:
                    told.append((record.at, event))
                case Compared(strategy, task, before, after, before_s, after_s):
                    own = pairs.setdefault((work, strategy), {})
                    own.setdefault(task, Pair(before, after, before_s, after_s))
    told.sort(key=lambda each: each[0])
    return Coaching(fold_ways(told), pairs)


def read_replays(log: Log, key: str) -> dict[tuple[str, str], Replayed]:
    """(strategy, task) -> how a replay for the model known by `key` ended; the first that came to its end."""
    found = dict[tuple[str, str], Replayed]()
    for session in reversed(log.of_kind(REPLAY)):
        began, options = 0.0, Options()
        for record in log.events(session, kinds=_READ):
            match record.event:
                case RunStarted(options=given):
                    began, options = record.at, given
                case RunEnded(status) if options.digest == key and status in _SOLVED:
                    name = options.strategy, options.recorded
                    found.setdefault(name, Replayed(_SOLVED[status], record.at - began))
    return found


# How the session of a replay ends -> what that says of the task.
_SOLVED: Final[Mapping[str, bool | None]] = {"done": True, "failed": False, "rejected": None}
