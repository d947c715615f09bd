"""The stand-in for the Gemini API: its chunks, refusals and signatures, and a cache that nobody asks for."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any

from kith.features.demo.standin.engine import Behaviour, Engine, make_id
from kith.features.demo.standin.gemini_rules import find_fault, needs_signatures, sign
from kith.features.demo.standin.http import Request, Response, json_bytes, json_response
from kith.features.demo.standin.script import Failure, Scripted
from kith.features.demo.standin.tokens import estimate, shared_tokens, split_words

CHAT_PATHS = ("/v1beta/models/*:streamGenerateContent",)
_STATUS = {
    400: "INVALID_ARGUMENT",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
_WORDS = {
    429: "You exceeded your current quota, please check your plan and billing details.",
    500: "An internal error has occurred. Please retry.",
    503: "The model is overloaded. Please try again later.",
}
_STOPS = {"end": "STOP", "tools": "STOP", "length": "MAX_TOKENS"}
_BROKEN = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")  # their text is said of the reply, not in it


async def respond(engine: Engine, request: Request) -> Response:
    """Answer one request as Google would."""
    about = engine.behaviour
    if "key" in request.query:
        raise AssertionError("a key stands in an address, where logs keep it")
    given = request.headers.get("x-goog-api-key")
    if about.key and not given:
        return _refuse(
            403, "Method doesn't allow unregistered callers (callers without established identity)."
        )
    if about.key and given != about.key:
        return _refuse(400, "API key not valid. Please pass a valid API key.")
    if request.path == "/v1beta/models":
        return json_response({"models": [_info(about)]})
    name, _, action = request.path.removeprefix("/v1beta/models/").partition(":")
    if name != about.model:
        words = f"models/{name} is not found for API version v1beta, or is not supported for generateContent."
        return _refuse(404, words)
    if request.method == "GET":
        return json_response(_info(about))
    if action == "countTokens":
        return _count(engine, request)
    return (
        await _generate(engine, request) if action == "streamGenerateContent" else _refuse(404, "Not found")
    )


def _refuse(status: int, words: str = "") -> Response:
    return json_response(error_body(status, words), status)


def error_body(status: int, words: str = "", delay: float | None = None) -> dict[str, Any]:
    """An error in Google's form, with the wish to be left alone for so many seconds."""
    name = _STATUS.get(status, "UNKNOWN")
    error: dict[str, Any] = {"code": status, "message": words or _WORDS.get(status, name), "status": name}
    if delay is not None:
        info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{delay:g}s"}
        error["details"] = [info]
    return {"error": error}


def _info(about: Behaviour) -> dict[str, Any]:
    return {
        "name": f"models/{about.model}",
        "version": "001",
        "displayName": about.model.title(),
        "inputTokenLimit": about.window,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens", "createCachedContent"],
        "temperature": 1,
        "topP": 0.95,
        "topK": 64,
        "thinking": "thinking" in about.capabilities,
    }


def _count(engine: Engine, request: Request) -> Response:
    body = dict(request.body["generateContentRequest"])
    named = body.pop("model", "")
    if named != f"models/{engine.behaviour.model}":
        return _refuse(400, "* GenerateContentRequest.model: unexpected model name format")
    fault = find_fault(body, engine.behaviour)
    total = {"totalTokens": estimate(_prompt(body)), "promptTokensDetails": []}
    return _refuse(400, fault) if fault else json_response(total)


async def _generate(engine: Engine, request: Request) -> Response:
    """Answer one prompt from the script."""
    body, about = request.body, engine.behaviour
    if request.query.get("alt") != "sse":
        return _refuse(400, "this stand-in only streams events: ask with alt=sse")
    if fault := find_fault(body, about):
        return _refuse(400, fault)
    tokens = estimate(_prompt(body))
    if tokens > about.window:
        words = (
            f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({about.window})."
        )
        return _refuse(400, words)
    reply = engine.answer(request, None)
    if reply.error and reply.error.status != 200:
        return _fail(reply.error)
    return Response(200, _stream(engine, body, reply), "text/event-stream")


