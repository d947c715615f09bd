"""The stand-in for Anthropic's Messages API: its events, its refusals, and its caches up to marks."""

import asyncio
import json
import re
from base64 import b64encode
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from msgspec import Struct

from kith.features.demo.standin.engine import (
    Behaviour,
    Engine,
    Route,
    Scripted,
    estimate,
    make_id,
    split_words,
)
from kith.features.demo.standin.http import Request, Response, json_bytes, json_response

# How the stand-in for Anthropic caches: prefixes up to marks, found again block by block.

LOOKBACK = 20  # blocks before a mark that are compared with what is known


class CacheReading(Struct, frozen=True):
    """Tokens of a prompt: all of them, those found in the cache, and those put into it."""

    total: int
    cached: int = 0
    written: int = 0


def read_prompt(engine: Engine, body: Mapping[str, Any], *, keeps: bool = True) -> CacheReading:
    """Count a prompt, and keep its prefixes up to each mark, if they are long enough.

    Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching.
    """
    blocks = list(_cached_blocks(body))
    marks = [at for at, (_, marked) in enumerate(blocks) if marked]
    sizes = list(accumulate(-(-len(text) // 4) for text, _ in blocks))
    names = list(accumulate((make_id(text) for text, _ in blocks), lambda former, own: make_id(former, own)))
    if not blocks:
        return CacheReading(0)
    near = (at for mark in marks for at in range(mark, max(-1, mark - LOOKBACK), -1))
    cached = max((sizes[at] for at in near if names[at] in engine.prefixes), default=0)
    kept = [at for at in marks if sizes[at] >= engine.behaviour.least_cached]
    if keeps:
        engine.prefixes.update(names[at] for at in kept)
    written = max(0, sizes[kept[-1]] - cached) if kept else 0
    return CacheReading(sizes[-1], cached, written)


def _cached_blocks(body: Mapping[str, Any]) -> Iterator[tuple[bytes, bool]]:
    """Every block in the order in which it is read, and whether a cache ends there."""
    system = body.get("system") or []
    yield from (_cached_block("tool", block) for block in body.get("tools") or ())
    yield from (_cached_block("system", block) for block in ([system] if isinstance(system, str) else system))
    for message in body["messages"]:
        content = message["content"]
        for block in [content] if isinstance(content, str) else content:
            yield _cached_block(message["role"], block)


def _cached_block(kind: str, block: Any) -> tuple[bytes, bool]:
    marked = isinstance(block, dict) and "cache_control" in block
    plain = {k: v for k, v in block.items() if k != "cache_control"} if isinstance(block, dict) else block
    return kind.encode() + json_bytes(plain), marked


# What Anthropic's Messages API refuses, in its own words.

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
    faults = (_settings(body, about, counts), _tools(body), _check_messages(body, about), _marks(body))
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


def _check_messages(body: Row, about: Behaviour) -> Iterator[str]:
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
    blocks = _check_blocks(message)
    for number, block in enumerate(blocks):
        where, kind = f"messages.{at}.content.{number}", block["type"]
        wanted = {"user": ("text", "tool_result", "image"), "assistant": ("text", "tool_use", *_THOUGHTS)}
        if kind not in wanted.get(message["role"], ()):
            yield f"{where}: unexpected `{kind}` block in a {message['role']} message"
        if kind == "text" and not block["text"].strip():
            yield "messages: text content blocks must contain non-whitespace text"
        if kind == "thinking" and (fault := _unsigned(block, at, body, about)):
            yield f"{where}: {fault}"
    if blocks and blocks[-1]["type"] in _THOUGHTS:
        yield f"messages.{at}: The final block in an assistant message cannot be `{blocks[-1]['type']}`."


def _unsigned(block: Row, at: int, body: Row, about: Behaviour) -> str:
    """Describe the fault of a thought's signature; "" for none."""
    right = sign(block["thinking"], body, at, about)
    if block["signature"] == right:
        return ""
    fault = "Invalid `signature` in `thinking` block."
    is_own = block["signature"][: _OWN * 4 // 3] == right[: _OWN * 4 // 3]
    return fault + _BOUND if is_own else fault


def _pairs(at: int, messages: Sequence[Row], seen: set[str]) -> Iterator[str]:
    """Calls and results belong together, one turn after the other."""
    calls = [block for block in _check_blocks(messages[at]) if block["type"] == "tool_use"]
    for block in calls:
        if not _ID.match(block["id"]) or block["id"] in seen or not isinstance(block["input"], dict):
            yield f"messages.{at}: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$', and be unique"
        if not _NAME.match(block["name"]):
            yield f"messages.{at}: tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,200}}$'"
        seen.add(block["id"])
    following = _check_blocks(messages[at + 1]) if at + 1 < len(messages) else []
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
    at_all = [b for b in _check_blocks(messages[0]) if b["type"] == "tool_result"] if at == 0 else []
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
    at, kinds = (replies[-1][0], [b["type"] for b in _check_blocks(replies[-1][1])]) if replies else (0, [])
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
    blocks += [block for message in body.get("messages") or () for block in _check_blocks(message)]
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


def _check_blocks(message: Row) -> list[Row]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


CHAT_PATHS = ("/v1/messages",)
PIECE = 12  # characters of a call's input in one event
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
_WORDS = {401: "invalid x-api-key", 500: "Internal server error", 529: "Overloaded"}
_STOPS = {"end": "end_turn", "tools": "tool_use", "length": "max_tokens"}


async def respond(engine: Engine, request: Request) -> Response:
    """Answer one request as Anthropic would."""
    about = engine.behaviour
    if about.key and request.headers.get("x-api-key") != about.key:
        return _refuse(401)
    if "anthropic-version" not in request.headers:
        return _refuse(400, "anthropic-version: header is required")
    if request.path.startswith("/v1/models/"):
        name = request.path.removeprefix("/v1/models/")
        return json_response(_info(engine)) if name == about.model else _refuse(404, f"model: {name}")
    route = _ROUTES.get((request.method, request.path))
    return await route(engine, request) if route else _refuse(404, "Not found")


def _refuse(status: int, words: str = "") -> Response:
    return json_response(error_body(status, words), status)


def error_body(status: int, words: str = "") -> dict[str, Any]:
    """An error in Anthropic's form."""
    error = {"type": _TYPES.get(status, "api_error"), "message": words or _WORDS.get(status, "Error")}
    return {"type": "error", "error": error, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"}


def _info(engine: Engine) -> dict[str, Any]:
    """One model of the Models API, as far as anybody asks."""
    about = engine.behaviour
    modes = {mode: {"supported": mode in about.modes} for mode in ("adaptive", "enabled", "disabled")}
    return {
        "id": about.model,
        "type": "model",
        "display_name": about.model.title(),
        "created_at": "2026-02-04T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": about.window,
        "max_tokens": 64_000,
        "capabilities": {
            "structured_outputs": {"supported": "shape" in about.capabilities},
            "thinking": {"supported": bool(about.modes), "types": modes},
        },
    }


async def _models(engine: Engine, request: Request) -> Response:
    found = [_info(engine)]
    name = engine.behaviour.model
    return json_response({"data": found, "first_id": name, "has_more": False, "last_id": name})


async def _count(engine: Engine, request: Request) -> Response:
    if fault := find_fault(request.body, engine.behaviour, counts=True):
        return _refuse(400, fault)
    return json_response({"input_tokens": read_prompt(engine, request.body, keeps=False).total})


async def _messages(engine: Engine, request: Request) -> Response:
    """Answer one prompt from the script."""
    body, about = request.body, engine.behaviour
    if isinstance(body, dict) and body.get("model") != about.model:
        return _refuse(404, f"model: {body.get('model')}")
    if fault := find_fault(body, about):
        return _refuse(400, fault)
    tokens = read_prompt(engine, body, keeps=False).total
    if tokens > about.window:
        return _refuse(400, f"prompt is too long: {tokens} tokens > {about.window} maximum")
    reply = engine.answer(request, None)
    if reply.error and reply.error.status != 200:
        return reply.error.response(error_body)
    events = _events(engine, body, reply)
    return Response(200, _stream(engine, reply, events), "text/event-stream; charset=utf-8")


async def _stream(engine: Engine, reply: Scripted, events: Iterator[dict[str, Any]]) -> AsyncGenerator[bytes]:
    """The events in their order; one that overloads the server ends them."""
    await asyncio.sleep(reply.delay)
    for event in events:
        await asyncio.sleep(engine.behaviour.pause)
        if event["type"] == "message_delta" and reply.error:
            yield _event(reply.error.told(error_body, 529))
            return
        yield _event(event)


def _event(value: Mapping[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (str(value["type"]).encode(), json_bytes(value))


def _events(engine: Engine, body: Mapping[str, Any], reply: Scripted) -> Iterator[dict[str, Any]]:
    """All events of one answer."""
    reading = read_prompt(engine, body)
    engine.replies += 1
    number = engine.replies
    usage = _usage(reading, reply)
    message: dict[str, Any] = {
        "model": engine.behaviour.model,
        "id": f"msg_{make_id('message', number, length=24)}",
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
        "usage": {**usage, "output_tokens": 1, "service_tier": "standard"},
    }
    yield {"type": "message_start", "message": message}
    yield {"type": "ping"}
    for index, (start, deltas) in enumerate(_blocks(engine, body, reply, number)):
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        yield {"type": "content_block_stop", "index": index}
    delta: dict[str, Any] = {"stop_reason": _STOPS.get(reply.stop, reply.stop), "stop_sequence": None}
    if reply.stop == "refusal":
        delta["stop_details"] = {"type": "refusal", "category": "cyber", "explanation": None}
    written = reply.usage.get("output", estimate(reply.thinking + reply.text + json.dumps(reply.calls)))
    yield {"type": "message_delta", "delta": delta, "usage": {**usage, "output_tokens": written}}
    yield {"type": "message_stop"}


Block = tuple[dict[str, Any], list[dict[str, Any]]]


def _blocks(engine: Engine, body: Mapping[str, Any], reply: Scripted, number: int) -> Iterator[Block]:
    """Each block's beginning, and what is added to it."""
    if reply.thinking:
        pieces = [{"type": "thinking_delta", "thinking": piece} for piece in split_words(reply.thinking)]
        signature = sign(reply.thinking, body, len(body["messages"]), engine.behaviour)
        signed = {"type": "signature_delta", "signature": signature}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*pieces, signed]
    if reply.text:
        words = [{"type": "text_delta", "text": piece} for piece in split_words(reply.text)]
        yield {"type": "text", "text": ""}, words
    for place, (name, args) in enumerate(reply.calls):
        text = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
        if reply.stop == "length" and place == len(reply.calls) - 1:
            text = text[: len(text) // 2]
        call_id = f"toolu_{make_id('call', number, place, length=24)}"
        inputs = ["", *(text[at : at + PIECE] for at in range(0, len(text), PIECE))]
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in inputs]
        yield {"type": "tool_use", "id": call_id, "name": name, "input": {}}, deltas


def _usage(reading: CacheReading, reply: Scripted) -> dict[str, Any]:
    """The counts; where the script has its own, `input` is everything that was read."""
    cached, written = (
        reply.usage.get(key, usual)
        for key, usual in (("cached", reading.cached), ("written", reading.written))
    )
    return {
        "input_tokens": reply.usage.get("input", reading.total) - cached - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
    }


_ROUTES: dict[tuple[str, str], Route] = {
    ("GET", "/v1/models"): _models,
    ("POST", "/v1/messages"): _messages,
    ("POST", "/v1/messages/count_tokens"): _count,
}
