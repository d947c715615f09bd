"""A conversation in OpenAI's form, as kith's messages."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kith.core.values import Message, Part, Text, Thinking, ToolCall, ToolResult
from kith.features.gateway.openai.bodies import MalformedError, object_of, objects_of, read_body, text_of

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
