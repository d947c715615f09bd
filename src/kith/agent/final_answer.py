"""A task's final answer as one JSON value that follows the person's JSON Schema."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from kith.core.errors import ModelError, UsageError
from kith.core.events import Notice
from kith.core.loop import begin_turn, once
from kith.core.model import Prompt, Role
from kith.core.patterns import lazy_pattern
from kith.core.run import Run, Thread
from kith.core.values import Message, say

Schema = Mapping[str, Any]
ASKS: Final = 3  # requests for the value, each telling what is wrong with the one before
SCHEMA_LIMIT: Final = 50_000  # characters: a model is told all of it
_DEPTH: Final = 60  # of nested lists and objects
_FAULT: Final = 300  # characters
_AUTHOR: Final = "schema"
_FENCED: Final = lazy_pattern(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL | re.IGNORECASE)
UNHELD: Final = (
    "The server cannot hold a reply to this schema; kith checks the reply and asks again if it must."
)


class JsonAnswer(Struct, frozen=True):
    """The value in a reply; UNSET if `fault` tells why there is none that follows the schema."""

    value: Any | UnsetType = UNSET
    fault: str = ""


# --- the schema, as the person gave it -------------------------------------------------------


def read_schema(text: str, name: str) -> dict[str, Any]:
    """Read a JSON Schema from a file's text. Raises UsageError, a sentence that names the file."""
    from jsonschema.exceptions import best_match
    from jsonschema.validators import Draft202012Validator, validator_for

    if len(text) > SCHEMA_LIMIT:
        raise UsageError(f"{name} is over the limit of {SCHEMA_LIMIT:,} characters for a schema.")
    try:
        schema = _load(text)
    except ValueError as error:
        raise UsageError(f"{name} is not JSON: {error}.") from error
    if not isinstance(schema, dict):
        raise UsageError(f"{name} must hold a JSON Schema, which is a JSON object.")
    try:
        kind = validator_for(schema, Draft202012Validator)
        about = kind(kind.META_SCHEMA, format_checker=kind.FORMAT_CHECKER)  # which compiles the patterns
        fault = best_match(about.iter_errors(schema))
    except (
        RecursionError,
        TypeError,
        AttributeError,
        ValueError,
    ) as error:  # of a $schema that is no address
        raise UsageError(f"{name} is not a JSON Schema that kith can read.") from error
    if fault:
        where = f" at {fault.json_path}" if fault.absolute_path else ""
        raise UsageError(f"{name} is not a JSON Schema: {fault.message:.{_FAULT}}{where}.")
    if outside := next((ref for ref in _references(schema) if not ref.startswith("#")), ""):
        raise UsageError(f"{name} refers to {outside:.80}; kith reads no schema but this file.")
    _check_references(schema, name)
    return schema


