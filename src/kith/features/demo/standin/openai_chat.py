"""OpenAI's chat protocol as the stand-ins speak it: a stream of events, or one answer in a piece."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from kith.features.demo.standin.engine import (
    Counts,
    Engine,
    Scripted,
    estimate,
    make_id,
    render_prompt,
    split_words,
)
from kith.features.demo.standin.http import Request, Response, json_bytes, json_response

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
_WORDS = {
    401: "Invalid API Key",
    500: "The model produced output that does not match the expected peg-native format",
    503: "Loading model",
}


class Speech(Struct, frozen=True):
    """In what the servers differ. `overflow` gets the tokens of the prompt, the window and the answer."""

    overflow: Callable[[int, int, int], dict[str, Any]]
    reasoning: str = "reasoning_content"
    counts: bool = True  # timings, progress and cached tokens are told
    reads_arguments: bool = True  # a broken call in the history is refused


def refuse(status: int, words: str = "") -> Response:
    """An error answer, in llama-server's own words when none are given."""
    return json_response(error_body(status, words), status)


def error_body(status: int, words: str = "") -> dict[str, Any]:
    words = words or _WORDS.get(status, "something went wrong")
    return {"error": {"code": status, "message": words, "type": _TYPES.get(status, "server_error")}}


async def chat(engine: Engine, request: Request, window: int, speech: Speech) -> Response:
    """Answer one chat from the script."""
    body = request.body
    if not isinstance(body, dict) or "messages" not in body:
        return refuse(400, "'messages' is required")
    try:
        prompt = render(engine, body)
    except ValueError as fault:
        if speech.reads_arguments:
            return refuse(500, f"Failed to parse tool call arguments as JSON: {fault}")
        prompt = json.dumps(body["messages"])
    if estimate(prompt) >= window:
        answer = int(body.get("max_tokens") or 0)
        return json_response(speech.overflow(estimate(prompt), window, answer), 400)
    reply = engine.answer(request, body.get("max_tokens"))
    if reply.error and (reply.error.status != 200 or not body.get("stream")):
        return reply.error.response(error_body)
    if body.get("stream"):
        headers = {"X-Accel-Buffering": "no"}
        return Response(200, _stream(engine, body, prompt, reply, speech), "text/event-stream", headers)
    async with engine.slot(prompt) as slot:
        await asyncio.sleep(reply.delay)
        return json_response(_whole(engine, body, engine.count(prompt, reply, slot), reply, speech))


def render(engine: Engine, body: Mapping[str, Any]) -> str:
    """The text that the model's template makes of a request. Raises ValueError for broken arguments.

    A template that does not keep thinking leaves it out as soon as somebody has spoken after it.
    """
    messages = list(body.get("messages") or ())
    if not engine.behaviour.keeps_thinking:
        spoken = max((at for at, each in enumerate(messages) if each.get("role") == "user"), default=0)
        messages = [_mute(each) if at < spoken else each for at, each in enumerate(messages)]
    return render_prompt(messages, body.get("tools"))


def _mute(message: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in message.items() if key not in ("reasoning_content", "reasoning")}


def _whole(
    engine: Engine, body: Mapping[str, Any], counts: Counts, reply: Scripted, speech: Speech
) -> dict[str, Any]:
    """The answer to a request that does not stream."""
    stamp = _stamp(engine, body, counts, "chat.completion")
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.thinking:
        message[speech.reasoning] = reply.thinking
    if reply.calls:
        message["tool_calls"] = [
            {"type": "function", "function": {"name": name, "arguments": args}, "id": call_id}
            for call_id, name, args in _calls(reply, stamp["id"])
        ]
    choice = {"finish_reason": _finish(reply), "index": 0, "message": message}
    name = stamp.pop("id")
    timings = {"timings": _timings(counts)} if speech.counts else {}
    return {"choices": [choice], **stamp, "usage": _usage(counts, speech), "id": name, **timings}


