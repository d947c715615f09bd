"""A conversation and its tools as the JSON rows of a request; what was sent once stays the same."""

from collections.abc import Callable, Iterable

from kith.core.model import Prompt, Tool
from kith.core.values import Message, Text, Thinking, ToolCall, ToolResult
from kith.models.providers.answers import Row


def tool_rows(tools: Iterable[Tool]) -> list[Row]:
    """Tools as OpenAI, and every local server after it, describes them; their order is the caller's."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)},
        }
        for tool in tools
    ]


def message_rows(
    prompt: Prompt,
    call_row: Callable[[ToolCall], Row],
    result_row: Callable[[ToolResult, str], Row],
    thinking: str = "",
) -> list[Row]:
    """One row for each thing said, the system text first; how calls and results look is the server's affair.

    `result_row` gets the name of the tool too. A row depends on what came before it, never on what follows.
    `thinking` is the key under which the thinking of former replies goes back, as far as the prompt has any;
    without one it does not.
    """
    rows: list[Row] = [{"role": "system", "content": prompt.system}] if prompt.system else []
    names: dict[str, str] = {}
    for message in prompt.messages:
        rows.extend(result_row(result, names.get(result.call_id, "")) for result in message.results)
        names.update((call.id, call.name) for call in message.calls)
        if message.role != "tool" or _has_words(message):
            rows.append(_spoken(message, call_row, thinking))
    return rows


def _spoken(message: Message, call_row: Callable[[ToolCall], Row], thinking: str) -> Row:
    row: Row = {"role": "user" if message.role == "tool" else message.role, "content": message.text}
    thoughts = "".join(each.text for each in message.parts if isinstance(each, Thinking))
    if thinking and thoughts:
        row[thinking] = thoughts
    if message.calls:
        row["tool_calls"] = [call_row(call) for call in message.calls]
    return row


def _has_words(message: Message) -> bool:
    return any(isinstance(part, Text) for part in message.parts)
