"""Start, steer, answer, stop and undo sessions, and tell their results."""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as PathParameter

from kith.agent.project import Project as Known
from kith.agent.waiting_changes import discard_waiting, find_waiting
from kith.core.errors import BusyError, TreeError, UsageError
from kith.core.trial_names import trials_of
from kith.core.values import Answer, Kept, Question
from kith.edits import summarise
from kith.edits.pieces import pieces_of
from kith.features.web.api import versioned
from kith.features.web.api.dependencies import Id, OneDesk, OneProject, found, who
from kith.features.web.api.schemas import (
    Answered,
    Begun,
    Diff,
    Discarded,
    GivenAnswer,
    KeptPieces,
    Message,
    NewSession,
    Project,
    Projects,
    SessionLine,
    SessionList,
    SessionNow,
    Stopped,
    TodoList,
    Undone,
    Wanted,
    answer,
    file_of,
    problems,
    question_of,
    todo_of,
)
from kith.features.web.desk import Desk, last_change, session_state, todo_list, was_asked
from kith.features.web.problems import Refused
from kith.memory.inbox import Inbox, Letter
from kith.memory.log import Log
from kith.memory.receipt import describe_run

_OF_A_TASK: Final = ("check", "model", "read_only")  # settings that it goes on with
_routes = APIRouter(tags=["sessions"])


@_routes.get(
    "/projects", summary="The projects that this server serves", response_model=Projects, responses=problems()
)
async def list_projects(desk: OneDesk) -> Response:
    named = [Project(name=name, root=str(each.root)) for name, each in desk.projects.items()]
    return answer(Projects(projects=named))