def _fail(failure: Failure) -> Response:
    """A refusal in JSON; Google puts the wish to wait into the body, not into a header."""
    body = error_body(failure.status, failure.text, failure.after_s) if failure.body is None else failure.body
    return json_response(body, failure.status)


async def _stream(engine: Engine, body: Mapping[str, Any], reply: Scripted) -> AsyncGenerator[bytes]:
    """Chunks of parts; the last one has the reason for the end, and all of them what was counted so far."""
    usage = _usage(engine, body, reply)
    await asyncio.sleep(reply.delay)
    number = engine.replies
    for part in _parts(engine.behaviour, reply, number):
        await asyncio.sleep(engine.behaviour.pause)
        yield _chunk(engine, number, {"content": {"parts": [part], "role": "model"}, "index": 0}, usage)
    if reply.error:
        yield b"data: %b\r\n\r\n" % json_bytes(
            error_body(503, reply.error.text) if reply.error.body is None else reply.error.body
        )
        return
    last: dict[str, Any] = {"finishReason": _STOPS.get(reply.stop, reply.stop), "index": 0}
    if reply.stop in _BROKEN and reply.text:
        last["finishMessage"] = reply.text
    elif reply.stop not in _BROKEN:
        last = {"content": {"parts": [{"text": ""}], "role": "model"}, **last}
    yield _chunk(engine, number, last, usage | _written(reply, usage))


def _chunk(engine: Engine, number: int, candidate: dict[str, Any], usage: dict[str, Any]) -> bytes:
    value = {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": engine.behaviour.model,
        "responseId": make_id("response", number, length=22),
    }
    return b"data: %b\r\n\r\n" % json_bytes(value)


def _parts(about: Behaviour, reply: Scripted, number: int) -> Iterator[dict[str, Any]]:
    """Thoughts, words, and calls; the first call is signed, or else the last words."""
    if reply.thinking:
        yield {"text": reply.thinking, "thought": True}
    pieces = [] if reply.stop in _BROKEN else split_words(reply.text)
    yield from ({"text": piece} for piece in pieces[:-1])
    if pieces:
        signs = not reply.calls and reply.thinking
        signed = {"thoughtSignature": sign(about, "text")} if signs else {}
        yield {"text": pieces[-1], **signed}
    for place, (name, args) in enumerate(reply.calls):
        known = args if isinstance(args, Mapping) else json.loads(args)
        call_id = make_id("call", number, place, length=8)
        row: dict[str, Any] = {"functionCall": {"name": name, "args": known, "id": call_id}}
        signed = {"thoughtSignature": sign(about, name)} if needs_signatures(about) and not place else {}
        yield {**row, **signed}


def _prompt(body: Mapping[str, Any]) -> str:
    """What is read, in its order."""
    return json.dumps([body.get(key) for key in ("systemInstruction", "tools", "contents")])


def _usage(engine: Engine, body: Mapping[str, Any], reply: Scripted) -> dict[str, Any]:
    """Prompt tokens, those among them that an earlier prompt began with: of that, enough must be alike."""
    prompt = _prompt(body)
    cached = max((shared_tokens(former, prompt) for former in engine.prompts), default=0)
    engine.prompts.append(prompt)
    engine.replies += 1
    cached = reply.usage.get("cached", cached if cached >= engine.behaviour.least_cached else 0)
    total = reply.usage.get("input", estimate(prompt))
    told = {"cachedContentTokenCount": cached} if cached else {}
    return {"promptTokenCount": total, "totalTokenCount": total, **told}


def _written(reply: Scripted, usage: Mapping[str, Any]) -> dict[str, Any]:
    thoughts = estimate(reply.thinking)
    said = reply.usage.get("output", thoughts + estimate(reply.text + json.dumps(reply.calls))) - thoughts
    told = {"thoughtsTokenCount": thoughts} if thoughts else {}
    total = usage["promptTokenCount"] + said + thoughts
    return {"candidatesTokenCount": said, **told, "totalTokenCount": total}