async def _stream(
    engine: Engine, body: Mapping[str, Any], prompt: str, reply: Scripted, speech: Speech
) -> AsyncGenerator[bytes]:
    """Role, progress, pieces, finish, usage, done: the chunks in the server's order."""
    async with engine.slot(prompt) as slot:
        counts = engine.count(prompt, reply, slot)
        stamp = _stamp(engine, body, counts, "chat.completion.chunk")
        opening = {"role": "assistant", "content": None}
        tells = speech.counts and body.get("return_progress")
        if tells:
            yield _event(_chunk(stamp, opening), prompt_progress=_progress(counts, counts.cached, 0))
        async for ping in _wait(reply.delay, engine.behaviour.ping):
            yield ping
        if tells:
            time_ms = round(counts.prefill_s * 1000)
            yield _event(_chunk(stamp, opening), prompt_progress=_progress(counts, counts.prompt, time_ms))
        yield _event(_chunk(stamp, opening))
        for delta in _deltas(reply, stamp["id"], speech):
            await asyncio.sleep(engine.behaviour.pause)
            yield _event(_chunk(stamp, delta))
        if reply.error:
            yield _event(reply.error.told(error_body, 500))
            return
        for last in _endings(stamp, counts, reply, body, speech):
            yield last


async def _wait(seconds: float, every: float) -> AsyncGenerator[bytes]:
    """Let time pass, with a comment line now and then so that the client knows somebody is there."""
    until = time.monotonic() + seconds
    while every and (left := until - time.monotonic()) > every:
        await asyncio.sleep(min(every, left))
        yield b":\n\n"
    await asyncio.sleep(max(0.0, until - time.monotonic()))


def _deltas(reply: Scripted, reply_id: str, speech: Speech) -> Iterator[dict[str, Any]]:
    """Yield the reply in pieces: thinking, text, then each call with its arguments in pieces."""
    yield from ({speech.reasoning: piece} for piece in split_words(reply.thinking))
    yield from ({"content": piece} for piece in split_words(reply.text))
    for index, (call_id, name, args) in enumerate(_calls(reply, reply_id)):
        function = {"name": name, "arguments": args[:1]}
        yield {"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]}
        for at in range(1, len(args), PIECE):
            yield {"tool_calls": [{"index": index, "function": {"arguments": args[at : at + PIECE]}}]}


def _calls(reply: Scripted, reply_id: str) -> Iterator[tuple[str, str, str]]:
    """Identifier, name and arguments of each call; a reply cut at the limit ends inside its last call."""
    for index, (name, args) in enumerate(reply.calls):
        text = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
        cut = reply.stop == "length" and index == len(reply.calls) - 1
        yield make_id(reply_id, index), name, text[: len(text) // 2] if cut else text


def _endings(
    stamp: dict[str, Any], counts: Counts, reply: Scripted, body: Mapping[str, Any], speech: Speech
) -> Iterator[bytes]:
    """The last chunks; the timings are on the very last one, which is the usage if that was asked for."""
    finish = _chunk(stamp, {}, _finish(reply))
    timings = {"timings": _timings(counts)} if speech.counts else {}
    if (body.get("stream_options") or {}).get("include_usage"):
        yield _event(finish)
        yield _event({"choices": [], **stamp}, usage=_usage(counts, speech), **timings)
    else:
        yield _event(finish, **timings)
    yield b"data: [DONE]\n\n"


def _stamp(engine: Engine, body: Mapping[str, Any], counts: Counts, kind: str) -> dict[str, Any]:
    """The fields that every chunk of one answer repeats."""
    about = engine.behaviour
    return {
        "created": int(time.time()),
        "id": "chatcmpl-" + make_id(counts.number),
        "model": str(body.get("model")) if about.router else about.model,
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


def _usage(counts: Counts, speech: Speech) -> dict[str, Any]:
    details = {"prompt_tokens_details": {"cached_tokens": counts.cached}} if speech.counts else {}
    return {
        "completion_tokens": counts.output,
        "prompt_tokens": counts.prompt,
        "total_tokens": counts.prompt + counts.output,
        **details,
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