@_routes.get(
    "/sessions",
    summary="The newest sessions of a project",
    response_model=SessionList,
    responses=problems(),
)
async def list_sessions(
    desk: OneDesk,
    project: OneProject = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Response:
    found_here = desk.sessions(project, limit)
    waiting = desk.waiting(each.id for each in found_here)
    lines = [
        SessionLine(
            id=each.id,
            task=each.task,
            model=each.model,
            at=each.at,
            status=each.status,
            working=desk.is_working(each.id),
            waiting=each.id in waiting,
        )
        for each in found_here
    ]
    return answer(SessionList(sessions=lines))


@_routes.post(
    "/sessions",
    summary="Begin a session with its first task",
    status_code=201,
    response_model=Begun,
    responses=problems(),
)
async def begin_session(desk: OneDesk, body: NewSession, request: Request) -> Response:
    session = desk.begin(desk.project(body.project), _letter(body, who(request), desk.flags))
    place = f"{request.url.path}/{session}"
    return answer(Begun(session=session, position="0"), 201, {"Location": place})


@_routes.get(
    "/sessions/{id}",
    summary="How a session stands",
    response_model=SessionNow,
    responses=problems(404),
)
async def show_session(desk: OneDesk, id: Id) -> Response:
    project, position = found(desk, id), desk.log.last(id)
    stands = session_state(desk.log, id)
    return answer(
        SessionNow(
            id=id,
            project=next(name for name, each in desk.projects.items() if each is project),
            task=stands.task,
            model=stands.model,
            status=stands.status,
            text=stands.text,
            working=desk.is_working(id),
            resumable=desk.is_resumable(id),
            waiting=desk.is_waiting(id),
            question=question_of(desk.question(id)),
            todo=todo_of(todo_list(desk.log, id)),
            position=str(position),
        )
    )


@_routes.post(
    "/sessions/{id}/messages",
    summary="Say something: it steers the model at work, else it is the next task; or go on after an end",
    status_code=202,
    response_model=Begun,
    responses=problems(404, 409),
)
async def say(desk: OneDesk, id: Id, body: Message, request: Request) -> Response:
    project, position = found(desk, id), desk.log.last(id)
    if not (body.resume or body.words.strip()):
        raise Refused(422, "Say something in `words`, or set `resume` to go on with what was cut short.")
    if body.resume:
        _go_on(desk, project, id, body, who(request))
    if body.words.strip():
        desk.write(project, id, _letter(body, who(request), desk.flags))
    return answer(Begun(session=id, position=str(position)), 202)


@_routes.post(
    "/sessions/{id}/cancel",
    summary="Stop whoever works on a session, as Ctrl-C does",
    status_code=202,
    response_model=Stopped,
    responses=problems(404, 409),
)
async def cancel(desk: OneDesk, id: Id, request: Request) -> Response:
    found(desk, id)
    if not desk.is_working(id):
        raise Refused(409, "Nobody works on this session now.")
    desk.stop(id, who(request))
    return answer(Stopped(session=id), 202)


@_routes.post(
    "/sessions/{id}/undo",
    summary="Take the last change of a session back",
    response_model=Undone,
    responses=problems(404, 409),
)
async def undo(desk: OneDesk, id: Id) -> Response:
    try:
        undone = await found(desk, id).undo(id)
    except (UsageError, TreeError) as error:
        raise Refused(409, f"{str(error).rstrip('.')}.") from None
    files = [file_of(file) for file in undone.files]
    return answer(Undone(change=undone.change_id, undoes=undone.undoes, files=files))


@_routes.post(
    "/sessions/{id}/apply",
    summary="Check the change that waits in a session again, ask, and apply it",
    status_code=202,
    response_model=Begun,
    responses=problems(404, 409),
)
async def apply(desk: OneDesk, id: Id, request: Request) -> Response:
    project, position = found(desk, id), desk.log.last(id)
    _check_waiting(desk, id)
    desk.write(project, id, Letter("", who(request), "apply", flags=dict(desk.flags)))
    return answer(Begun(session=id, position=str(position)), 202)


@_routes.post(
    "/sessions/{id}/discard",
    summary="Throw away the change that waits in a session",
    response_model=Discarded,
    responses=problems(404, 409),
)
async def discard(desk: OneDesk, id: Id) -> Response:
    project = found(desk, id)
    _check_waiting(desk, id)
    try:
        changes = await discard_waiting(project, await find_waiting(project, trials_of(id)))
    except (UsageError, TreeError, BusyError) as error:
        raise Refused(409, f"{str(error).rstrip('.')}.") from None
    return answer(Discarded(files=[file_of(file) for file in summarise(changes)]))


def _check_waiting(desk: Desk, id: str) -> None:
    """Raises Refused where no change waits, or the session is at work."""
    if not desk.is_waiting(id):
        at_work = desk.is_working(id)
        raise Refused(409, "The session is at work." if at_work else "No change waits in this session.")


def _go_on(desk: Desk, project: Known, id: str, body: Message, by: str) -> None:
    """Let a worker resume the last task. Raises Refused where there is none to resume."""
    if not desk.is_resumable(id):
        at_work = desk.is_working(id)
        raise Refused(409, "It is at work already." if at_work else "There is nothing to go on with here.")
    given = {key: value for key, value in desk.flags.items() if key not in _OF_A_TASK}
    desk.write(project, id, Letter("", by, flags=body.flags(given), resume=True))


def _letter(body: Wanted, by: str, given: dict[str, object]) -> Letter:
    images = tuple(each.read() for each in body.images)
    return Letter(body.words, by, body.kind, body.plan, body.tool, body.flags(given), images=images)


# What came of a session's last task: its change, the model's list, the receipt.

_DIFF: Final[dict[str, Any]] = {"content": {"text/x-diff": {"schema": {"type": "string"}}}}


@_routes.get(
    "/sessions/{id}/diff",
    summary="The change of the last task: one that waits for an answer or is kept, or what became of it",
    response_model=Diff,
    responses={200: _DIFF, **problems(404)},
)
async def diff(
    desk: OneDesk,
    id: Id,
    format: Annotated[Literal["json", "text"], Query(description="text: one unified diff.")] = "json",
) -> Response:
    found(desk, id)
    state, files = last_change(desk, id)
    if format == "text":
        text = "".join(file.diff for file in files).encode("utf-8", "surrogateescape")
        return Response(text, media_type="text/x-diff")
    return answer(Diff(state=state, files=[file_of(file) for file in files]))


@_routes.get(
    "/sessions/{id}/todo", summary="The model's list", response_model=TodoList, responses=problems(404)
)
async def todo(desk: OneDesk, id: Id) -> Response:
    found(desk, id)
    return answer(TodoList(items=todo_of(todo_list(desk.log, id))))


@_routes.get(
    "/sessions/{id}/receipt",
    summary="What was really done: commands and exit codes, checks before and after, tokens, seconds, money",
    response_model=dict[str, Any],
    responses=problems(404),
)
async def receipt(desk: OneDesk, id: Id) -> Response:
    project = found(desk, id)
    receipt = await asyncio.to_thread(receipt_of, desk.log.path, id)
    return answer(receipt | {"waiting": None if desk.is_working(id) else project.waiting_in(id)})


def receipt_of(log: Path, session: str) -> dict[str, Any]:
    """The receipt of a session's last task; a long session takes a while, so with a connection of its own."""
    with closing(Log(log)) as own:
        return describe_run(session, own.past(session))


# Answers to questions: the first one counts, wherever it was given.

QuestionId = Annotated[str, PathParameter(description="A question's id.", max_length=2_000)]


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
