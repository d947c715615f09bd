"""What people say to a session from any face and any process: answers, words for the model, a stop."""

import json
from dataclasses import dataclass
from typing import Any, Literal

from kith.core.codec import decode, encode
from kith.core.values import Answer
from kith.memory.log import Log


@dataclass(frozen=True, slots=True)
class Letter:
    """Words for a session: a new task, or what steers the present one.

    `flags` are settings as the command line would give them; `plan`, `tool` (the one to use first) and `kind`
    (the command: run, build, confer) count only where the words begin a task. Of kind "tool" it asks no
    model: `tool` is used with `args`; of kind "apply" the change that waits is applied. `resume`: without
    words, it goes on with what was cut short.
    """

    words: str
    by: str = ""
    kind: Literal["run", "build", "confer", "tool", "apply"] = "run"
    plan: Literal["no", "yes", "show"] = "no"
    tool: str = ""
    flags: dict[str, Any] | None = None
    args: dict[str, Any] | None = None
    resume: bool = False

    @property
    def steers(self) -> bool:
        """Whether a model at work is told of it; anything else waits until the work is done."""
        return bool(self.words) and self.kind != "tool"


@dataclass(frozen=True, slots=True)
class Stopped:
    """Somebody asked for an end; `unheard` is what had been said before that, and nobody is told any more."""

    by: str
    unheard: tuple[Letter, ...] = ()


class Inbox:
    """The letters, answers and stops of one session. Raises KithError where the log cannot be used."""

    def __init__(self, log: Log, session: str) -> None:
        self.log, self.session = log, session

    def claim(self, question: str, answer: Answer) -> bool:
        """Answer a question by its id; False when somebody else was first."""
        return self.log.post(self.session, "answer", question, json.dumps(encode(answer)))

    def answer_to(self, question: str) -> Answer | None:
        """The first answer to a question, None while there is none."""
        for _, body in self.log.posted(self.session, "answer", question):
            answer: Answer = decode(json.loads(body), Answer)
            return answer
        return None

    def write(self, letter: Letter) -> None:
        """Say something to the model: at its next step while it works, else as its next task."""
        self.log.post(self.session, "letter", "", json.dumps(encode(letter)))

    def waiting(self) -> tuple[tuple[int, Letter], ...]:
        """What was said and not heard yet, oldest first, with the numbers by which it is `heard`."""
        rows = self.log.posted(self.session, "letter")
        return tuple((number, decode(json.loads(body), Letter)) for number, body in rows)

    def next_letter(self) -> tuple[int, Letter] | None:
        """The oldest letter that was not heard yet."""
        return next(iter(self.waiting()), None)

    def heard(self, *numbers: int) -> None:
        """Letters became a task, or were told to the model."""
        self.log.take(numbers)

    def letters(self, take: bool = True) -> tuple[Letter, ...]:
        """What was said and not heard yet, oldest first; it counts as heard then (`take`)."""
        waiting = self.waiting()
        if take:
            self.heard(*(number for number, _ in waiting))
        return tuple(letter for _, letter in waiting)

    def stop(self, by: str = "") -> None:
        """Let whoever works on the session stop."""
        self.log.post(self.session, "stop", "", json.dumps({"by": by}))

    def forget_stops(self) -> None:
        """Stops that were asked of earlier tasks count no more; one that came after a letter is for that."""
        first = min((number for number, _ in self.log.posted(self.session, "letter")), default=None)
        stops = [number for number, _ in self.log.posted(self.session, "stop")]
        self.log.take([number for number in stops if first is None or number < first])

    def take_stop(self) -> Stopped | None:
        """The stop that was asked for since one was last taken; what was said before it counts as heard."""
        stops = self.log.posted(self.session, "stop")
        if not stops:
            return None
        number, body = stops[-1]
        unheard = [each for each in self.waiting() if each[0] < number]
        self.log.take([*(each for each, _ in stops), *(each for each, _ in unheard)])
        return Stopped(json.loads(body)["by"], tuple(letter for _, letter in unheard))


def unheard_sessions(log: Log) -> tuple[str, ...]:
    """The sessions with letters that nobody has heard."""
    query = "SELECT DISTINCT session FROM post WHERE kind = 'letter' AND NOT taken"
    return tuple(session for (session,) in log.query(query))
