"""The stand-in for Anthropic's Messages API: its events, its refusals, and its caches up to marks."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from typing import Any

from kith.features.demo.standin.anthropic_cache import Reading, read_prompt
from kith.features.demo.standin.anthropic_rules import find_fault, sign
from kith.features.demo.standin.engine import Engine, make_id
from kith.features.demo.standin.http import Request, Response, json_bytes, json_response
from kith.features.demo.standin.script import Failure, Scripted
from kith.features.demo.standin.tokens import estimate, split_words

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


def _refuse(status: int, words: str = "", headers: Mapping[str, str] | None = None) -> Response:
    return json_response(error_body(status, words), status, headers or {})


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
        return _fail(reply.error)
    events = _events(engine, body, reply)
    return Response(200, _stream(engine, reply, events), "text/event-stream; charset=utf-8")


def _fail(failure: Failure) -> Response:
    body = error_body(failure.status, failure.text) if failure.body is None else failure.body
    return json_response(body, failure.status, failure.headers)


async def _stream(engine: Engine, reply: Scripted, events: Iterator[dict[str, Any]]) -> AsyncGenerator[bytes]:
    """The events in their order; one that overloads the server ends them."""
    await asyncio.sleep(reply.delay)
    for event in events:
        await asyncio.sleep(engine.behaviour.pause)
        if event["type"] == "message_delta" and reply.error:
            failure = reply.error
            yield _event(error_body(529, failure.text) if failure.body is None else failure.body)
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


def _usage(reading: Reading, reply: Scripted) -> dict[str, Any]:
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


Route = Callable[[Engine, Request], Awaitable[Response]]
_ROUTES: dict[tuple[str, str], Route] = {
    ("GET", "/v1/models"): _models,
    ("POST", "/v1/messages"): _messages,
    ("POST", "/v1/messages/count_tokens"): _count,
}
