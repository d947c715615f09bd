"""Session items as updates for an editor, sent in order: while they happen, or again from the log."""

import asyncio
import re
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from acp.helpers import (
    plan_entry,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_user_message_text,
)
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    Cost,
    CurrentModeUpdate,
    PlanEntryStatus,
    SessionInfoUpdate,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
    UserMessageChunk,
)
from msgspec import Struct, field

from kith.core.events import Called, Delta, Event, Notice, RunEnded, Said
from kith.core.run import new_id
from kith.core.values import Message, Plan, Thinking, TodoItem
from kith.features.editors import tool_calls
from kith.view.items import (
    AskedQuestion,
    CouncilTalk,
    GateVerdict,
    Item,
    Items,
    ModelStep,
    Note,
    PersonSpoke,
    RunResult,
    TaskBegun,
    TodoList,
    ToolUse,
    WorkPlan,
)
from kith.view.printing import printable
from kith.view.wording import line_of, plan_text

# What an editor is to see of a session, in order; it never holds up who works on the session.

Chunk = AgentMessageChunk | AgentThoughtChunk | UserMessageChunk
Update = (
    Chunk
    | AgentPlanUpdate
    | AvailableCommandsUpdate
    | ConfigOptionUpdate
    | CurrentModeUpdate
    | SessionInfoUpdate
    | ToolCallProgress
    | ToolCallStart
    | UsageUpdate
)


class Outbox(Struct):
    """The updates of one session on their way; pieces of a text that wait together are sent as one."""

    client: Any  # acp's AgentSideConnection
    session: str
    _waiting: deque[Update] = field(default_factory=deque)
    _sending: asyncio.Task[None] | None = None

    def put(self, update: Update) -> None:
        """Send an update soon, after those before it."""
        last = self._waiting[-1] if self._waiting else None
        if isinstance(last, Chunk) and type(last) is type(update) and (more := text_of(update)):
            _extend(last, more)
        else:
            self._waiting.append(update)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._send())

    async def flush(self) -> None:
        """Wait until all that was put has been sent."""
        while self._sending and not self._sending.done():
            await asyncio.wait([self._sending])

    async def _send(self) -> None:
        while self._waiting:
            update = self._waiting.popleft()
            try:
                await self.client.session_update(self.session, update)
            except ConnectionError:  # the editor is gone; the log holds it all
                self._waiting.clear()


def text_of(update: Update) -> str:
    """The words of a chunk, "" for other updates."""
    if isinstance(update, Chunk) and isinstance(update.content, TextContentBlock):
        return update.content.text
    return ""


def _extend(chunk: Chunk, more: str) -> None:
    if isinstance(chunk.content, TextContentBlock):
        chunk.content.text += more


_STATES: Final[dict[str, PlanEntryStatus]] = {
    "pending": "pending",
    "active": "in_progress",
    "done": "completed",
}
_NOES: Final = ("no", "none")
_SPOKEN: Final = ("good", "note", "bad")  # styles of lines that a person should read; others are thoughts


