"""The stand-in for llama-server: its chat protocol over server-sent events, byte for byte, and its probes."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from typing import Any

from kith.models.standin.engine import Counts, Engine, make_id
from kith.models.standin.http import Request, Response, json_bytes, json_response
from kith.models.standin.script import Failure, Scripted
from kith.models.standin.tokens import BYTES_PER_TOKEN, estimate, render_prompt, split_words

CHAT_PATHS = ("/v1/chat/completions", "/chat/completions")
PIECE = 8  # characters of a tool call's arguments in one chunk

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    500: "server_error",
    501: "not_supported_error",
    503: "unavailable_error",
}
_NO_ROUTE = {"message": "File Not Found", "type": "not_found_error", "code": 404}
_WORDS = {
    401: "Invalid API Key",
    500: "The model produced output that does not match the expected peg-native format",
    503: "Loading model",
}


async def respond(engine: Engine, request: Request) -> Response:
    """Answer one request as llama-server would."""
    route = _ROUTES.get((request.method, request.path))
    if engine.loading:
        return refuse(503)
    if route is None:
        return json_response({"error": _NO_ROUTE}, 404)
    return await route(engine, request)


def refuse(status: int, words: str = "") -> Response:
    """An error answer, in the server's own words when none are given."""
    return json_response(error_body(status, words), status)


def error_body(status: int, words: str = "") -> dict[str, Any]:
    words = words or _WORDS.get(status, "something went wrong")
    return {"error": {"code": status, "message": words, "type": _TYPES.get(status, "server_error")}}


def overflow_body(tokens: int, window: int) -> dict[str, Any]:
    """What is said to a prompt that does not fit."""
    words = (
        f"request ({tokens} tokens) exceeds the available context size ({window} tokens), try increasing it"
    )
    kind = "exceed_context_size_error"
    return {
        "error": {"code": 400, "message": words, "type": kind, "n_prompt_tokens": tokens, "n_ctx": window}
    }


# --- probes ----------------------------------------------------------------------------------


async def _health(engine: Engine, request: Request) -> Response:
    return json_response({"status": "ok"})


async def _props(engine: Engine, request: Request) -> Response:
    about = engine.behaviour
    tools = "tools" in about.capabilities
    return json_response(
        {
            "default_generation_settings": {
                "params": {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05, "max_tokens": -1},
                "n_ctx": about.window,
            },
            "total_slots": 1,
            "model_alias": about.model,
            "model_ftype": "Q4_K_M",
            "model_path": f"/models/{about.model}.gguf",
            "modalities": {"vision": False, "video": False, "audio": False},
            "endpoint_slots": True,
            "endpoint_props": False,
            "endpoint_metrics": False,
            "chat_template": "{{ messages }}",
            "chat_template_caps": {
                "supports_object_arguments": True,
                "supports_parallel_tool_calls": tools,
                "supports_preserve_reasoning": True,
                "supports_reasoning_effort": False,
                "supports_string_content": True,
                "supports_system_role": True,
                "supports_tool_calls": tools,
                "supports_tools": tools,
                "supports_typed_content": False,
            },
            "bos_token": "<|endoftext|>",
            "eos_token": "<|im_end|>",
            "build_info": "b0-standin",
            "is_sleeping": False,
        }
    )


async def _models(engine: Engine, request: Request) -> Response:
    about = engine.behaviour
    meta = {"vocab_type": 2, "n_vocab": 151_936, "n_ctx": about.window, "n_ctx_train": about.trained}
    size = {"n_embd": 3584, "n_params": 7_615_616_512, "size": 4_677_120_000, "ftype": "Q4_K_M"}
    model = {"id": about.model, "aliases": [about.model], "tags": [], "object": "model"}
    return json_response(
        {
            "models": [{"name": about.model, "model": about.model, "capabilities": ["completion"]}],
            "object": "list",
            "data": [
                {**model, "created": int(time.time()), "owned_by": "llamacpp", "meta": {**meta, **size}}
            ],
        }
    )


async def _slots(engine: Engine, request: Request) -> Response:
    slot = {"id": 0, "n_ctx": engine.behaviour.window, "speculative": False}
    return json_response([{**slot, "is_processing": engine.slot.locked()}])