def _load(text: str) -> Any:
    """Load strict JSON. Raises ValueError, also for NaN, and for what is nested too deeply."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if _depth(value) > _DEPTH:
        raise ValueError("it is nested too deeply")
    return value


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON number")


def _depth(value: Any) -> int:
    """Count the levels of lists and objects."""
    level, depth = [value], 0
    while level := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
    return depth


def _references(schema: Schema) -> Iterator[str]:
    """Every reference in a schema."""
    rest: list[Any] = [schema]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            yield from (value[key] for key in ("$ref", "$dynamicRef") if isinstance(value.get(key), str))
            rest += value.values()
        elif isinstance(value, list):
            rest += value


def _check_references(schema: Schema, name: str) -> None:
    """Look each reference up. Raises UsageError for one that leads nowhere."""
    from referencing import Registry, Resource
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    resource = Resource.from_contents(schema, default_specification=DRAFT202012)
    resolver = Registry().with_resource("", resource).resolver()
    for ref in _references(schema):
        try:
            resolver.lookup(ref)
        except (Unresolvable, ValueError, TypeError) as error:
            raise UsageError(f"{name} refers to {ref:.80}, which it does not define.") from error


# --- the value, as a reply holds it -----------------------------------------------------------


def read_answer(text: str, schema: Schema) -> JsonAnswer:
    """The value that a reply holds: alone, in the one fence, or in the middle of other words."""
    why = ""
    for candidate in _candidates(text):
        try:
            value = _load(candidate)
        except ValueError as error:
            why = str(error)
            continue
        fault = _fault_of(value, schema)
        return JsonAnswer(fault=fault) if fault else JsonAnswer(value)
    detail = f": {why}" if why and text.strip().startswith(("{", "[")) else ""
    return JsonAnswer(fault=f"it is not one JSON value{detail}")


def _candidates(text: str) -> Iterator[str]:
    text = text.strip()
    if text:
        yield text
    fenced = _FENCED.findall(text)
    if len(fenced) == 1:
        yield fenced[0]
    if starts := [at for at in (text.find("{"), text.find("[")) if at > 0]:
        start = min(starts)
        end = text.rfind("}" if text[start] == "{" else "]")
        yield text[start : end + 1]


def _fault_of(value: Any, schema: Schema) -> str:
    """Tell what is wrong with a value, "" if it follows the schema."""
    from jsonschema.exceptions import best_match
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry

    validator = validator_for(schema, Draft202012Validator)(schema, registry=Registry())
    try:
        error = best_match(validator.iter_errors(value))
    except RecursionError:
        return "the schema refers to itself without end"
    return f"{error.json_path}: {error.message:.{_FAULT}}" if error else ""


# --- asking for it -----------------------------------------------------------------------------


def announce(words: str, schema: Schema) -> str:
    """A task's words, and what its answer will have to look like."""
    return (
        f"{words}\n\nWhen you have finished, you will be asked for your answer as one JSON value that "
        f"follows this JSON Schema. Work as usual until then, and find out what it needs.\n{_compact(schema)}"
    )


async def give_answer(run: Run, role: Role, thread: Thread, schema: Schema) -> JsonAnswer:
    """Ask for the value in the thread of a finished task, unless its last words are one already.

    The reply is held to the schema where the server can; one that does not follow it is asked for again.
    Raises LimitError, ModelError.
    """
    answer = read_answer(thread.last_words, schema)
    if not answer.fault:
        return answer
    shape: Schema | None = schema
    with run.step("the answer as JSON", kind="answer") as step:
        begin_turn(step, thread, say(_request(schema), _AUTHOR))
        for attempt in range(1, ASKS + 1):
            prompt = Prompt(
                *(role.system, once(thread.messages), role.tools, role.purpose, attempt, role.sampling),
                thread=thread.name,
            )
            message, shape = await _ask(step, role, prompt, shape)
            thread.add(step, message)
            answer = read_answer(message.text, schema)
            if not message.complete:
                answer = JsonAnswer(fault="your reply was cut at the token limit; a shorter one is needed")
            if not answer.fault:
                break
            if attempt < ASKS:
                words = f"That is no answer that can be used: {answer.fault}. {_request(schema)}"
                begin_turn(step, thread, say(words, _AUTHOR))
    return answer


async def _ask(run: Run, role: Role, prompt: Prompt, shape: Schema | None) -> tuple[Message, Schema | None]:
    """Ask once; where the server refuses the schema, ask without it from then on."""
    try:
        reply = await role.model(replace(prompt, shape=shape), run.emit)
    except ModelError as error:
        if shape is None or error.retryable or error.overflow:
            raise
        run.emit(Notice(UNHELD))
        shape = None
        reply = await role.model(prompt, run.emit)
    return replace(reply.message, complete=reply.stop != "length"), shape


def _request(schema: Schema) -> str:
    return (
        "Give your answer now: one JSON value and nothing else, no tool calls. "
        f"It has to follow this JSON Schema:\n{_compact(schema)}"
    )


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
