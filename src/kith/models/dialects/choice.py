"""Calls by a schema: a reply that can be nothing but one JSON object, the call of an offered tool."""

from collections.abc import Mapping, Sequence
from typing import Any

from kith.core.model import Tool
from kith.models.dialects.found import Found, guess_name
from kith.models.dialects.json_text import read_json
from kith.models.dialects.objects import named_in
from kith.models.dialects.read import Heard, as_call, tool_for

_ENDING = "done"  # where this tool is offered, a turn ends with it; elsewhere words must be possible
_WORDS = "say"


def shape_of(tools: Sequence[Tool]) -> Mapping[str, Any]:
    """The JSON Schema of one call of one of the tools, or of words where no tool ends the turn."""
    choices = [
        _closed({"name": {"const": tool.name}, "arguments": {**tool.schema, "additionalProperties": False}})
        for tool in tools
    ]
    if all(tool.name != _ENDING for tool in tools):
        choices.append(_closed({_WORDS: {"type": "string"}}))
    return {"oneOf": choices}


def _closed(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_choice(text: str, tools: Sequence[Tool], cut: bool) -> Heard | None:
    """What a reply of that shape calls or says; None for one of another shape."""
    body = text.strip()
    if not body.startswith("{"):
        return None
    value, _, why = read_json(body, 0, len(body), mend=not cut)
    if isinstance(value, dict) and isinstance(value.get(_WORDS), str):
        return Heard(value[_WORDS])
    calls = named_in(value, mend=not cut) if not why else []
    if why:
        found = Found(0, len(body), guess_name(body), {}, why)
    elif calls:
        found = Found(0, len(body), calls[0].name, calls[0].args, calls[0].fault)
    else:
        return None
    return Heard("", (as_call(found, tool_for(found.name, found.args, tools), tools, cut),))
