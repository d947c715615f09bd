"""The handle every workflow, tool and gate receives, and the one mutable thing: a conversation."""

import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.core.events import Answered, Asked, Event, Said, Stepped
from kith.core.non_answers import is_answer
from kith.core.values import Answer, Changes, Message, Plan, Question, ToolCall, Verdict
from kith.core.workspace import ExecLimits, Workspace

Sink = Callable[[Event, tuple[str, ...]], None]
Answerer = Callable[[Question], Awaitable[Answer]]
Hear = Callable[[], Iterable[str]]


async def answer_no(question: Question) -> Answer:
    """Answer for nobody: a run that only reads asks nothing."""
    return Answer("no")


def nobody_speaks() -> Iterable[str]:
    """Return no messages: nobody can steer this run."""
    return ()


class Limits(Struct, frozen=True):
    """Budgets of one run."""

    steps: int = 50  # model calls of one loop
    tries: int = 3  # attempts that gates may send back
    exec: ExecLimits = ExecLimits()


class Run(Struct, frozen=True):
    """The context of a run: event sink, answerer, workspace, limits and path.

    A new field needs a written reason. `hear` gives the person's messages since the last call, so that any
    workflow can add them to its conversation. A message counts as heard once it is added. `trial_name` names
    the trial that keeps a change of this run until it is applied ("": none). Every workflow keeps it there.
    `plan` is the agreed plan, which the question about the change compares with the change.
    """

    sink: Sink
    answerer: Answerer
    workspace: Workspace
    limits: Limits = Limits()
    path: tuple[str, ...] = ()
    hear: Hear = nobody_speaks
    trial_name: str = ""
    plan: Plan | None = None

    def emit(self, event: Event) -> None:
        self.sink(event, self.path)

    async def ask(self, question: Question) -> Answer:
        """Put a question to the person; it and the answer are logged, without the contents of files."""
        self.emit(Asked(replace(question, changes=())))
        answer = await self.answerer(question)
        self.emit(Answered(question.id, replace(answer, changes=None), question.subject))
        return answer

    @contextmanager
    def step(self, name: str, *, kind: str = "", task: str = "", attempt: int = 0) -> Iterator["Run"]:
        """A named part of the work; events inside carry its path. Its name is its kind if none is given."""
        inner, began = replace(self, path=(*self.path, name)), time.monotonic()
        step = Stepped(name, "began", kind=kind or name, task=task, attempt=attempt)
        inner.emit(step)
        try:
            yield inner
        except BaseException:
            inner.emit(replace(step, state="failed", seconds=time.monotonic() - began))
            raise
        inner.emit(replace(step, state="ended", seconds=time.monotonic() - began))

    def inside(self, workspace: Workspace) -> "Run":
        """The same run, on another tree."""
        return replace(self, workspace=workspace)


# A gate looks at a change, made in the trial that `run.workspace` is, and says yes, or no and why.
Gate = Callable[[Run, Changes], Awaitable[Verdict]]


def quiet_run(workspace: Workspace, limits: Limits | None = None) -> Run:
    """A run that only reads: it tells nobody, and asks nobody."""
    return Run(lambda event, path: None, answer_no, workspace, limits or Limits())


class Thread:
    """One conversation. `add` is the only way to grow it, and it writes the log first."""

    def __init__(self, name: str, messages: Sequence[Message] = ()) -> None:
        self.name = name
        self._messages = list(messages)

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self._messages)

    def add(self, run: Run, *messages: Message) -> None:
        for message in messages:
            run.emit(Said(self.name, message))
            self._messages.append(message)

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        """Calls that nobody answered yet."""
        last = next((m for m in reversed(self._messages) if m.role == "assistant"), None)
        answered = {result.call_id for message in self._messages for result in message.results}
        return tuple(call for call in last.calls if call.id not in answered) if last else ()

    @property
    def replies(self) -> tuple[Message, ...]:
        """The model's replies since the last message of somebody else."""
        said: list[Message] = []
        for message in reversed(self._messages):
            if message.role == "user" and message.author != "kith":
                break
            if message.role == "assistant" and message.author != "kith":
                said.append(message)
        return tuple(reversed(said))

    @property
    def finished(self) -> bool:
        """True when the model has said its last word, and nothing is left to do until somebody speaks."""
        last = self._messages[-1] if self._messages else None
        if last is None or last.role != "assistant" or not last.complete:
            return False
        if self.pending:
            return False
        return bool(last.text.strip()) if last.author == "kith" else is_answer(last.text, self._request)

    @property
    def _request(self) -> str:
        """The person's last words."""
        asked = (each for each in reversed(self._messages) if (each.role, each.author) == ("user", "person"))
        return next((each.text for each in asked), "")

    @property
    def summary(self) -> str:
        """The summary passed to a tool that ends the loop, until somebody speaks after it; else ""."""
        for message in reversed(self._messages):
            if message.role != "tool":
                return ""
            for result in message.results:
                if result.detail.get("final"):
                    return str(result.detail.get("summary") or result.text or "(done)")
        return ""

    @property
    def last_words(self) -> str:
        """The model's last message, "" while it is not finished."""
        return self._messages[-1].text if self.finished else ""


SHORT: Final = 6  # characters of an id that people see and type


def short_session(id: str) -> str:
    """A session's id as people see and type it."""
    return id[:SHORT]


def new_id() -> str:
    """A short random name for sessions, calls and questions."""
    return uuid.uuid4().hex[:12]
