"""One question, one answer: the client keeps the conversation, and the server keeps nothing but its log."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Request, Response
from pydantic import Field
from typing_extensions import TypedDict

from kith.core.codec import encode
from kith.core.events import Called, Event, Said
from kith.core.values import Message, Question, Thinking
from kith.features.web.api import versioned
from kith.features.web.api.dependencies import OneDesk, who
from kith.features.web.api.schemas import (
    MOST_WORDS,
    Asked,
    Check,
    File,
    Name,
    Sent,
    Todo,
    Words,
    answer,
    chosen_flags,
    file_of,
    problems,
    question_of,
    todo_of,
)
from kith.features.web.desk import Desk, SessionState, last_change, session_state, settle, todo_list
from kith.memory.inbox import Letter
from kith.memory.log import Log
from kith.memory.receipt import describe_run
from kith.view.items import CouncilTalk, ModelStep, ToolUse, fold_items
from kith.view.markup import quoted
from kith.view.wording import question_text

# A model's work as steps: its thoughts, the tool that it used, the answer of that tool.


class Action(TypedDict):
    """A tool, as it was called."""

    tool: str
    args: Mapping[str, Any]


class Step(TypedDict):
    """One step; `tokens` were computed for it, `seconds` are those of the model and of the tool."""

    thought: str
    action: Action | None
    observation: str
    ok: bool
    seconds: float
    tokens: int


def steps_of(told: Iterable[tuple[Event, tuple[str, ...]]]) -> list[Step]:
    """The steps that the events of a task, with their paths, tell of, in order."""
    steps: list[Step] = []
    for item in fold_items(told):
        match item:
            case ModelStep(called=called, message=Message() as message, tools=tools) if called or tools:
                steps += _taken(message, called, tools)
            case CouncilTalk(events=talk):
                messages = [event.message for event in talk if isinstance(event, Said)]
                steps += [_step(_thought(each)) for each in messages if each.role == "assistant"]
    return steps


def _taken(message: Message, called: Called | None, tools: Sequence[ToolUse]) -> Iterator[Step]:
    """A reply as steps: one for each tool it uses, one for mere words."""
    uses: Sequence[ToolUse | None] = tools or (None,)
    for number, use in enumerate(uses):
        step = _step(_thought(message) if number == 0 else "")
        if called and number == 0:
            step["seconds"], step["tokens"] = called.timing.total_s, called.computed
        if use and use.call:
            step["action"] = Action(tool=use.call.name, args=encode(use.call.args))
        if use and use.ended:
            step["seconds"] += use.ended.seconds
        if use and use.result:
            step["observation"], step["ok"] = use.result.text, use.result.ok
        step["seconds"] = round(step["seconds"], 3)
        yield step


def _thought(message: Message) -> str:
    """A model's thoughts and words."""
    thoughts = [part.text for part in message.parts if isinstance(part, Thinking) and part.text.strip()]
    return "\n\n".join(filter(None, (*thoughts, message.text)))


def _step(thought: str) -> Step:
    return Step(thought=thought, action=None, observation="", ok=True, seconds=0.0, tokens=0)


KEPT: Final = 20  # of the conversation before, the newest turns
_routes = APIRouter(tags=["agent"])


class Turn(Sent):
    """What was said before, and by whom."""

    role: Literal["user", "assistant", "system", "tool"]
    content: Annotated[str, Field(max_length=MOST_WORDS)]


class Wanted(Sent):
    """A task, with the conversation so far: the client's own, since the server keeps none for it."""

    prompt: Words
    tool: Name = Field("", description="The tool to use first; empty: the model chooses.")
    context: list[Turn] = Field([], max_length=10_000, description="The newest 20 are kept.")
    model: Name = Field("", description="As `kith -m` takes it; empty: as it is configured.")
    read_only: bool = False
    check: Check | None = Field(
        None, description="Commands that decide about the change; `none`: nothing does."
    )
    timeout_s: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] = 600.0
    project: Name = Field("", description="One of /projects; empty: the first.")


class Done(TypedDict):
    """What came of a task. A `question` waits for a yes at /sessions/{id}/answers/{question}."""

    tasks: list[Todo]
    steps: list[Step]
    changes: list[File]
    session: str
    question: Asked | None
    receipt: dict[str, Any]


class Outcome(TypedDict):
    """`success`: it is done, or waits for a yes; else `error` says in a sentence why not."""

    success: bool
    message: str
    data: Done
    error: str | None


@_routes.post(
    "/agent",
    summary="Do a task, and answer when it is done or waits for a yes",
    description="Stateless: the whole conversation comes with the request, and only the log remembers it.",
    response_model=Outcome,
    responses=problems(),
)
async def do_task(desk: OneDesk, body: Wanted, request: Request) -> Response:
    words = render(body.context, body.prompt)
    flags = desk.flags | chosen_flags(body.model, body.read_only, body.check)
    session = desk.begin(desk.project(body.project), Letter(words, who(request), tool=body.tool, flags=flags))
    question = await settle(desk, session, body.timeout_s)
    return answer(await _outcome(desk, session, question, body.timeout_s))


def render(context: Sequence[Turn], prompt: str) -> str:
    """The words of a task that goes on with a conversation."""
    if not context:
        return prompt
    said = "\n\n".join(f"{turn.role}:\n{quoted(turn.content)}" for turn in context[-KEPT:])
    return f"{prompt}\n\n# What was said before\n\n{said}"  # first what the session is called after


async def _outcome(desk: Desk, session: str, question: Question | None, seconds: float) -> Outcome:
    stands = session_state(desk.log, session)
    steps, receipt = await asyncio.to_thread(_told, desk.log.path, session)
    data = Done(
        tasks=todo_of(todo_list(desk.log, session)),
        steps=steps,
        changes=[file_of(file) for file in last_change(desk, session)[1]],
        session=session,
        question=question_of(question),
        receipt=receipt,
    )
    why = _why(stands, seconds, desk.is_working(session))
    error = None if question or stands.status == "done" else why
    message = question_text(question) if question else stands.text
    return Outcome(success=error is None, message=message, data=data, error=error)


def _why(stands: SessionState, seconds: float, working: bool) -> str:
    if stands.status == "unfinished" and not working:
        return "Its process has died before it was done; a message with `resume` goes on."
    if stands.status == "unfinished":
        return f"It is still at work after {seconds:g} s; its session tells how it goes on."
    return stands.text


def _told(log: Path, session: str) -> tuple[list[Step], dict[str, Any]]:
    """The steps and the receipt, read with a connection of its own."""
    with closing(Log(log)) as own:
        told = ((record.event, record.path) for record in own.events(session))
        return steps_of(told), describe_run(session, own.past(session))


router = versioned(_routes)
