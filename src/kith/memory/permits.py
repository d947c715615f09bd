"""Lasting consents and permits of a person, read from their answers in the log; the last one holds."""

import json
from dataclasses import dataclass
from pathlib import Path

from kith.core.codec import decode
from kith.core.events import Answered, Asked, RunEnded, RunStarted
from kith.core.run import new_id
from kith.core.values import Answer, Consent, Effect, Question
from kith.memory.log import Log
from kith.memory.session import Session

ALWAYS, ASK_AGAIN = "always", "ask again"


def agreed(log: Log, root: Path, session: str = "") -> tuple[Consent, ...]:
    """Return a person's permanent consents in a project, or in this session of it, in order of answers."""
    found = dict[Consent, str]()
    for of, place, _, consent, choice in log.answers(Consent):
        counts = choice in (ALWAYS, ASK_AGAIN) or (choice == "yes" and of == session)
        if place == str(root) and counts:
            found[consent] = choice
    return tuple(consent for consent, choice in found.items() if choice != ASK_AGAIN)


# --- calls of tools that need no question any more -------------------------------------------


_SAID = """
SELECT began.body, asked.body, said.body FROM events said
JOIN events asked ON asked.session = said.session AND asked.kind = 'Asked' AND asked.seq < said.seq
    AND json_extract(asked.body, '$.question.id') = json_extract(said.body, '$.question_id')
JOIN events began ON began.seq = (SELECT MIN(seq) FROM events first
    WHERE first.session = said.session AND first.kind = 'RunStarted')
WHERE said.kind = 'Answered' AND json_extract(said.body, '$.answer.choice') IN (?, ?)
    AND json_extract(asked.body, '$.question.kind') = 'tool'
ORDER BY said.seq
"""


@dataclass(frozen=True, slots=True)
class Permit:
    """Calls with this effect that match a pattern need no question in a project any more."""

    effect: Effect
    pattern: str


def permitted(log: Log, root: Path) -> tuple[Permit, ...]:
    """Return the permanent permissions in a project that were not revoked, in order of answers."""
    found = dict[Permit, None]()
    for began, asked, said in log.query(_SAID, (ALWAYS, ASK_AGAIN)):
        question: Question = decode(json.loads(asked)["question"], Question)
        if json.loads(began)["root"] != str(root) or not question.pattern or not question.effect:
            continue
        permit = Permit(question.effect, question.pattern)
        found.pop(permit, None)
        if json.loads(said)["answer"]["choice"] == ALWAYS and ALWAYS in question.choices:
            found[permit] = None
    return tuple(found)


def forget_permits(log: Log, root: Path, permits: tuple[Permit, ...]) -> None:
    """Ask again from now on about what was allowed for good."""
    with Session(log, new_id()) as session:
        session.emit(RunStarted("ask again about commands", str(root), "", ""))
        for permit in permits:
            text = f"Ask again: {permit.pattern}"
            question = Question(
                new_id(), "tool", text, (ASK_AGAIN,), effect=permit.effect, pattern=permit.pattern
            )
            session.emit(Asked(question))
            session.emit(Answered(question.id, Answer(ASK_AGAIN)))
        session.emit(RunEnded("done", "kith asks about these again."))
