"""Read the body of a chat request in OpenAI's form: strict JSON, its fields, messages and JSON Schemas."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from msgspec import Struct

from kith.core.model import Tool
from kith.core.values import Message, Part, Sampling, Text, Thinking, ToolCall, ToolResult
from kith.features.gateway.answering import ChatRequest, foreign_tool

# A request's body as plain data, whatever was really sent: strict JSON, of a depth that can be written.

DEEPEST: Final = 100  # levels; what is nested deeper could not be written again
_LONGEST_NUMBER: Final = 400  # digits


class MalformedError(Exception):
    """A request that cannot be understood; `param` is the field that is wrong, "" for the whole."""

    def __init__(self, text: str, param: str = "") -> None:
        super().__init__(text)
        self.param = param


def read_body(raw: bytes) -> dict[str, Any]:
    """The object that a body holds. Raises MalformedError."""
    try:
        data = json.loads(raw, parse_float=_finite, parse_constant=_no_number, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise MalformedError(f"The body is not JSON: {why}.") from error
    if not isinstance(data, dict):
        raise MalformedError("The body must be a JSON object.")
    if _depth(data) > DEEPEST:
        raise MalformedError(f"The body is nested deeper than {DEEPEST} levels.")
    return data


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _integer(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError("a number is too long")
    return int(text)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _depth(data: Any) -> int:
    """Return the nesting depth of a value, counted level by level."""
    depth, level = 0, [data]
    while level:
        depth += 1
        level = [
            inner
            for each in level
            if isinstance(each, (dict, list))
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return depth


# --- fields -----------------------------------------------------------------------------------


def text_of(data: Mapping[str, Any], key: str, where: str = "", usual: str | None = None) -> str:
    """A text. Raises MalformedError, also where it is left out and there is no `usual` one."""
    value = data.get(key)
    value = usual if value is None else value
    if not isinstance(value, str):
        raise MalformedError(f"{_place(where, key)} must be a text.", _place(where, key))
    return value


def flag_of(data: Mapping[str, Any], key: str, where: str = "") -> bool:
    """True or False (where it is left out)."""
    value = data.get(key)
    if value is not None and not isinstance(value, bool):
        raise MalformedError(f"{_place(where, key)} must be true or false.", _place(where, key))
    return bool(value)


def whole_of(data: Mapping[str, Any], key: str, least: int, most: int) -> int | None:
    """A whole number within bounds; None where it is left out."""
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise MalformedError(f"{key} must be a whole number from {least:,} to {most:,}.", key)
    return value


def real_of(data: Mapping[str, Any], key: str, most: float) -> float | None:
    """A number from 0 on; None where it is left out."""
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
        raise MalformedError(f"{key} must be a number from 0 to {most:g}.", key)
    return float(value)


def object_of(data: Mapping[str, Any], key: str, where: str = "") -> dict[str, Any]:
    """An object; an empty one where it is left out."""
    value = data.get(key)
    if value is not None and not isinstance(value, dict):
        raise MalformedError(f"{_place(where, key)} must be an object.", _place(where, key))
    return value or {}


def objects_of(data: Mapping[str, Any], key: str, where: str = "") -> list[dict[str, Any]]:
    """A list of objects; an empty one where it is left out."""
    value = data.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise MalformedError(f"{_place(where, key)} must be a list of objects.", _place(where, key))
    return value


def _place(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


# A conversation in OpenAI's form, as kith's messages.

_SYSTEM = ("system", "developer")
_TEXTS = ("text", "input_text", "refusal")


def read_messages(data: Mapping[str, Any]) -> tuple[str, tuple[Message, ...]]:
    """The system words with which the conversation begins, and what follows.

    System words that come later are a user's, since most models take them at the beginning only. Raises
    MalformedError.
    """
    rows = objects_of(data, "messages")
    if not rows:
        raise MalformedError("messages must be a list with at least one message.", "messages")
    said = [each.get("role") not in _SYSTEM for each in rows]
    first = said.index(True) if True in said else len(rows)
    system = "\n\n".join(_words(row, f"messages.{at}") for at, row in enumerate(rows[:first]))
    known: set[str] = set()
    return system, tuple(_message(row, f"messages.{at}", known) for at, row in enumerate(rows) if at >= first)


def _message(row: Mapping[str, Any], where: str, known: set[str]) -> Message:
    """One message; `known` collects the ids of the calls so far."""
    role = text_of(row, "role", where)
    if role in ("user", *_SYSTEM):
        return Message("user", (Text(_words(row, where)),), "person")
    if role == "assistant":
        return Message("assistant", _said(row, where, known))
    if role != "tool":
        raise MalformedError(
            f"{where}.role must be system, user, assistant or tool, not {role!r:.40}.", f"{where}.role"
        )
    id = text_of(row, "tool_call_id", where)
    if id not in known:
        raise MalformedError(f"{where} answers a call that was not made before it.", where)
    return Message("tool", (ToolResult(id, _words(row, where)),))


def _said(row: Mapping[str, Any], where: str, known: set[str]) -> tuple[Part, ...]:
    thought = text_of(row, "reasoning_content", where, "")
    words = _words(row, where) if row.get("content") is not None else ""
    parts: list[Part] = [Thinking(thought)] if thought else []
    parts += [Text(words)] if words else []
    for at, call in enumerate(objects_of(row, "tool_calls", where)):
        place = f"{where}.tool_calls.{at}"
        function, id = object_of(call, "function", place), text_of(call, "id", place)
        args, fault = _args(text_of(function, "arguments", f"{place}.function", ""))
        parts.append(ToolCall(id, text_of(function, "name", f"{place}.function"), args, fault))
        known.add(id)
    return tuple(parts)


def _args(text: str) -> tuple[Mapping[str, Any], str]:
    """A call's arguments as they were sent before; what cannot be read then is told as a fault now."""
    try:
        return (read_body(text.encode("utf-8", "surrogatepass")) if text.strip() else {}), ""
    except (MalformedError, UnicodeDecodeError):
        return {}, f"The arguments are not a JSON object: {text[:200]!r}."


