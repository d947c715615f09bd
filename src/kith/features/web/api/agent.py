"""One question, one answer: the client keeps the conversation, and the server keeps nothing but its log."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Request, Response
from msgspec import Struct, field
from pydantic import AliasChoices, Field
from typing_extensions import TypedDict

from kith.core.codec import encode
from kith.core.events import Called, Event, Forked, Said, TodoSet, ToolBegan
from kith.core.values import Message, Question, Text, Thinking, TodoItem, say
from kith.features.web.api import versioned
from kith.features.web.api.dependencies import OneDesk, who
from kith.features.web.api.schemas import (
    MOST_WORDS,
    Asked,
    Check,
    File,
    ListedTodo,
    Name,
    Sent,
    Words,
    answer,
    chosen_flags,
    file_of,
    problems,
    question_of,
)
from kith.features.web.desk import Desk, SessionState, last_change, session_state, settle
from kith.memory.inbox import Letter
from kith.memory.log import Log
from kith.memory.receipt import describe_run
from kith.view.items import ClosingWords, CouncilTalk, Item, ModelStep, ToolUse, fold_items
from kith.view.wording import question_text

# A model's work as steps: its thoughts, the tool that it used, the answer of that tool.


class Action(TypedDict):
    """A tool, as it was called."""

    tool: str
    args: Mapping[str, Any]


class Step(TypedDict):
    """One step, numbered from 1; `tokens` were computed for it, `seconds` are the model's and the tool's.

    `tasks` is the model's list after the step.
    """

    number: int
    thought: str
    action: Action | None
    observation: str
    ok: bool
    seconds: float
    tokens: int
    tasks: list[ListedTodo]


class TaskStory(Struct):
    """A task in steps, and the last words that the model said of it."""

    steps: list[Step] = field(default_factory=list)
    tasks: list[ListedTodo] = field(default_factory=list)
    summary: str = ""
    _ids: dict[str, int] = field(default_factory=dict)  # by the text of a line
    _lists: dict[str, list[ListedTodo]] = field(default_factory=dict)  # after each call that set one

    def tell(self, told: Iterable[tuple[Event, tuple[str, ...]]]) -> "TaskStory":
        """Fold the events of a task, with their paths, into steps."""
        events, call = [each for each in told if not isinstance(each[0], Forked)], ""
        for event, _ in events:
            if isinstance(event, ToolBegan):
                call = event.call_id
            elif isinstance(event, TodoSet):
                self._lists[call] = [self._line(each) for each in event.items]
        for item in fold_items(events):
            self._add(item)
        return self

    def _line(self, item: TodoItem) -> ListedTodo:
        id = self._ids.setdefault(item.text, len(self._ids) + 1)
        return ListedTodo(id=id, text=item.text, state=item.state)

    def _add(self, item: Item) -> None:
        match item:
            case ModelStep(called=called, message=Message() as message, tools=tools) if called or tools:
                self.summary = message.text.strip() or self.summary
                self._take(message, called, tools)
            case ClosingWords(message=message):
                self.summary = message.text.strip() or self.summary
            case CouncilTalk(events=talk):
                messages = [event.message for event in talk if isinstance(event, Said)]
                for each in messages:
                    if each.role == "assistant":
                        self._step(_thought(each))

    def _take(self, message: Message, called: Called | None, tools: Sequence[ToolUse]) -> None:
        """Add a reply as steps: one for each tool it uses, one for mere words."""
        uses: Sequence[ToolUse | None] = tools or (None,)
        for number, use in enumerate(uses):
            if use and use.call:
                self.tasks = self._lists.get(use.call.id, self.tasks)
            step = self._step(_thought(message) if number == 0 else "")
            if called and number == 0:
                step["seconds"], step["tokens"] = called.timing.total_s, called.computed
            if use and use.call:
                step["action"] = Action(tool=use.call.name, args=encode(use.call.args))
            if use and use.ended:
                step["seconds"] += use.ended.seconds
            if use and use.result:
                step["observation"], step["ok"] = use.result.text, use.result.ok
            step["seconds"] = round(step["seconds"], 3)

    def _step(self, thought: str) -> Step:
        self.steps.append(
            Step(
                number=len(self.steps) + 1,
                thought=thought,
                action=None,
                observation="",
                ok=True,
                seconds=0.0,
                tokens=0,
                tasks=self.tasks,
            )
        )
        return self.steps[-1]


def _thought(message: Message) -> str:
    """A model's thoughts and words."""
    thoughts = [part.text for part in message.parts if isinstance(part, Thinking) and part.text.strip()]
    return "\n\n".join(filter(None, (*thoughts, message.text)))


KEPT: Final = 20  # of the conversation before, at least so many of the newest turns
_BEFORE: Final = "(Earlier turns are left out.)"
_DROPPED: Final = 10  # at once, so that a growing conversation begins alike for ten requests
_routes = APIRouter(tags=["agent"])