async def _tokenize(engine: Engine, request: Request) -> Response:
    text = str((request.body or {}).get("content", "")).encode()
    starts = range(0, len(text), BYTES_PER_TOKEN)
    return json_response({"tokens": [int.from_bytes(text[at : at + BYTES_PER_TOKEN]) for at in starts]})


async def _input_tokens(engine: Engine, request: Request) -> Response:
    count = estimate(render_prompt(request["messages"], request.body.get("tools")))
    return json_response({"input_tokens": count, "object": "response.input_tokens"})


# --- chat ------------------------------------------------------------------------------------


async def _chat(engine: Engine, request: Request) -> Response:
    body, window = request.body, engine.behaviour.window
    if not isinstance(body, dict) or "messages" not in body:
        return refuse(400, "'messages' is required")
    try:
        prompt = render_prompt(body["messages"], body.get("tools"))
    except ValueError as fault:
        return refuse(500, f"Failed to parse tool call arguments as JSON: {fault}")
    if estimate(prompt) >= window:
        return json_response(overflow_body(estimate(prompt), window), 400)
    reply = engine.next_reply(request)
    if reply.error and (reply.error.status != 200 or not body.get("stream")):
        return _fail(reply.error)
    if body.get("stream"):
        headers = {"X-Accel-Buffering": "no"}
        return Response(200, _stream(engine, body, prompt, reply), "text/event-stream", headers)
    async with engine.slot:
        await asyncio.sleep(reply.delay)
        return json_response(_whole(engine, engine.count(prompt, reply), reply))


def _fail(failure: Failure) -> Response:
    status = 500 if failure.status == 200 else failure.status
    return json_response(_failure_body(failure, status), status, failure.headers)


def _failure_body(failure: Failure, status: int) -> Any:
    return error_body(status, failure.text) if failure.body is None else failure.body


def _whole(engine: Engine, counts: Counts, reply: Scripted) -> dict[str, Any]:
    """The answer to a request that does not stream."""
    stamp = _stamp(engine, counts, "chat.completion")
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.thinking:
        message["reasoning_content"] = reply.thinking
    if reply.calls:
        message["tool_calls"] = [
            {"type": "function", "function": {"name": name, "arguments": args}, "id": call_id}
            for call_id, name, args in _calls(reply, stamp["id"])
        ]
    choice = {"finish_reason": _finish(reply), "index": 0, "message": message}
    name = stamp.pop("id")
    return {"choices": [choice], **stamp, "usage": _usage(counts), "id": name, "timings": _timings(counts)}


async def _stream(
    engine: Engine, body: Mapping[str, Any], prompt: str, reply: Scripted
) -> AsyncGenerator[bytes]:
    """Role, progress, pieces, finish, usage, done: the chunks in the server's order."""
    async with engine.slot:
        counts = engine.count(prompt, reply)
        stamp = _stamp(engine, counts, "chat.completion.chunk")
        opening = {"role": "assistant", "content": None}
        if body.get("return_progress"):
            yield _event(_chunk(stamp, opening), prompt_progress=_progress(counts, counts.cached, 0))
        async for ping in _wait(reply.delay, engine.behaviour.ping):
            yield ping
        if body.get("return_progress"):
            time_ms = round(counts.prefill_s * 1000)
            yield _event(_chunk(stamp, opening), prompt_progress=_progress(counts, counts.prompt, time_ms))
        yield _event(_chunk(stamp, opening))
        for delta in _deltas(reply, stamp["id"]):
            await asyncio.sleep(engine.behaviour.pause)
            yield _event(_chunk(stamp, delta))
        if reply.error:
            yield _event(_failure_body(reply.error, 500))
            return
        for last in _endings(stamp, counts, reply, body):
            yield last


async def _wait(seconds: float, every: float) -> AsyncGenerator[bytes]:
    """Let time pass, with a comment line now and then so that the client knows somebody is there."""
    until = time.monotonic() + seconds
    while every and (left := until - time.monotonic()) > every:
        await asyncio.sleep(min(every, left))
        yield b":\n\n"
    await asyncio.sleep(max(0.0, until - time.monotonic()))


