"""Answers to questions: the first one counts, wherever it was given."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from kith.core.values import Answer, Kept, Question
from kith.edits.pieces import pieces_of
from kith.features.web.api import versioned
from kith.features.web.api.dependencies import Id, OneDesk, found, who
from kith.features.web.api.schemas import Answered, GivenAnswer, KeptPieces, answer, problems
from kith.features.web.desk import Desk
from kith.features.web.problems import Refused
from kith.features.web.session_state import was_asked
from kith.memory.inbox import Inbox

_routes = APIRouter(tags=["sessions"])
QuestionId = Annotated[str, Path(description="A question's id.", max_length=2_000)]


@_routes.post(
    "/sessions/{id}/answers/{question}",
    summary="Answer a question; the first answer counts",
    description="`some` keeps the pieces that `kept` names, `revise` sends `text` back to the model (with "
    "`kept`: without the other pieces), `edit` answers with an own version of the question's draft. Where "
    "somebody was first, `first` in the problem says who and what.",
    response_model=Answered,
    responses=problems(404, 409, 410),
)
async def answer_question(
    desk: OneDesk, id: Id, question: QuestionId, body: GivenAnswer, request: Request
) -> Response:
    found(desk, id)
    if first := Inbox(desk.log, id).answer_to(question):
        raise _late(first)
    given = _checked(_open(desk, id, question), body, who(request))
    if first := desk.answer(id, question, given):
        raise _late(first)
    return answer(Answered(question=question, choice=given.choice, by=given.by))


def _late(first: Answer) -> Refused:
    by = first.by or "another face"
    said = f"This was answered already, in {by}: {first.choice}."
    return Refused(409, said, first={"choice": first.choice, "by": by})


def _open(desk: Desk, session: str, id: str) -> Question:
    """The question, which somebody waits with. Raises Refused."""
    question = desk.question(session)
    if question and question.id == id:
        return question
    if was_asked(desk.log, session, id):
        raise Refused(410, "Nobody waits for this answer any more.")
    raise Refused(404, "There is no such question in this session.")


def _checked(question: Question, body: GivenAnswer, by: str) -> Answer:
    """The answer, if it is one to this question. Raises Refused."""
    if question.choices and body.choice not in {*question.choices, "no"}:
        raise Refused(422, f"The choices are: {', '.join(question.choices)}.")
    if body.choice == "revise" and not body.text.strip():
        raise Refused(422, "To revise, say in `text` what should be different.")
    if body.choice == "edit" and (question.kind == "change" or not body.text.strip()):
        raise Refused(422, "To edit, send a version of the draft in `text`; a change is revised in words.")
    parts = body.choice == "some" or (body.choice == "revise" and body.kept)
    kept = _kept(question, body.kept) if parts else ()
    return Answer(body.choice, body.text, kept=kept, by=by)


def _kept(question: Question, wanted: Sequence[KeptPieces]) -> tuple[Kept, ...]:
    """The pieces to keep, each of them one of the change. Raises Refused."""
    there = {file.path: len(pieces_of(file)) for file in question.files}
    if len({each.path for each in wanted}) != len(wanted):
        raise Refused(422, "Each file stands in `kept` once.")
    for each in wanted:
        if each.path not in there:
            raise Refused(422, "`kept` names a file that is not part of this change.")
        if strange := [number for number in each.hunks if number >= there[each.path]]:
            raise Refused(
                422, f"The pieces of this file count from 0 to {there[each.path] - 1}, not {strange[0]}."
            )
    if not any(each.hunks for each in wanted):
        raise Refused(422, "`some` needs at least one piece in `kept`; to keep nothing, choose none.")
    return tuple(Kept(each.path, tuple(sorted(set(each.hunks)))) for each in wanted)


router = versioned(_routes)
