"""Conversations as the loop can make them, for properties, and the rules of the strictest chat template."""

from collections.abc import Sequence

from hypothesis import strategies as st

from kith.core.model import Tool
from kith.core.values import Message, Text, Thinking, ToolCall, ToolResult, say

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


async def nothing(args: object, run: object) -> ToolResult:
    return ToolResult("", "")


READ = Tool("read", "Read a file.", SCHEMA, "read", nothing)
WRITE = Tool("write", "Write a file.", SCHEMA, "write", nothing)
BASH = Tool("bash", "Run a command.", SCHEMA, "exec", nothing)
TOOLS = (READ, WRITE, BASH)
TASK = "Mend the parser, please."


def step(number: int, name: str, subject: str, answer: str, ok: bool = True) -> tuple[Message, Message]:
    """One call and its result."""
    call = ToolCall(f"c{number}", name, {"path": subject})
    return (
        Message("assistant", (Thinking("hm"), Text("I see."), call), "m"),
        Message("tool", (ToolResult(call.id, answer, ok),), "kith"),
    )


def lines(count: int, word: str = "value = compute(other)") -> str:
    return "\n".join(f"{word} {number}" for number in range(count))


@st.composite
def threads(draw: st.DrawFn, most_lines: int = 40, turns: int = 5) -> tuple[Message, ...]:
    """A task; then calls (several at once, too) with results of any size, plain replies, and new requests."""
    messages = [say(draw(st.sampled_from([TASK, f"# The project\n{lines(30)}\n\n# Task\n{TASK}"])))]
    number = 0
    for _ in range(draw(st.integers(0, turns))):
        for _ in range(draw(st.integers(0, 3))):
            names = draw(st.lists(st.sampled_from(["read", "write", "bash", "gone"]), min_size=1, max_size=3))
            calls = [
                ToolCall(f"c{number + at}", name, {"path": f"f{at}.py"}) for at, name in enumerate(names)
            ]
            number += len(calls)
            messages.append(Message("assistant", (Thinking("hm"), *calls), "m"))
            for call in calls:
                text = lines(draw(st.integers(0, most_lines)))
                messages.append(Message("tool", (ToolResult(call.id, text, draw(st.booleans())),), "kith"))
        messages.append(Message("assistant", (Text(draw(st.sampled_from(["Done.", lines(10)]))),), "m"))
        author = draw(st.sampled_from(["person", "pytest", "kith"]))
        messages.append(say(draw(st.sampled_from(["Use tabs.", lines(20)])), author))
    return tuple(messages[: draw(st.integers(1, len(messages)))]) if draw(st.booleans()) else tuple(messages)


def closed(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The longest beginning that a model may be asked with: no call is open, and somebody else spoke last."""
    for end in range(len(messages), 0, -1):
        part = tuple(messages[:end])
        if part[-1].role != "assistant" and not _open_calls(part):
            return part
    return ()


def _open_calls(messages: Sequence[Message]) -> set[str]:
    asked = {call.id for message in messages for call in message.calls}
    return asked - {result.call_id for message in messages for result in message.results}


def check_template(messages: Sequence[Message]) -> None:
    """Mistral's rules: users and plain replies take turns, results directly follow their calls."""
    turn, pending = "user", set[str]()
    for message in messages:
        if message.role == "tool":
            ids = {result.call_id for result in message.results}
            assert ids <= pending, "a result without its call"
            pending -= ids
            continue
        assert not pending, "a call without its result"
        if message.calls:
            pending = {call.id for call in message.calls}
        else:
            assert message.role == turn, f"{message.role} where {turn} should speak"
            turn = "assistant" if turn == "user" else "user"
    assert not pending
