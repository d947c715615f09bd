"""The handle every workflow, tool and gate receives, and the one mutable thing: a conversation."""

import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from kith.core.events import Answered, Asked, Event, Said, Stepped
from kith.core.values import Answer, Changes, Message, Question, ToolCall, Verdict
from kith.core.workspace import ExecLimits, Workspace

Sink = Callable[[Event, tuple[str, ...]], None]
Answerer = Callable[[Question], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Limits:
    """Budgets of one run."""

    steps: int = 50  # model calls of one loop
    tries: int = 3  # attempts that gates may send back
    exec: ExecLimits = ExecLimits()


@dataclass(frozen=True, slots=True)
class Run:
    """Where to tell (`sink`), whom to ask (`answerer`), what to work on, how much, and where we are.

    A new field needs a written reason.
    """

    sink: Sink
    answerer: Answerer
    workspace: Workspace
    limits: Limits = Limits()
    path: tuple[str, ...] = ()

    def emit(self, event: Event) -> None:
        self.sink(event, self.path)

    async def ask(self, question: Question) -> Answer:
        """Put a question to the person; both it and the answer are in the log."""
        self.emit(Asked(question))
        answer = await self.answerer(question)
        self.emit(Answered(question.id, answer))
        return answer

    @contextmanager
    def step(self, name: str) -> Iterator["Run"]:
        """A named part of the work; events inside carry its path."""
        inner, began = replace(self, path=(*self.path, name)), time.monotonic()
        inner.emit(Stepped(name, "began"))
        try:
            yield inner
        except BaseException:
            inner.emit(Stepped(name, "failed", time.monotonic() - began))
            raise
        inner.emit(Stepped(name, "ended", time.monotonic() - began))

    def inside(self, workspace: Workspace) -> "Run":
        """The same run, on another tree."""
        return replace(self, workspace=workspace)


# A gate looks at a change, made in the trial that `run.workspace` is, and says yes, or no and why.
Gate = Callable[[Run, Changes], Awaitable[Verdict]]


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
    def finished(self) -> bool:
        """True when the model has nothing more to do until somebody speaks."""
        if not self._messages or self.pending:
            return False
        last = self._messages[-1]
        return last.role == "assistant" or any(result.detail.get("final") for result in last.results)

    @property
    def last_words(self) -> str:
        """What the model said at the end: its closing summary, or its last text."""
        if not self._messages:
            return ""
        for result in self._messages[-1].results:
            if result.detail.get("final"):
                return result.text
        return next((m.text for m in reversed(self._messages) if m.role == "assistant" and m.text), "")


def new_id() -> str:
    """A short random name for sessions, calls and questions."""
    return uuid.uuid4().hex[:12]