def _deltas(reply: Scripted, reply_id: str) -> Iterator[dict[str, Any]]:
    """What the model says, in pieces: thinking, text, then each call with its arguments in pieces."""
    yield from ({"reasoning_content": piece} for piece in split_words(reply.thinking))
    yield from ({"content": piece} for piece in split_words(reply.text))
    for index, (call_id, name, args) in enumerate(_calls(reply, reply_id)):
        function = {"name": name, "arguments": args[:1]}
        yield {"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]}
        for at in range(1, len(args), PIECE):
            yield {"tool_calls": [{"index": index, "function": {"arguments": args[at : at + PIECE]}}]}


def _calls(reply: Scripted, reply_id: str) -> Iterator[tuple[str, str, str]]:
    """Identifier, name and arguments of each call; a reply cut at the limit ends inside its last call."""
    for index, (name, args) in enumerate(reply.calls):
        text = json.dumps(args, ensure_ascii=False)
        cut = reply.stop == "length" and index == len(reply.calls) - 1
        yield make_id(reply_id, index), name, text[: len(text) // 2] if cut else text


def _endings(
    stamp: dict[str, Any], counts: Counts, reply: Scripted, body: Mapping[str, Any]
) -> Iterator[bytes]:
    """The last chunks; the timings are on the very last one, which is the usage if that was asked for."""
    finish = _chunk(stamp, {}, _finish(reply))
    if (body.get("stream_options") or {}).get("include_usage"):
        yield _event(finish)
        yield _event({"choices": [], **stamp}, usage=_usage(counts), timings=_timings(counts))
    else:
        yield _event(finish, timings=_timings(counts))
    yield b"data: [DONE]\n\n"


def _stamp(engine: Engine, counts: Counts, kind: str) -> dict[str, Any]:
    """The fields that every chunk of one answer repeats."""
    return {
        "created": int(time.time()),
        "id": "chatcmpl-" + make_id(counts.number),
        "model": engine.behaviour.model,
        "system_fingerprint": "b0-standin",
        "object": kind,
    }


def _chunk(stamp: dict[str, Any], delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"finish_reason": finish, "index": 0, "delta": delta}], **stamp}


def _event(value: dict[str, Any], **more: Any) -> bytes:
    return b"data: " + json_bytes({**value, **more}) + b"\n\n"


def _finish(reply: Scripted) -> str:
    return {"end": "stop", "tools": "tool_calls"}.get(reply.stop, reply.stop)


def _progress(counts: Counts, processed: int, time_ms: int) -> dict[str, int]:
    return {"total": counts.prompt, "cache": counts.cached, "processed": processed, "time_ms": time_ms}


def _usage(counts: Counts) -> dict[str, Any]:
    return {
        "completion_tokens": counts.output,
        "prompt_tokens": counts.prompt,
        "total_tokens": counts.prompt + counts.output,
        "prompt_tokens_details": {"cached_tokens": counts.cached},
    }


def _timings(counts: Counts) -> dict[str, float]:
    prompt_ms, predicted_ms = counts.prefill_s * 1000, counts.decode_s * 1000
    new, output = max(counts.new, 1), max(counts.output, 1)
    return {
        "cache_n": counts.cached,
        "prompt_n": counts.new,
        "prompt_ms": prompt_ms,
        "prompt_per_token_ms": prompt_ms / new,
        "prompt_per_second": counts.new / max(counts.prefill_s, 1e-6),
        "predicted_n": counts.output,
        "predicted_ms": predicted_ms,
        "predicted_per_token_ms": predicted_ms / output,
        "predicted_per_second": counts.output / max(counts.decode_s, 1e-6),
    }


Route = Callable[[Engine, Request], Awaitable[Response]]
_ROUTES: dict[tuple[str, str], Route] = {
    ("GET", "/health"): _health,
    ("GET", "/props"): _props,
    ("GET", "/v1/models"): _models,
    ("GET", "/models"): _models,
    ("GET", "/slots"): _slots,
    ("POST", "/tokenize"): _tokenize,
    ("POST", "/v1/chat/completions/input_tokens"): _input_tokens,
    **{("POST", path): _chat for path in CHAT_PATHS},
}