class Turn(Sent):
    """One earlier message: its words and its author."""

    role: Literal["user", "assistant", "system", "tool"]
    content: Annotated[str, Field(max_length=MOST_WORDS)]


class TaskLimits(Sent):
    """Limits of one task; those left out are as configured."""

    steps: Annotated[int, Field(ge=1, le=10_000)] | None = None
    tokens: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    seconds: Annotated[float, Field(ge=1, le=86_400, allow_inf_nan=False)] | None = None

    def flags(self) -> dict[str, Any]:
        """The limits as settings."""
        named = {"max_steps": self.steps, "max_task_tokens": self.tokens, "max_task_seconds": self.seconds}
        return {name: value for name, value in named.items() if value is not None}


class AgentTask(Sent):
    """A task, with the conversation so far: the client's own, since the server keeps none for it.

    `toolType` and `contextHistory` are other names of `tool` and `context`.
    """

    prompt: Words
    tool: Name = Field(
        "",
        validation_alias=AliasChoices("tool", "toolType"),
        description="The tool to use first; empty: the model chooses.",
    )
    context: list[Turn] = Field(
        [],
        max_length=10_000,
        validation_alias=AliasChoices("context", "contextHistory"),
        description="What was said before, oldest first. The newest 20 to 29 turns are kept.",
    )
    model: Name = Field("", description="As `kith -m` takes it; empty: as it is configured.")
    read_only: bool = False
    check: Check | None = Field(
        None, description="Commands that decide about the change; `none`: nothing does."
    )
    limits: TaskLimits = TaskLimits()
    timeout_s: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] = Field(
        600.0, description="How long to wait for the answer; the task goes on after that."
    )
    project: Name = Field("", description="One of /projects; empty: the first.")


class Done(TypedDict):
    """The result of a task. A `question` waits for a yes at /sessions/{id}/answers/{question}."""

    tasks: list[ListedTodo]
    steps: list[Step]
    changes: list[File]
    session: str
    question: Asked | None
    receipt: dict[str, Any]


class Outcome(TypedDict):
    """`success`: it is done, or waits for a yes; else `error` says why. `message` is the model's summary."""

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
async def do_task(desk: OneDesk, body: AgentTask, request: Request) -> Response:
    flags = desk.flags | chosen_flags(body.model, body.read_only, body.check) | body.limits.flags()
    history = as_messages(body.context)
    letter = Letter(body.prompt, who(request), tool=body.tool, flags=flags, history=history)
    session = desk.begin(desk.project(body.project), letter)
    question = await settle(desk, session, body.timeout_s)
    return answer(await _outcome(desk, session, question, body.timeout_s))


def as_messages(context: Sequence[Turn]) -> tuple[Message, ...]:
    """The newest turns as messages of a chat, a person's first and in alternation, as templates want them."""
    begin = max(0, len(context) - KEPT) // _DROPPED * _DROPPED
    spoken: list[tuple[str, str]] = []
    for turn in context[begin:]:
        role = "assistant" if turn.role == "assistant" else "user"
        words = turn.content if turn.role in ("assistant", "user") else f"[{turn.role}]\n{turn.content}"
        if spoken and spoken[-1][0] == role:
            spoken[-1] = role, f"{spoken[-1][1]}\n\n{words}"
        elif words.strip():
            spoken.append((role, words))
    if spoken and spoken[0][0] == "assistant":
        spoken.insert(0, ("user", _BEFORE))
    return tuple(
        say(words) if role == "user" else Message("assistant", (Text(words),)) for role, words in spoken
    )


async def _outcome(desk: Desk, session: str, question: Question | None, seconds: float) -> Outcome:
    stands = session_state(desk.log, session)
    story, receipt = await asyncio.to_thread(_told, desk.log.path, session)
    data = Done(
        tasks=story.tasks,
        steps=story.steps,
        changes=[file_of(file) for file in last_change(desk, session)[1]],
        session=session,
        question=question_of(question),
        receipt=receipt,
    )
    why = _why(stands, seconds, desk.is_working(session))
    error = None if question or stands.status == "done" else why
    summed_up = question or stands.status == "done"
    message = (story.summary if summed_up else "") or (question_text(question) if question else stands.text)
    return Outcome(success=error is None, message=message, data=data, error=error)


def _why(stands: SessionState, seconds: float, working: bool) -> str:
    if stands.status == "unfinished" and not working:
        return "The process died before the task was done. A message with `resume` resumes it."
    if stands.status == "unfinished":
        return f"The task is still at work after {seconds:g} s. Its session shows the rest."
    return stands.text


def _told(log: Path, session: str) -> tuple[TaskStory, dict[str, Any]]:
    """The steps and the receipt, read with a connection of its own."""
    with closing(Log(log)) as own:
        told = ((record.event, record.path) for record in own.events(session))
        return TaskStory().tell(told), describe_run(session, own.past(session))


router = versioned(_routes)
