"""What the Gemini API refuses, in its own words."""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kith.features.demo.standin.engine import Behaviour, make_id

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
    """Whether the model signs its calls, and wants that back: all do since Gemini 3."""
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
        yield from _parts(at, parts, about)
        before = calls


def _parts(at: int, parts: Sequence[Row], about: Behaviour) -> Iterator[str]:
    signed = {*FOREIGN, sign(about, "text")}
    for number, part in enumerate(parts):
        where = f"GenerateContentRequest.contents[{at}].parts[{number}]"
        call = part.get("functionCall")
        signature = part.get("thoughtSignature")
        if len(part.keys() & {"text", "functionCall", "functionResponse"}) != 1:
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