class Updates:
    """The one place that knows what of a session an editor was told."""

    def __init__(self, root: Path, put: Callable[[Update], None]) -> None:
        self._root, self._put = root, put
        self._items = Items()
        self._running: set[str] = set()
        self._streamed = self._thought = ""  # of the present message
        self._last: type[Update] | None = None
        self._words = ""  # what was said last, so that the end does not say it again
        self._cost = 0.0
        self.own: list[str] = []  # words of this editor that steer the model: it shows them already
        self.plan: Plan | None = None
        self.again = False  # it is told from the log: what the person said and was asked belongs to it

    def hear(self, event: Event, path: tuple[str, ...]) -> None:
        """Send one event."""
        if isinstance(event, Delta):
            self._stream(event, "plan" in path)
        for changed in self._items.take(event, path):
            self._tell(changed.item)

    def _tell(self, item: Item) -> None:
        match item:
            case TaskBegun(words=words, given=None):
                self._begin(words)
            case PersonSpoke(text=text):
                self._hear_person(text)
            case ModelStep(message=Message() as message, path=path):
                self._hear_model(message, "plan" in path)
            case ModelStep(called=Called() as called):
                self._count(called)
            case CouncilTalk(events=(*_, Said(message=message))) if message.role == "assistant":
                self._hear_model(message)
            case ToolUse():
                self._use(item)
            case AskedQuestion():
                self._settle(item)
            case _:
                self._tell_other(item)

    def _tell_other(self, item: Item) -> None:
        match item:
            case WorkPlan(plan=plan):
                self.plan = plan
                self._plan("pending")
            case TodoList(entries=entries):
                self._list(entries)
            case GateVerdict():
                if call := tool_calls.judged(item, f"check-{new_id()}"):
                    self._show(call)
            case RunResult(ended=ended):
                self._end(ended)
            case _:
                self._mention(item)

    # --- words -------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Words of kith's own, apart from what was said before."""
        self._chunk(f"{self._gap(AgentMessageChunk)}{printable(text)}")

    def _begin(self, task: str) -> None:
        self._words, self.plan = "", None
        self._streamed = self._thought = ""
        if self.again:
            self._show(update_user_message_text(printable(task)))

    def _stream(self, delta: Delta, planning: bool) -> None:
        if delta.kind == "thinking":
            gap = "" if self._thought else self._gap(AgentThoughtChunk)
            self._thought += delta.text
            self._show(update_agent_thought_text(gap + printable(delta.text)))
        elif delta.kind == "text" and not planning:  # a plan arrives as JSON, and is shown when it is whole
            gap = "" if self._streamed else self._gap(AgentMessageChunk)
            self._streamed += delta.text
            self._chunk(gap + printable(delta.text))

    def _hear_model(self, message: Message, planning: bool = False) -> None:
        if message.author == "kith":
            return
        if not planning:
            thought = "".join(part.text for part in message.parts if isinstance(part, Thinking))
            if thought and not self._thought:
                self._show(update_agent_thought_text(self._gap(AgentThoughtChunk) + printable(thought)))
            if message.text.strip() and not self._streamed:
                self.say(message.text)
            self._words = message.text
        self._streamed = self._thought = ""

    def _hear_person(self, text: str) -> None:
        """Show words that steer the model; the editor shows its own already."""
        if text in self.own:
            self.own.remove(text)
        else:
            self._show(update_user_message_text(printable(text)))

    def _mention(self, item: Item) -> None:
        style, line = line_of(item, undo="/undo")
        warns = isinstance(item, Note) and isinstance(item.event, Notice) and item.event.level == "warning"
        if line and (style in _SPOKEN or warns):
            self.say(_here(line.strip()))
        elif line:
            self._show(update_agent_thought_text(f"{self._gap(AgentThoughtChunk)}{printable(line.strip())}"))

    def _end(self, event: RunEnded) -> None:
        for id in sorted(self._running):
            self._show(tool_calls.settled(id, "failed"))
        self._running.clear()
        if self.plan and event.status == "done":
            self._show(
                update_plan([plan_entry(printable(step), status="completed") for step in self.plan.steps])
            )
        if event.text.strip() and event.text.strip() not in self._words:
            self.say(_here(event.text))

    # --- tools, checks, questions ------------------------------------------------------------

    def _use(self, use: ToolUse) -> None:
        if use.state == "running" and use.name not in tool_calls.QUIET:
            self._running.add(use.call_id)
            self._show(tool_calls.begun(use, self._root))
        elif use.state == "ended" and use.call_id in self._running:
            self._running.discard(use.call_id)
            self._show(tool_calls.ended(use, self._root))
        elif use.state == "ended" and not use.ok:
            self._show(tool_calls.refused(use, self._root))

    def _settle(self, asked: AskedQuestion) -> None:
        """A question that waits is shown by who asks it; here is what was asked before, and each answer."""
        question = asked.question
        if asked.answer:
            no = asked.answer.choice in _NOES
            self._show(tool_calls.settled(question.id, "failed" if no else "completed"))
        elif self.again:
            call = tool_calls.asked(question, tool_calls.shown_files(question.files), self._root)
            self._show(tool_calls.started(call).model_copy(update={"content": call.content}))

    def plan_words(self) -> str:
        """The plan that is asked about."""
        return plan_text(self.plan) if self.plan else ""

    def _list(self, items: tuple[TodoItem, ...]) -> None:
        entries = [plan_entry(printable(item.text), status=_STATES[item.state]) for item in items]
        self.plan = None
        self._show(update_plan(entries))

    def _plan(self, status: PlanEntryStatus) -> None:
        steps = self.plan.steps if self.plan else ()
        self._show(update_plan([plan_entry(printable(step), status=status) for step in steps]))

    def _count(self, called: Called) -> None:
        self._cost += called.usd or 0.0
        if called.window and called.usage.total:
            cost = Cost(amount=round(self._cost, 6), currency="USD") if self._cost else None
            used = min(called.usage.total, called.window)
            self._show(UsageUpdate(session_update="usage_update", used=used, size=called.window, cost=cost))

    # --- the way out -------------------------------------------------------------------------

    def _gap(self, kind: type[Update]) -> str:
        """Separate a message from one of the same kind before it: editors join chunks."""
        return "\n\n" if self._last is kind else ""

    def _chunk(self, text: str) -> None:
        self._show(update_agent_message_text(text))

    def _show(self, update: Update) -> None:
        if isinstance(update, Chunk | ToolCallStart):  # the rest is shown elsewhere
            self._last = type(update)
        self._put(update)


def _here(text: str) -> str:
    """A sentence that names commands, with those of a conversation."""
    return re.sub(r"kith run --resume \w+", "/resume", text).replace("kith undo", "/undo")
