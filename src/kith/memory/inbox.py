"""What people say to a session from any face and any process: answers, words for the model, a stop."""

import json
import time
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
    model: `tool` is used with `args`.
    """

    words: str
    by: str = ""
    kind: Literal["run", "build", "confer", "tool"] = "run"
    plan: Literal["no", "yes", "show"] = "no"
    tool: str = ""
    flags: dict[str, Any] | None = None
    args: dict[str, Any] | None = None


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

    def next_letter(self) -> tuple[int, Letter] | None:
        """The oldest letter that was not heard yet, with its number; it counts as heard by `heard`."""
        for number, body in self.log.posted(self.session, "letter")[:1]:
            return number, decode(json.loads(body), Letter)
        return None

    def heard(self, number: int) -> None:
        """A letter became a task."""
        self.log.take([number])

    def letters(self, take: bool = True, most: int | None = None) -> tuple[Letter, ...]:
        """What was said and not heard yet, oldest first; it counts as heard then (`take`)."""
        rows = self.log.posted(self.session, "letter")[:most]
        if take:
            self.log.take([number for number, _ in rows])
        return tuple(decode(json.loads(body), Letter) for _, body in rows)

    def stop(self, by: str = "") -> None:
        """Let whoever works on the session stop."""
        self.log.post(self.session, "stop", "", json.dumps({"by": by, "at": time.time()}))

    def forget_stops(self) -> None:
        """Stops that were asked of earlier tasks count no more; one that came after a letter is for that."""
        first = min((number for number, _ in self.log.posted(self.session, "letter")), default=None)
        stops = [number for number, _ in self.log.posted(self.session, "stop")]
        self.log.take([number for number in stops if first is None or number < first])

    def is_stopped(self, take: bool = True) -> bool:
        """Whether somebody asked for an end since that was last taken."""
        rows = self.log.posted(self.session, "stop")
        if take and rows:
            self.log.take([number for number, _ in rows])
        return bool(rows)
