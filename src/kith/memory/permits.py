"""Lasting words of a person, read from the log: consents, permits, and folders that they trust."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from kith.core.codec import decode
from kith.core.events import Answered, Asked, RunEnded, RunStarted
from kith.core.run import new_id
from kith.core.values import Answer, Consent, Effect, FolderFiles, Question
from kith.memory.log import LOG_FILE, Log
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


class Permit(Struct, frozen=True):
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


# What a person said of the files that a folder brings along: read from their answers in the log.


YES: Final = "yes"
NO: Final = "no"
FORGET: Final = "forget"  # all that was said of the folder


class FolderRuling(Struct, frozen=True):
    """A person's answer about a folder's files as they were: with which digest, in which session."""

    digest: str
    choice: str
    session: str
    question: str


def said_of(log: Log, root: Path) -> tuple[FolderRuling, ...]:
    """Return the decisions about a folder since they were last reset, oldest first."""
    return everything_said(log).get(str(root), ())


def standing_of(state: Path, root: Path, digest: str) -> Literal["new", "changed", "declined", "trusted"]:
    """Return the state of a folder's files as they are now. Raises KithError where the log is broken."""
    said = said_of(Log(state / LOG_FILE), root) if (state / LOG_FILE).is_file() else ()
    choice = {each.digest: each.choice for each in said}.get(digest)
    if choice is not None:
        return "trusted" if choice == YES else "declined"
    return "changed" if last_trusted(said) else "new"


def everything_said(log: Log) -> Mapping[str, tuple[FolderRuling, ...]]:
    """Return the decisions about every folder."""
    found: dict[str, tuple[FolderRuling, ...]] = {}
    for session, place, id, files, choice in log.answers(FolderFiles):
        if choice == FORGET:
            found.pop(place, None)
        else:
            found[place] = (*found.get(place, ()), FolderRuling(files.digest, choice, session, id))
    return found


def last_trusted(said: tuple[FolderRuling, ...]) -> FolderRuling | None:
    """The newest yes that no later no to the same files revoked."""
    final = {each.digest: each for each in said}
    return next((each for each in reversed(said) if final[each.digest] is each and each.choice == YES), None)


def ruling_on(said: tuple[FolderRuling, ...], digest: str) -> FolderRuling | None:
    """The last answer about files with this digest."""
    return next((each for each in reversed(said) if each.digest == digest), None)


def texts_of(log: Log, said: FolderRuling) -> dict[str, str]:
    """The files as they were shown for an answer, as far as the log holds them: path -> text."""
    for record in log.events(said.session, kinds=("Asked",)):
        if isinstance(record.event, Asked) and record.event.question.id == said.question:
            return {file.path: _text(file.diff) for file in record.event.question.files}
    return {}


def _text(diff: str) -> str:
    """The text of a file that a diff makes out of nothing."""
    body = diff.partition("\n@@")[2].partition("\n")[2]
    text = "".join(f"{line[1:]}\n" for line in body.split("\n") if line.startswith("+"))
    return text.removesuffix("\n") if "\n\\ No newline" in body else text
