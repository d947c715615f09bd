"""What happens in a session, as updates for an editor: while it happens, or again from the log."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from acp.helpers import (
    plan_entry,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_user_message_text,
)
from acp.schema import AgentMessageChunk, AgentThoughtChunk, Cost, PlanEntryStatus, ToolCallStart, UsageUpdate

from kith.core.events import (
    Answered,
    Asked,
    Called,
    Delta,
    Event,
    Judged,
    Notice,
    Planned,
    RunEnded,
    RunStarted,
    Said,
    TodoSet,
    ToolBegan,
    ToolEnded,
)
from kith.core.run import new_id
from kith.core.values import Message, Plan, Thinking, TodoItem, ToolCall
from kith.features.editors import tool_calls
from kith.features.editors.outbox import Chunk, Update
from kith.view.lines import line_of, plan_text
from kith.view.printing import printable

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
        self._calls: dict[str, ToolCall] = {}
        self._running: set[str] = set()
        self._streamed = self._thought = ""  # of the present message
        self._last: type[Update] | None = None
        self._opened = False  # the task's own message is in its thread
        self._words = ""  # what was said last, so that the end does not say it again
        self._cost = 0.0
        self.own: list[str] = []  # words of this editor that steer the model: it shows them already
        self.plan: Plan | None = None
        self.again = False  # it is told from the log: what the person said and was asked belongs to it

    def hear(self, event: Event, path: tuple[str, ...]) -> None:
        """Tell of one event."""
        match event:
            case Delta():
                self._stream(event, "plan" in path)
            case RunStarted(task=task):
                self._begin(task)
            case Said(message=message):
                self._hear_message(message, "plan" in path)
            case ToolBegan() | ToolEnded():
                self._use(event)
            case Asked() | Answered():
                self._settle(event)
            case Planned(plan):
                self.plan = plan
                self._plan("pending")
            case TodoSet(items):
                self._list(items)
            case Judged():
                if call := tool_calls.judged(event, f"check-{new_id()}"):
                    self._show(call)
            case Called():
                self._count(event)
            case RunEnded():
                self._end(event)
            case _:
                self._mention(event)

    # --- words -------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Words of kith's own, apart from what was said before."""
        self._chunk(f"{self._gap(AgentMessageChunk)}{printable(text)}")

    def _begin(self, task: str) -> None:
        self._opened, self._words, self.plan = False, "", None
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

    def _hear_message(self, message: Message, planning: bool) -> None:
        self._calls |= {call.id: call for call in message.calls}
        if message.role == "user" and message.author == "person":
            self._hear_person(message.text)
        if message.role != "assistant" or message.author == "kith":
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
        """The task itself stands at the beginning; what follows steers, or says what to do differently."""
        if not self._opened:
            self._opened = True
        elif text in self.own:
            self.own.remove(text)
        else:
            self._show(update_user_message_text(printable(text)))

    def _mention(self, event: Event) -> None:
        style, line = line_of(event)
        if line and (style in _SPOKEN or (isinstance(event, Notice) and event.level == "warning")):
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

    def _use(self, event: ToolBegan | ToolEnded) -> None:
        call, began = self._calls.get(event.call_id), event.call_id in self._running
        if isinstance(event, ToolBegan):
            if event.name not in tool_calls.QUIET:
                self._running.add(event.call_id)
                self._show(tool_calls.begun(event, call, self._root))
        elif began:
            self._running.discard(event.call_id)
            self._show(tool_calls.ended(event, call, self._root))
        elif not event.ok:
            self._show(tool_calls.refused(event, call, self._root))

    def _settle(self, event: Asked | Answered) -> None:
        """A question that waits is shown by who asks it; here is what was asked before, and each answer."""
        if isinstance(event, Answered):
            no = event.answer.choice in _NOES
            self._show(tool_calls.settled(event.question_id, "failed" if no else "completed"))
        elif self.again:
            call = tool_calls.asked(event.question, tool_calls.shown_files(event.question.files), self._root)
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
        """What parts a message from one of the same kind before it: editors join chunks."""
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
