"""A chat request's body, whatever a stranger sends: understood, or refused in words; never anything else."""

import json
from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.values import Text, Thinking, ToolCall, ToolResult
from kith.features.gateway.openai_requests import MalformedError, read_body, read_request

WHOLE: dict[str, Any] = {
    "model": "route",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "Be kind."}]},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "Hm.",
            "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"at": "x"}'}},
                {"id": "2", "type": "function", "function": {"name": "look", "arguments": "{broken"}},
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": "found"},
        {"role": "tool", "tool_call_id": "2", "content": [{"type": "text", "text": "no"}]},
        {"role": "system", "content": "Go on."},
    ],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "look",
                "description": "Looks.",
                "strict": True,
                "parameters": {
                    "type": "object",
                    "properties": {"at": {"anyOf": [{"type": "string"}, {"items": True}], "enum": ["x"]}},
                    "required": ["at"],
                    "$defs": {"a": {"not": {}}},
                },
            },
        }
    ],
    "tool_choice": "auto",
    "response_format": {"type": "json_object"},
    "temperature": 0,
    "top_p": 1,
    "top_k": 40,
    "max_tokens": 5,
    "max_completion_tokens": 7,
    "seed": -1,
    "stop": "END",
    "stream": True,
    "stream_options": {"include_usage": True},
    "chat_template_kwargs": {"enable_thinking": False},
    "logit_bias": {"5": 1},
    "user": "somebody",
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def test_every_part_of_a_request_is_understood() -> None:
    asked = read_request(WHOLE)
    request = asked.request
    assert (request.model, request.system) == ("route", "Be brief.\n\nBe kind.")
    said, called, first, second, later = request.messages
    assert said.text == "ab" and later == said.__class__("user", (Text("Go on."),), "person")
    thought, one, two = called.parts
    assert thought == Thinking("Hm.") and one == ToolCall("1", "look", {"at": "x"})
    assert isinstance(two, ToolCall) and two.args == {} and "not a JSON object" in two.fault
    assert (first.parts, second.parts) == ((ToolResult("1", "found"),), (ToolResult("2", "no"),))
    (tool,) = request.tools
    assert tool.schema["properties"]["at"]["anyOf"][1]["items"] == {}
    sampling = request.sampling
    assert (sampling.temperature, sampling.top_p, sampling.top_k) == (0, 1, 40)
    assert (sampling.max_tokens, sampling.seed, sampling.stop, sampling.think) == (7, -1, ("END",), False)
    assert request.shape == {"type": "object"} and not request.must_call
    assert (asked.stream, asked.counts) == (True, True)


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in plain data."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


@given(st.sampled_from(places(WHOLE)[1:]), JSON)
def test_anything_in_any_place_is_understood_or_refused(place: tuple[Any, ...], value: Any) -> None:
    body = deepcopy(WHOLE)
    inner = body
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    try:
        asked = read_request(read_body(json.dumps(body).encode()))
    except MalformedError as error:
        assert str(error).endswith(".")
    else:
        json.dumps([dict(tool.schema) for tool in asked.request.tools], allow_nan=False)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    with suppress(MalformedError):
        assert isinstance(read_body(raw), dict)


@pytest.mark.parametrize("pit", ["[" * 200_000, '{"a":' * 500 + "1" + "}" * 500])
def test_a_pit_is_refused(pit: str) -> None:
    with pytest.raises(MalformedError, match="nested"):
        read_body(pit.encode())
