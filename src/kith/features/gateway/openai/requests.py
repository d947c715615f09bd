"""The body of a chat request, understood: fields that kith does not know are left out."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kith.core.model import Tool
from kith.core.values import Sampling
from kith.features.gateway.answering.request import ChatRequest, foreign_tool
from kith.features.gateway.openai.bodies import (
    MalformedError,
    flag_of,
    object_of,
    objects_of,
    real_of,
    text_of,
    whole_of,
)
from kith.features.gateway.openai.messages import read_messages
from kith.features.gateway.openai.schemas import check_parameters, check_schema

_LONGEST: Final = (1 << 31) - 1  # tokens
_SEEDS: Final = 1 << 63
_STOPS: Final = 16
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A request, and how its answer is wanted; `counts`: a stream ends with the usage."""

    request: ChatRequest
    stream: bool = False
    counts: bool = False


def read_request(data: Mapping[str, Any]) -> CompletionRequest:
    """The request in a body of /v1/chat/completions. Raises MalformedError."""
    model = text_of(data, "model", usual="")
    if not model.strip() or not model.isprintable():
        raise MalformedError("model must be the name of a model, as GET /v1/models lists them.", "model")
    if data.get("n") not in (None, 1):
        raise MalformedError("n must be 1: there is one answer to a request.", "n")
    system, messages = read_messages(data)
    tools, must_call = _tools(data)
    shape = _shape(data)
    request = ChatRequest(model, messages, system, tools, must_call, read_sampling(data), shape)
    counts = flag_of(object_of(data, "stream_options"), "include_usage", "stream_options")
    return CompletionRequest(request, flag_of(data, "stream"), counts)


def read_sampling(data: Mapping[str, Any]) -> Sampling:
    """How tokens are picked: OpenAI's fields, and those that local servers have beside them."""
    longest = whole_of(data, "max_completion_tokens", 1, _LONGEST)
    return Sampling(
        temperature=real_of(data, "temperature", 0, 2),
        top_k=whole_of(data, "top_k", -1, _LONGEST),
        top_p=real_of(data, "top_p", 0, 1),
        min_p=real_of(data, "min_p", 0, 1),
        max_tokens=longest or whole_of(data, "max_tokens", 1, _LONGEST),
        seed=whole_of(data, "seed", -_SEEDS, _SEEDS - 1),
        stop=_stops(data.get("stop")),
        think=_thinks(data),
    )


def _stops(value: Any) -> tuple[str, ...]:
    found = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found) or len(found) > _STOPS:
        raise MalformedError(f"stop must be a text, or a list of at most {_STOPS}.", "stop")
    return tuple(filter(None, found))


def _thinks(data: Mapping[str, Any]) -> bool | None:
    """Whether the model is to think: as vLLM and llama-server are told, or by OpenAI's `reasoning_effort`."""
    switches = object_of(data, "chat_template_kwargs")
    if switches.get("enable_thinking") is not None:
        return flag_of(switches, "enable_thinking", "chat_template_kwargs")
    return False if data.get("reasoning_effort") == "none" else None


def _tools(data: Mapping[str, Any]) -> tuple[tuple[Tool, ...], bool]:
    """The tools that are offered, and whether one of them must be called."""
    tools = tuple(_tool(row, f"tools.{at}") for at, row in enumerate(objects_of(data, "tools")))
    names = [tool.name for tool in tools]
    if len(set(names)) < len(names):
        raise MalformedError("Two tools have the same name.", "tools")
    choice = data.get("tool_choice")
    if choice in (None, "auto"):
        return tools, False
    if choice == "none":
        return (), False
    if choice == "required" and tools:
        return tools, True
    wanted = choice.get("function", {}) if isinstance(choice, dict) else {}
    named = tuple(tool for tool in tools if isinstance(wanted, dict) and tool.name == wanted.get("name"))
    if not named:
        raise MalformedError("tool_choice must be none, auto, required, or name one of tools.", "tool_choice")
    return named, True


def _tool(row: Mapping[str, Any], where: str) -> Tool:
    if row.get("type", "function") != "function":
        raise MalformedError(f"{where}.type must be function.", f"{where}.type")
    function, place = object_of(row, "function", where), f"{where}.function"
    name = text_of(function, "name", place)
    if not _NAME.fullmatch(name):
        words = "letters, digits, _, . and -, at most 128 of them"
        raise MalformedError(f"{place}.name must consist of {words}.", f"{place}.name")
    schema = check_parameters(function.get("parameters"), f"{place}.parameters")
    return foreign_tool(name, text_of(function, "description", place, ""), schema)


def _shape(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema that the reply's text has to follow, if any."""
    wanted = object_of(data, "response_format")
    match wanted.get("type", "text"):
        case "text":
            return None
        case "json_object":
            return {"type": "object"}
        case "json_schema":
            inner = object_of(wanted, "json_schema", "response_format")
            return check_schema(inner.get("schema"), "response_format.json_schema.schema")
    raise MalformedError("response_format.type must be text, json_object or json_schema.", "response_format")
