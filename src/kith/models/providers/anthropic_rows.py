"""A prompt as the Messages API has it: blocks in turns, and the marks up to which they are cached."""

from collections.abc import Iterable, Sequence
from typing import Any

from kith.core.model import Tool
from kith.core.values import Part, Text, Thinking, ToolCall, ToolResult
from kith.models.providers.answers import Row
from kith.models.providers.turns import Heard, Spoke, Turn

REDACTED = "redacted:"  # before the data of a redacted thought; no signature has a colon
# Tools and system text are the same for a whole session, and outlive its pauses; the talk goes on or it ends.
_LONG: Row = {"type": "ephemeral", "ttl": "1h"}
_SHORT: Row = {"type": "ephemeral"}


def tool_blocks(tools: Sequence[Tool]) -> list[Row]:
    """Tools in the caller's order, cached up to the last one."""
    blocks: list[Row] = [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
        for tool in tools
    ]
    return [*blocks[:-1], *({**block, "cache_control": _LONG} for block in blocks[-1:])]


def system_blocks(system: str) -> list[Row]:
    """The system text, cached together with the tools before it; nothing for a blank one."""
    return [{"type": "text", "text": system, "cache_control": _LONG}] if system.strip() else []


def turn_rows(turns: Sequence[Turn]) -> list[Row]:
    """Messages; the caches end at the last block, and at the one that was last when the model spoke before.

    The former is where the next request will read from. The latter is where this one does: a server looks at
    no more than 20 blocks before a mark for what it knows, and a reply with its answers may be longer.
    Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching.
    """
    rows = [_turn_row(turn) for turn in turns]
    for row in [row for row in rows if row["role"] == "user"][-2:]:
        row["content"][-1] = {**row["content"][-1], "cache_control": _SHORT}
    return rows


def _turn_row(turn: Turn) -> Row:
    if isinstance(turn, Spoke):
        return {"role": "assistant", "content": list(_spoken(turn.parts))}
    return {"role": "user", "content": _heard(turn)}


def _heard(turn: Heard) -> list[Row]:
    """Answers come first, or the request is refused."""
    answers = [_answer(result) for _, result in turn.answers]
    return [*answers, *({"type": "text", "text": words} for words in turn.words)]


def _answer(result: ToolResult) -> Row:
    content = result.text if result.text.strip() else "(nothing)"
    row: Row = {"type": "tool_result", "tool_use_id": result.call_id, "content": content}
    return row if result.ok else {**row, "is_error": True}


def _spoken(parts: Sequence[Part]) -> Iterable[Row]:
    """What a model said; a message may not end in a thought."""
    last = max(at for at, part in enumerate(parts) if not isinstance(part, Thinking))
    return (_block(part) for part in parts[: last + 1])


def _block(part: Part) -> Row:
    match part:
        case Thinking(text, opaque) if opaque.startswith(REDACTED):
            return {"type": "redacted_thinking", "data": opaque.removeprefix(REDACTED)}
        case Thinking(text, opaque):
            return {"type": "thinking", "thinking": text, "signature": opaque}
        case ToolCall():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": dict(part.args)}
        case Text(text):
            return {"type": "text", "text": text}
        case _:
            raise TypeError(f"nobody says {part!r}")


def is_thoughtless(rows: Sequence[Row]) -> bool:
    """Whether the last reply calls tools, and not after a thought: in its middle, thinking cannot begin."""
    said: list[Any] = next((row["content"] for row in reversed(rows) if row["role"] == "assistant"), [])
    kinds = [block["type"] for block in said]
    return "tool_use" in kinds and kinds[0] not in ("thinking", "redacted_thinking")
