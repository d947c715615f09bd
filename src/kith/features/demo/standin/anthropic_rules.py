"""What Anthropic's Messages API refuses, in its own words."""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kith.features.demo.standin.engine import Behaviour, make_id
from kith.features.demo.standin.http import json_bytes

_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")
_OWN = 30  # bytes of a signature that name the model and its thought
_THOUGHTS = ("thinking", "redacted_thinking")
_BOUND = (
    " The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)

Row = Mapping[str, Any]


def find_fault(body: Any, about: Behaviour, *, counts: bool = False) -> str:
    """The first thing that is wrong with a request, or nothing. `counts`: it is only to be counted."""
    if not isinstance(body, dict):
        return "The request body is not valid JSON"
    faults = (_settings(body, about, counts), _tools(body), _messages(body, about), _marks(body))
    return next((fault for each in faults for fault in each), "")


def sign(thinking: str, body: Row, place: int, about: Behaviour) -> str:
    """The signature of a thought in the message at `place`: of its model, and of what came before it."""
    bound = ""
    if about.binds:
        before = {key: body.get(key) for key in ("system", "tools")} | {"messages": body["messages"][:place]}
        bound = make_id(json_bytes(_unmarked(before)), length=_OWN)
    own = make_id(about.model, thinking, length=_OWN)
    return b64encode(f"{own}{bound}".encode()).decode()


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unmarked(each) for key, each in value.items() if key != "cache_control"}
    return [_unmarked(each) for each in value] if isinstance(value, list) else value


