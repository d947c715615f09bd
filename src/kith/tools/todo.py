"""The model's own list of steps, which the log keeps, and the tool that ends a task with a summary."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from msgspec.structs import replace

from kith.core.events import TodoSet
from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import TodoItem, ToolResult
from kith.tools.answers import clip, count, refused, told

State = Literal["pending", "active", "done"]

_MARKS: Final[dict[State, str]] = {"pending": " ", "active": ">", "done": "x"}
# What models that learned other lists say.
_STATES: Final[dict[str, State]] = {
    "pending": "pending",
    "todo": "pending",
    "active": "active",
    "in_progress": "active",
    "done": "done",
    "completed": "done",
}
_STATE_FAULT = "A state is one of: pending, active, done."
_SCHEMA = {
    "type": "object",
    "properties": {
        "items": {"type": "array", "items": {"type": "string"}},
        "index": {"type": "integer"},
        "state": {"type": "string"},
    },
}


def make_todo(items: Sequence[TodoItem] = ()) -> Tool:
    """The list of one thread, from the last TodoSet of its log."""
    present = tuple(items)

    async def keep(args: Mapping[str, Any], run: Run) -> ToolResult:
        nonlocal present
        wanted = _changed(present, args)
        if isinstance(wanted, str):
            return refused(wanted)
        if wanted != present:
            present = wanted
            run.emit(TodoSet(present))
        done = sum(item.state == "done" for item in present)
        return told(_shown(present), f"{done} of {count(len(present), 'step')} done")

    description = "Set your steps, or one state: pending, active, done."
    return Tool("todo", description, _SCHEMA, "read", keep)


def _changed(present: tuple[TodoItem, ...], args: Mapping[str, Any]) -> tuple[TodoItem, ...] | str:
    """The list as the arguments want it, or what is wrong with them."""
    if "items" in args:
        items = [_item(value) for value in args["items"]]
        fault = next((item for item in items if isinstance(item, str)), "")
        return fault or tuple(item for item in items if isinstance(item, TodoItem))
    if "index" not in args and "state" not in args:
        return present
    if "index" not in args or "state" not in args:
        return "To change one step send both its index and its new state; to set the whole list send items."
    index, state = args["index"], _STATES.get(args["state"])
    if not present:
        return "The list is empty: set it with items first."
    if not 1 <= index <= len(present):
        return f"There is no step {index}: the list has steps 1 to {len(present)}."
    if state is None:
        return _STATE_FAULT
    return (*present[: index - 1], replace(present[index - 1], state=state), *present[index:])


def _item(value: Any) -> TodoItem | str:
    """One step, from a text or from an object with a text and a state; or what is wrong with it."""
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, Mapping) or not isinstance(value.get("text"), str) or not value["text"].strip():
        return "Each of the items is a short text, or an object with text and state."
    state = _STATES.get(str(value.get("state", "pending")))
    return TodoItem(" ".join(value["text"].split()), state) if state else _STATE_FAULT


def _shown(items: Sequence[TodoItem]) -> str:
    rows = (f"{number}. [{_MARKS[item.state]}] {item.text}" for number, item in enumerate(items, 1))
    return "\n".join(rows) or "The list is empty."


# The tool that ends a task: its summary is what the model says, never what counts.


async def _end(args: Mapping[str, Any], run: Run) -> ToolResult:
    summary = args["summary"].strip() or "Done."
    named = args.get("changed_tests", ())
    tests = [name.strip() for name in named if isinstance(name, str) and name.strip()]
    line = clip(summary.split("\n", 1)[0], 100)
    if tests:
        summary += "\n\nChanged tests:\n" + "\n".join(f"- {each}" for each in tests)
    # The model has just written the summary: it is kept for people, and not sent back.
    return told("Ended.", line, final=True, summary=summary, **({"tests": tests} if tests else {}))


DONE = Tool(
    "done",
    "End the task.",
    {
        "type": "object",
        "properties": {
            "summary": {"type": "string"},
            "changed_tests": {
                "type": "array",
                "items": {"type": "string"},
                "description": "NAME: WHY it changes",
            },
        },
        "required": ["summary"],
    },
    "read",
    _end,
)
