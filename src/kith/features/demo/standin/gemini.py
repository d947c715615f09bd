"""The stand-in for the Gemini API: its chunks, refusals and signatures, and a cache that nobody asks for."""

import asyncio
import json
import re
from base64 import b64encode
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any

from kith.features.demo.standin.engine import (
    Behaviour,
    Engine,
    Failure,
    Scripted,
    estimate,
    make_id,
    shared_tokens,
    split_words,
)
from kith.features.demo.standin.http import Request, Response, json_bytes, json_response

# What the Gemini API refuses, in its own words.

# Documented for calls that another model made.
FOREIGN = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
_NAME = re.compile(r"^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$")
_KEYS = {"systemInstruction", "contents", "tools", "toolConfig", "generationConfig", "safetySettings"}
_UNEQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function call parts "
    "of the function call turn."
)
_MISPLACED = (
    "Please ensure that function response turn comes immediately after a function call turn, and a function "
    "call turn immediately after a user turn or after a function response turn."
)

Row = Mapping[str, Any]


def find_fault(body: Any, about: Behaviour) -> str:
    """The first thing that is wrong with a request, or nothing."""
    if not isinstance(body, dict):
        return "Invalid JSON payload received."
    if unknown := body.keys() - _KEYS:
        return f'Invalid JSON payload received. Unknown name "{min(unknown)}": Cannot find field.'
    faults = (_config(body, about), _tools(body), _contents(body, about))
    return next((fault for each in faults for fault in each), "")


def needs_signatures(about: Behaviour) -> bool:
    """True if the model signs its calls and requires the signatures: all do since Gemini 3."""
    return not re.match(r"gemini-[12]", about.model)


def sign(about: Behaviour, part: str) -> str:
    """The signature of a call by its name, or of words: of this model, and of this part."""
    return b64encode(make_id(about.model, part, length=42).encode()).decode()


def _config(body: Row, about: Behaviour) -> Iterator[str]:
    config = body.get("generationConfig") or {}
    thinking = config.get("thinkingConfig") or {}
    if "thinkingBudget" in thinking and "thinkingLevel" in thinking:
        yield "You can only set one of thinking budget and thinking level."
    if "thinkingLevel" in thinking and not needs_signatures(about):
        yield "Thinking level is not supported for this model."
    if thinking and "thinking" not in about.capabilities:
        yield "Thinking is not enabled for this model"
    if "responseJsonSchema" in config and config.get("responseMimeType") != "application/json":
        yield "responseJsonSchema needs the response mime type 'application/json'"
    if "responseJsonSchema" in config and body.get("tools") and not needs_signatures(about):
        yield "Function calling with a response mime type: 'application/json' is unsupported"
    if "system" in {content.get("role") for content in body.get("contents") or ()}:
        yield "Please use a valid role: user, model."


def _tools(body: Row) -> Iterator[str]:
    for tool in body.get("tools") or ():
        for at, declared in enumerate(tool.get("functionDeclarations") or ()):
            where = f"GenerateContentRequest.tools[0].function_declarations[{at}]"
            if not _NAME.match(str(declared.get("name"))):
                yield f"{where}.name: Invalid function name. Must start with a letter or an underscore."
            if "parameters" in declared and "parametersJsonSchema" in declared:
                yield f"{where}: parameters and parametersJsonSchema are mutually exclusive"


def _contents(body: Row, about: Behaviour) -> Iterator[str]:
    contents: Sequence[Row] = body.get("contents") or ()
    if not contents:
        yield "* GenerateContentRequest.contents: contents is not specified"
        return
    if contents[-1].get("role") != "user":
        yield "Please ensure that single turn requests end with a user role or the role field is empty."
    before: list[Row] = []  # calls of the turn before
    for at, content in enumerate(contents):
        parts = content.get("parts") or ()
        if not parts:
            yield f"* GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty."
        if content.get("role") != ("model" if at % 2 else "user"):
            yield "Please ensure that multiturn requests alternate between user and model."
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if (calls and content.get("role") != "model") or (answers and not before):
            yield _MISPLACED
        if [(each.get("id"), each["name"]) for each in before] != [
            (each.get("id"), each["name"]) for each in answers
        ]:
            yield _UNEQUAL
        yield from _check_parts(at, parts, about)
        before = calls


def _check_parts(at: int, parts: Sequence[Row], about: Behaviour) -> Iterator[str]:
    signed = {*FOREIGN, sign(about, "text")}
    for number, part in enumerate(parts):
        where = f"GenerateContentRequest.contents[{at}].parts[{number}]"
        call = part.get("functionCall")
        signature = part.get("thoughtSignature")
        if len(part.keys() & {"text", "functionCall", "functionResponse", "inlineData"}) != 1:
            yield f"* {where}.data: required oneof field 'data' must have one initialized field"
        if "text" in part and not part["text"] and not signature:
            yield f"{where}: Unable to submit request because it must have a text parameter"
        if call and not _NAME.match(str(call.get("name"))):
            yield f"{where}.function_call.name: Invalid function name."
        if "functionResponse" in part and not isinstance(part["functionResponse"].get("response"), dict):
            yield f"{where}.function_response.response: must be an object"
        if signature and signature not in {*signed, *([sign(about, call["name"])] if call else ())}:
            yield "Corrupted thought signature."
    first = next(((n, part) for n, part in enumerate(parts) if "functionCall" in part), None)
    if first and needs_signatures(about) and not first[1].get("thoughtSignature"):
        yield (
            "Function call is missing a thought_signature in functionCall parts. This is required for tools "
            "to work correctly, and missing thought_signature may lead to degraded model performance. "
            f"Additional data, function call `default_api:{first[1]['functionCall']['name']}` , "
            f"position {first[0]}."
        )


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
    """Build an error in Google's form, with a retry delay in seconds."""
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
    """Build a refusal in JSON; Google puts the retry delay into the body, not into a header."""
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
        yield b"data: %b\r\n\r\n" % json_bytes(reply.error.told(error_body, 503))
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
    """Return the prompt's parts, in reading order."""
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