def _settings(body: Row, about: Behaviour, counts: bool) -> Iterator[str]:
    if not counts and not (isinstance(body.get("max_tokens"), int) and body["max_tokens"] > 0):
        yield "max_tokens: Field required"
    for name in ("temperature", "top_p", "top_k"):
        if name in body:
            yield f"`{name}` is not supported in this API version."
    thinking = body.get("thinking") or {}
    kind = thinking.get("type", "disabled")
    if "thinking" in body and kind not in about.modes:
        yield f'"thinking.type.{kind}" is not supported for this model.'
    if kind == "enabled":
        budget = thinking.get("budget_tokens", 0)
        if budget < 1024:
            yield "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        if not counts and budget >= body.get("max_tokens", 0):
            yield "`max_tokens` must be greater than `thinking.budget_tokens`"
    if kind != "disabled" and (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        yield "Thinking may not be enabled when tool_choice forces tool use."


def _tools(body: Row) -> Iterator[str]:
    tools: Sequence[Row] = body.get("tools") or ()
    for at, tool in enumerate(tools):
        if not _NAME.match(str(tool.get("name"))):
            yield f"tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        schema = tool.get("input_schema") or {}
        if schema.get("type") != "object":
            yield f"tools.{at}.custom.input_schema.type: Field required"
        if {"oneOf", "anyOf", "allOf"} & schema.keys():
            yield f"tools.{at}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf"
    if len({tool.get("name") for tool in tools}) < len(tools):
        yield "tools: Tool names must be unique."


def _messages(body: Row, about: Behaviour) -> Iterator[str]:
    messages: Sequence[Row] = body.get("messages") or ()
    if not messages:
        yield "messages: at least one message is required"
        return
    if messages[0]["role"] != "user":
        yield 'messages: first message must use the "user" role'
    if messages[-1]["role"] != "user":
        yield "This model does not support assistant message prefill. It must end with a user message."
    seen: set[str] = set()
    for at, message in enumerate(messages):
        if at and message["role"] == messages[at - 1]["role"]:
            yield f'messages: roles must alternate, but found multiple "{message["role"]}" roles in a row'
        if not message["content"]:
            yield f"messages.{at}: {message['role']} messages must have non-empty content"
        yield from _content(at, message, about, body)
        yield from _pairs(at, messages, seen)
    yield from _unbegun(body)


def _content(at: int, message: Row, about: Behaviour, body: Row) -> Iterator[str]:
    blocks = _blocks(message)
    for number, block in enumerate(blocks):
        where, kind = f"messages.{at}.content.{number}", block["type"]
        wanted = {"user": ("text", "tool_result"), "assistant": ("text", "tool_use", *_THOUGHTS)}
        if kind not in wanted.get(message["role"], ()):
            yield f"{where}: unexpected `{kind}` block in a {message['role']} message"
        if kind == "text" and not block["text"].strip():
            yield "messages: text content blocks must contain non-whitespace text"
        if kind == "thinking" and (fault := _unsigned(block, at, body, about)):
            yield f"{where}: {fault}"
    if blocks and blocks[-1]["type"] in _THOUGHTS:
        yield f"messages.{at}: The final block in an assistant message cannot be `{blocks[-1]['type']}`."


def _unsigned(block: Row, at: int, body: Row, about: Behaviour) -> str:
    """What is wrong with a thought's signature."""
    right = sign(block["thinking"], body, at, about)
    if block["signature"] == right:
        return ""
    fault = "Invalid `signature` in `thinking` block."
    is_own = block["signature"][: _OWN * 4 // 3] == right[: _OWN * 4 // 3]
    return fault + _BOUND if is_own else fault


def _pairs(at: int, messages: Sequence[Row], seen: set[str]) -> Iterator[str]:
    """Calls and results belong together, one turn after the other."""
    calls = [block for block in _blocks(messages[at]) if block["type"] == "tool_use"]
    for block in calls:
        if not _ID.match(block["id"]) or block["id"] in seen or not isinstance(block["input"], dict):
            yield f"messages.{at}: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$', and be unique"
        if not _NAME.match(block["name"]):
            yield f"messages.{at}: tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,200}}$'"
        seen.add(block["id"])
    following = _blocks(messages[at + 1]) if at + 1 < len(messages) else []
    first = [block.get("tool_use_id") for block in following[: len(calls)] if block["type"] == "tool_result"]
    if missing := [block["id"] for block in calls if block["id"] not in first]:
        yield (
            f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in "
            "the next message."
        )
    ids = {block["id"] for block in calls}
    results = [block["tool_use_id"] for block in following if block["type"] == "tool_result"]
    strange = [each for place, each in enumerate(results) if each not in ids or each in results[:place]]
    at_all = [b for b in _blocks(messages[0]) if b["type"] == "tool_result"] if at == 0 else []
    if strange or at_all:
        yield (
            f"messages.{at + 1}: unexpected `tool_use_id` found in `tool_result` blocks. Each `tool_result` "
            "block must have a corresponding `tool_use` block in the previous message."
        )


def _unbegun(body: Row) -> Iterator[str]:
    """With a budget, a reply that is under way must have begun with a thought."""
    if (body.get("thinking") or {}).get("type") != "enabled":
        return
    replies = [(at, m) for at, m in enumerate(body["messages"]) if m["role"] == "assistant"]
    at, kinds = (replies[-1][0], [b["type"] for b in _blocks(replies[-1][1])]) if replies else (0, [])
    if "tool_use" in kinds and kinds[0] not in _THOUGHTS:
        yield (
            f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{kinds[0]}`. When `thinking` is enabled, a final `assistant` message must start with a "
            "thinking block."
        )


def _marks(body: Row) -> Iterator[str]:
    """At most four caches, the long ones first, and none that ends in a thought."""
    system = body.get("system") or []
    blocks = [*(body.get("tools") or ()), *(system if isinstance(system, list) else ())]
    blocks += [block for message in body.get("messages") or () for block in _blocks(message)]
    marked = [block for block in blocks if "cache_control" in block]
    if len(marked) > 4:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}."
    lives = [block["cache_control"].get("ttl", "5m") for block in marked]
    if lives != sorted(lives):
        yield "cache_control.ttl: a ttl='1h' block must not come after a ttl='5m' cache_control block."
    if any(block.get("type") in _THOUGHTS for block in marked):
        yield "cache_control: Extra inputs are not permitted"
    if any(block.get("type") == "text" and not block["text"].strip() for block in blocks):
        yield "cache_control cannot be set for empty text blocks"


def _blocks(message: Row) -> list[Row]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
