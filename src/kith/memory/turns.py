"""List the messages of a person in a session, each a turn to restart from."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from kith.core.events import Applied, Forked, RunEnded, RunStarted, Said
from kith.core.values import Message, Spoken
from kith.memory.database import Record, try_decode, without_asides
from kith.memory.log import Log

FORK: Final = "fork"  # the kind of the run with which a fork begins
TASK: Final = "task"  # the conversation's thread; what planners or reviewers said beside it has others
NO_TURNS: Final = (FORK, "apply", "undo", "recovery")
_ROWS: Final = """
SELECT seq, at, kind, CASE kind WHEN 'Said' THEN substr(body, 1, 40) ELSE body END FROM events
WHERE session = ? AND kind IN ('RunStarted', 'RunEnded', 'Resumed', 'Said', 'Forked', 'Applied') ORDER BY seq
"""
_OF_TASK: Final = f'{{"thread":"{TASK}",'  # how the log begins a message of the conversation
_MESSAGE: Final = Said(TASK, Message("user", ()))


class SessionTurn(Struct, frozen=True):
    """Something that a person said; the `number` counts from 1.

    Before it the session's last event was number `upto`, and the conversation held `after` messages.
    `copied`: it was said in the session that this one is a fork of. `changes` are the ids of what was applied
    in it, `files` their paths (where the session has them).
    """

    number: int
    words: str
    at: float
    upto: int
    after: int
    status: str = ""
    changes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    copied: bool = False

    @property
    def spoken(self) -> Spoken:
        """The turn, as a fork remembers it."""
        return Spoken(self.words, self.after, self.at, self.changes)


class _TurnsSoFar(Struct):
    """The turns so far."""

    turns: list[SessionTurn] = field(default_factory=list)
    said: int = 0  # messages of the conversation
    last: int = 0  # number of the event before

    def take(self, record: Record) -> None:
        match record.event:
            case Forked() as fork:
                self.said = sum(each.thread == TASK for each in fork.said)
                self.turns += _copied(fork, record.seq)
            case RunStarted(task=words, options=options) if options.kind not in NO_TURNS:
                number = len(self.turns) + 1
                self.turns.append(SessionTurn(number, words, record.at, self.last, self.said, "unfinished"))
            case Said(thread=thread):
                self.said += thread == TASK
            case Applied() as applied if self.turns and not applied.undoes:
                self._apply(applied)
            case RunEnded(status=status) if self.turns and not self.turns[-1].copied:
                self.turns[-1] = replace(self.turns[-1], status=status)
        self.last = record.seq

    def _apply(self, applied: Applied) -> None:
        turn = self.turns[-1]
        files = dict.fromkeys((*turn.files, *(file.path for file in applied.files)))
        self.turns[-1] = replace(turn, changes=(*turn.changes, applied.change_id), files=tuple(files))


def _copied(fork: Forked, seq: int) -> Iterator[SessionTurn]:
    for number, each in enumerate(fork.spoken, 1):
        yield SessionTurn(number, each.words, each.at, seq, each.after, "", each.changes, copied=True)


def turns(log: Log, session: str) -> tuple[SessionTurn, ...]:
    """Return a person's messages in a session, oldest first; their own commands are no turns."""
    reading = _TurnsSoFar()
    for record in without_asides(_records(log, session), changes=True):
        reading.take(record)
    return tuple(reading.turns)


def _records(log: Log, session: str) -> Iterator[Record]:
    """The events that count here; of messages only that there was one, since they are most of a session."""
    for seq, at, kind, body in log.query(_ROWS, (session,)):
        event = (
            (_MESSAGE if body.startswith(_OF_TASK) else None) if kind == "Said" else try_decode(kind, body)
        )
        if event:
            yield Record(seq, at, (), event)
