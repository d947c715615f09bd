"""What a model did, step by step: what it thought, which tool it used, what that answered."""

from collections.abc import Iterable, Mapping
from typing import Any

from typing_extensions import TypedDict

from kith.core.codec import encode
from kith.core.events import Called, Event, Said, ToolEnded
from kith.core.values import Message, Thinking


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


def steps_of(events: Iterable[Event]) -> list[Step]:
    """The steps that the events of a task tell of, in order."""
    steps: list[Step] = []
    by_call: dict[str, Step] = {}
    called: Called | None = None
    for event in events:
        match event:
            case Called():
                called = event
            case Said(message=Message(role="assistant") as message):
                steps += _begun(message, called, by_call)
                called = None
            case ToolEnded() if event.call_id in by_call:
                by_call[event.call_id]["seconds"] += event.seconds
            case Said(message=message):
                for result in message.results:
                    if step := by_call.get(result.call_id):
                        step["observation"], step["ok"] = result.text, result.ok
    for step in steps:
        step["seconds"] = round(step["seconds"], 3)
    return steps


def _begun(message: Message, called: Called | None, by_call: dict[str, Step]) -> list[Step]:
    """The steps that a reply begins: one for each tool it uses, one for mere words."""
    thought = "\n\n".join(
        part.text for part in message.parts if isinstance(part, Thinking) and part.text.strip()
    )
    thought = "\n\n".join(filter(None, (thought, message.text)))
    if called is None and not message.calls:
        return []  # a turn that is closed in words of kith's own
    first = _step(thought)
    if called:
        first["seconds"], first["tokens"] = called.timing.total_s, called.computed
    steps = [first, *(_step("") for _ in message.calls[1:])]
    for step, call in zip(steps, message.calls, strict=False):
        step["action"] = Action(tool=call.name, args=encode(call.args))
        by_call[call.id] = step
    return steps


def _step(thought: str) -> Step:
    return Step(thought=thought, action=None, observation="", ok=True, seconds=0.0, tokens=0)
