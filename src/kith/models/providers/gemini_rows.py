"""A prompt as the Gemini API has it: contents of parts, each signature on the part that it came with."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from kith.core.model import Tool
from kith.core.values import Part, Text, Thinking, ToolCall, ToolResult
from kith.models.providers.answers import Row
from kith.models.providers.turns import Spoke, Turn, clean_name

# For calls that another model made: the first call of a reply must have a signature, and this one is not
# looked at. Source: https://ai.google.dev/gemini-api/docs/thought-signatures (its questions at the end).
FOREIGN: Final = "skip_thought_signature_validator"


def declarations(tools: Iterable[Tool]) -> list[Row]:
    """All tools, in the caller's order."""
    declared = [
        {
            "name": clean_name(tool.name),
            "description": tool.description,
            "parametersJsonSchema": dict(tool.schema),
        }
        for tool in tools
    ]
    return [{"functionDeclarations": declared}]


def content_rows(turns: Sequence[Turn], signs_calls: bool) -> list[Row]:
    """Contents; `signs_calls`: the model wants a signature on its calls."""
    return [_content(turn, signs_calls) for turn in turns]


def _content(turn: Turn, signs_calls: bool) -> Row:
    if isinstance(turn, Spoke):
        return {"role": "model", "parts": _spoken(turn.parts, signs_calls)}
    answers = [_answer(call, result) for call, result in turn.answers]
    return {"role": "user", "parts": [*answers, *({"text": words} for words in turn.words)]}


def _answer(call: ToolCall, result: ToolResult) -> Row:
    # The two keys by which a model tells an answer from a failure.
    response = {"output" if result.ok else "error": result.text}
    return {"functionResponse": {"id": call.id, "name": call.name, "response": response}}


def _spoken(parts: Sequence[Part], signs_calls: bool) -> list[Row]:
    rows: list[Row] = []
    unsigned = signs_calls
    for part in parts:
        match part:
            case Text(text):
                rows.append({"text": text})
            case Thinking(text, opaque):
                _add_thought(rows, text, opaque)
            case ToolCall():
                rows.append(_call(part, FOREIGN if unsigned else ""))
                unsigned = False  # of calls made at once, only the first is signed
    return rows


def _add_thought(rows: list[Row], text: str, opaque: str) -> None:
    """A signed thought; a signature without a text belongs to the words before it."""
    if text:
        rows.append({"text": text, "thought": True, "thoughtSignature": opaque})
    elif rows and "text" in rows[-1] and "thoughtSignature" not in rows[-1]:
        rows[-1]["thoughtSignature"] = opaque
    else:
        rows.append({"text": "", "thoughtSignature": opaque})


def _call(call: ToolCall, instead: str) -> Row:
    row: dict[str, Any] = {"functionCall": {"id": call.id, "name": call.name, "args": dict(call.args)}}
    signature = call.opaque or instead
    return {**row, "thoughtSignature": signature} if signature else row
