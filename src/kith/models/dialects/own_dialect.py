"""kith's own dialect, for models without tools: described, written and answered as plain text."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kith.core.model import Tool
from kith.core.values import Message, Part, Text, Thinking, ToolCall, ToolResult

# The example is no real call, as in Qwen3-Coder's template: small models repeat it word by word.
_INTRODUCTION = """\
# Tools

To use a tool, end your reply with one call like this and wait for its result. Each value is raw text on \
lines of its own, with nothing escaped or quoted; lists are JSON.

<function=example_tool>
<parameter=example_path>
src/a.py
</parameter>
<parameter=example_text>
print("a value")
print("of two lines")
</parameter>
</function>

Tools, with `?` for what may be left out:"""
_KINDS = {"array": "list", "integer": "integer", "number": "number", "boolean": "true or false"}


def describe_tools(tools: Iterable[Tool]) -> str:
    """Describe the call format, and each tool in one line; the same tools give the same bytes."""
    return "\n".join((_INTRODUCTION, *(f"- {_signature(tool)}: {tool.description}" for tool in tools)))


def _signature(tool: Tool) -> str:
    known: Mapping[str, Any] = tool.schema.get("properties", {})
    required = tool.schema.get("required", ())
    return f"{tool.name}({', '.join(_argument(name, known[name], name in required) for name in known)})"


def _argument(name: str, schema: Mapping[str, Any], required: bool) -> str:
    notes = [_kind(schema), " | ".join(map(str, schema.get("enum", ()))), schema.get("description", "")]
    said = ", ".join(note for note in notes if note)
    return name + ("" if required else "?") + (f": {said}" if said else "")


def _kind(schema: Mapping[str, Any]) -> str:
    """The type in words; of an object, and of a list of such, also what it holds."""
    kind, known = schema.get("type", ""), schema.get("properties", {})
    if kind == "array":
        inner = _kind(schema.get("items", {}))
        return f"list of {inner}" if inner.startswith("JSON") else "list"
    if kind != "object":
        return _KINDS.get(kind, "")
    required = schema.get("required", ())
    parts = ", ".join(_argument(name, known[name], name in required) for name in known)
    return f"JSON {{{parts}}}" if parts else "JSON object"


def write_call(call: ToolCall) -> str:
    """A call as text that `read_calls` reads back equal; bodies are raw."""
    parameters = (f"<parameter={name}>\n{_raw(value)}\n</parameter>\n" for name, value in call.args.items())
    return f"<function={call.name}>\n{''.join(parameters)}</function>"


def _raw(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def as_spoken(messages: Sequence[Message]) -> tuple[Message, ...]:
    """A conversation without calls and results: what they were is said in words.

    Results are what the user says. Roles alternate: messages of one role in a row become one. What is said
    of a message depends only on those before it, so a growing conversation keeps its beginning.
    """
    spoken: list[Message] = []
    for message in messages:
        said = _say(message)
        if spoken and spoken[-1].role == said.role and said.role != "system":
            said = _joined(spoken.pop(), said)
        spoken.append(said)
    return tuple(spoken)


def _say(message: Message) -> Message:
    thoughts = tuple(part for part in message.parts if isinstance(part, Thinking))
    words = "\n\n".join(filter(None, (message.text, *map(_in_words, message.parts))))
    role = "user" if message.role == "tool" else message.role
    return Message(role, (*thoughts, *message.images, Text(words)), message.author, message.complete)


def _in_words(part: Part) -> str:
    match part:
        case ToolCall():
            return write_call(part)
        case ToolResult():
            return f"<tool_response>\n{part.text}\n</tool_response>"
        case _:
            return ""


def _joined(first: Message, second: Message) -> Message:
    thoughts = tuple(part for each in (first, second) for part in each.parts if isinstance(part, Thinking))
    words = "\n\n".join(filter(None, (first.text, second.text)))
    shown = (*first.images, *second.images)
    return Message(first.role, (*thoughts, *shown, Text(words)), second.author, second.complete)
