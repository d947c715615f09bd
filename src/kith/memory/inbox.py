"""Messages to a session from any screen and any process, and the question that it waits with."""

import json
from typing import Any, Literal

from msgspec import Struct

from kith.core.codec import decode, encode
from kith.core.events import Asked
from kith.core.values import Answer, Image, Message, Question
from kith.memory.database import ASIDES, try_decode
from kith.memory.listing import last_apply, last_task
from kith.memory.log import Log


class Letter(Struct, frozen=True):
    """A message for a session: a new task, or guidance for the present one.

    `flags` are settings as the command line would give them. `plan`, `tool` (the one to use first) and
    `kind` (the command: run, build, confer) count only for words that begin a task. Kind "tool" asks no
    model: `tool` is used with `args`. Kind "apply" applies the waiting change. `resume` without words
    continues an interrupted task.
    """

    words: str
    by: str = ""
    kind: Literal["run", "build", "confer", "tool", "apply"] = "run"
    plan: Literal["no", "yes", "show"] = "no"
    tool: str = ""
    flags: dict[str, Any] | None = None
    args: dict[str, Any] | None = None
    resume: bool = False
    history: tuple[Message, ...] = ()
    images: tuple[Image, ...] = ()

    @property
    def steers(self) -> bool:
        """True if a model at work is told of it; all else, pictures too, waits until the work is done."""
        return bool(self.words) and self.kind != "tool" and not self.images


class StopAsked(Struct, frozen=True):
    """Somebody asked for an end; `unheard` is what had been said before that, and nobody is told any more."""

    by: str
    unheard: tuple[Letter, ...] = ()


class Inbox:
    """The messages, answers and stops of one session. Raises KithError where the log cannot be used."""

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
        """Return the unread messages, oldest first, with their numbers for `heard`."""
        rows = self.log.posted(self.session, "letter")
        return tuple((number, decode(json.loads(body), Letter)) for number, body in rows)

    def next_letter(self) -> tuple[int, Letter] | None:
        """The oldest unread message."""
        return next(iter(self.waiting()), None)

    def heard(self, *numbers: int) -> None:
        """Mark messages as read: they became a task, or went to the model."""
        self.log.take(numbers)

    def letters(self, take: bool = True) -> tuple[Letter, ...]:
        """Return the unread messages, oldest first, and mark them as heard (`take`)."""
        waiting = self.waiting()
        if take:
            self.heard(*(number for number, _ in waiting))
        return tuple(letter for _, letter in waiting)

    def stop(self, by: str = "") -> None:
        """Let the process that works on the session stop."""
        self.log.post(self.session, "stop", "", json.dumps({"by": by}))

    def forget_stops(self) -> None:
        """Stops that were asked of earlier tasks count no more; one that came after a message is for that."""
        first = min((number for number, _ in self.log.posted(self.session, "letter")), default=None)
        stops = [number for number, _ in self.log.posted(self.session, "stop")]
        self.log.take([number for number in stops if first is None or number < first])

    def take_stop(self) -> StopAsked | None:
        """The stop that was asked for since one was last taken; what was said before it counts as heard."""
        stops = self.log.posted(self.session, "stop")
        if not stops:
            return None
        number, body = stops[-1]
        unheard = [each for each in self.waiting() if each[0] < number]
        self.log.take([*(each for each, _ in stops), *(each for each, _ in unheard)])
        return StopAsked(json.loads(body)["by"], tuple(letter for _, letter in unheard))


def unheard_sessions(log: Log) -> tuple[str, ...]:
    """The sessions with unread messages."""
    query = "SELECT DISTINCT session FROM post WHERE kind = 'letter' AND NOT taken"
    return tuple(session for (session,) in log.query(query))


# --- what a session waits for, as the log tells it -------------------------------------------


_ASIDES = ", ".join(f"'{kind}'" for kind in ASIDES)
_LAST_KIND = f"""
SELECT json_extract(body, '$.options.kind') FROM events WHERE session = ? AND kind = 'RunStarted'
AND COALESCE(json_extract(body, '$.options.kind'), '') NOT IN ({_ASIDES}) ORDER BY seq DESC LIMIT 1
"""
# Ends that nobody goes on from, of the commands that can be gone on with.
OVER = {"run": ("done", "rejected", "failed"), "build": ("done", "rejected")}
_LAST = """
SELECT kind, body FROM events WHERE session = ? AND seq > ? AND kind IN ('Asked', 'Answered')
ORDER BY seq DESC LIMIT 1
"""


def open_question(log: Log, session: str) -> Question | None:
    """The question that nobody has answered yet, without contents of files; None when there is none.

    A question outlives the process that asked it only in the log: whether anybody still waits for the answer,
    `Log.is_open` says.
    """
    begin, end = last_task(log.query, session)
    if end:  # a change that waited may be about to be applied
        begin, end = last_apply(log.query, session, begin)
    for kind, body in log.query(_LAST, (session, begin)) if begin and not end else ():
        if kind == "Asked":
            asked = try_decode("Asked", body)
            if isinstance(asked, Asked) and not Inbox(log, session).answer_to(asked.question.id):
                return asked.question
            return None
    return None


def was_cut_off(log: Log, session: str) -> bool:
    """True if the log has no end of the last task: a process works on it, or has died."""
    begin, end = last_task(log.query, session)
    return begin > 0 and not end


def can_resume(log: Log, session: str) -> bool:
    """True if the last task is not over, so that another process can resume it."""
    kind = last_kind(log, session)
    if kind not in OVER:
        return False
    begin, end = last_task(log.query, session)
    _, applied = last_apply(log.query, session, begin)
    if applied and json.loads(applied)["status"] == "done":
        return False
    return not end or json.loads(end)["status"] not in OVER[kind]


def last_kind(log: Log, session: str) -> str:
    """The command that began the last task: run, build, confer ...; "" where there was none."""
    return next((kind or "run" for (kind,) in log.query(_LAST_KIND, (session,))), "")