def _words(row: Mapping[str, Any], where: str) -> str:
    """A message's text, or the texts of its parts. Raises MalformedError for pictures and sound."""
    content = row.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        raise MalformedError(f"{where}.content must be a text, or a list of parts.", f"{where}.content")
    return "".join(_part(each, f"{where}.content.{at}") for at, each in enumerate(content))


def _part(part: Any, where: str) -> str:
    if not isinstance(part, dict):
        raise MalformedError(f"{where} must be an object.", where)
    kind = part.get("type")
    if kind not in _TEXTS:
        raise MalformedError(f"{where}: only text can be read here, not {json.dumps(kind)[:40]}.", where)
    return text_of(part, "refusal" if kind == "refusal" else "text", where)


# JSON Schemas of strangers, checked to be what they say: everything later may rely on their form.

_SCHEMAS: Final = ("properties", "$defs", "definitions", "patternProperties")  # by name
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")  # of schemas
_ONES: Final = ("items", "not", "if", "then", "else", "contains", "propertyNames")


def check_schema(schema: Any, where: str) -> dict[str, Any]:
    """The schema; `true` in a schema's place becomes `{}`. Raises MalformedError naming the place."""
    if schema is True:
        return {}
    if not isinstance(schema, dict):
        raise MalformedError(f"{where} must be a JSON Schema.", where)
    checked = dict(schema)
    for key in _SCHEMAS:
        if key in schema:
            inner = _typed(schema, key, dict, where)
            checked[key] = {name: check_schema(each, f"{where}.{key}.{name}") for name, each in inner.items()}
    for key in _LISTS:
        if key in schema:
            checked[key] = [check_schema(each, f"{where}.{key}") for each in _typed(schema, key, list, where)]
    for key in _ONES:
        if key in schema:
            checked[key] = check_schema(schema[key], f"{where}.{key}")
    if "enum" in schema:
        _typed(schema, "enum", list, where)
    if "required" in schema and not _texts(schema["required"]):
        raise MalformedError(f"{where}.required must be a list of names.", where)
    if "type" in schema and not (isinstance(schema["type"], str) or _texts(schema["type"])):
        raise MalformedError(f"{where}.type must be a name, or a list of names.", where)
    return checked


def check_parameters(schema: Any, where: str) -> dict[str, Any]:
    """The schema of a tool's arguments: an object's. Raises MalformedError."""
    checked = check_schema({} if schema is None else schema, where)
    if checked.get("type", "object") != "object":
        raise MalformedError(f"{where}.type must be object.", where)
    return {"type": "object", "properties": {}, **checked}


def _typed(schema: dict[str, Any], key: str, kind: type, where: str) -> Any:
    if not isinstance(schema[key], kind):
        what = "an object" if kind is dict else "a list"
        raise MalformedError(f"{where}.{key} must be {what}.", where)
    return schema[key]


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


_LONGEST: Final = (1 << 31) - 1  # tokens
_SEEDS: Final = 1 << 63
_STOPS: Final = 16
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")


class CompletionRequest(Struct, frozen=True):
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
    """Read the sampling options: OpenAI's fields, and those of local servers."""
    longest = whole_of(data, "max_completion_tokens", 1, _LONGEST)
    return Sampling(
        temperature=real_of(data, "temperature", 2),
        top_k=whole_of(data, "top_k", -1, _LONGEST),
        top_p=real_of(data, "top_p", 1),
        min_p=real_of(data, "min_p", 1),
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
    """Read the thinking option: as for vLLM and llama-server, or OpenAI's `reasoning_effort`."""
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
