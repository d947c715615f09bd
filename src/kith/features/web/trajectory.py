"""A model's work as steps: its thoughts, the tool that it used, the answer of that tool."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from typing_extensions import TypedDict

from kith.core.codec import encode
from kith.core.events import Called, Event, Said
from kith.core.values import Message, Thinking
from kith.view.items import CouncilTalk, ModelStep, ToolUse, fold_items


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
