"""From a reply's text to what it says and which of the offered tools it calls."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kith.core.loop import CUT
from kith.core.model import Tool
from kith.core.run import new_id
from kith.core.values import ToolCall
from kith.models.dialects.coerce import find_tool, fit_args, fits, nearest_tool, translate
from kith.models.dialects.json_text import Found, guess_name, named_in, read_json, skip
from kith.models.dialects.marks import Marked, after_thoughts, is_marked, mark_calls
from kith.models.dialects.pythonic import read_calls_of, read_list

# Calls that look like any other code: JSON or a Python list, fenced or as the whole reply.

SHORT = 240  # characters of prose that may stand before: more is an explanation, and what follows an example
_BEGINS = re.compile(r"^[ \t]*(?=[\[{])", re.MULTILINE)
_INFO = re.compile(r"[ \t]*(?:`{3,}|~{3,})[ \t]*([^\s`]*)[^\n]*(?:\n|\Z)")
_CLOSING = re.compile(r"\n?[ \t]*(?:`{3,}|~{3,})[ \t]*\Z")
_OBJECT = re.compile(r"\s*\[?\s*\{")
_ARGUMENTS = re.compile(r"""["'](?:arguments|parameters|args|input|params)["']\s*:""")
_BETWEEN = re.compile(r"[\s;,]*")
_INFOS = ("", "json", "jsonc", "xml", "tool_call", "tool", "tool_code")


def find_bare(text: str, begin: int, repair: bool) -> tuple[Found, ...]:
    """The calls that a reply is from `begin` on, or ends with after few words, on lines of their own.

    Whether they are meant, the tools must show.
    """
    place = _BEGINS.search(text[begin:])
    if place is None:
        return ()
    start = begin + place.end()
    if len(text[begin:start].strip()) > SHORT or is_marked(text, begin, start):
        return ()
    if calls := read_list(text[start:]):
        return tuple(Found(start, len(text), name, args) for name, args in calls)
    return _objects(text, start, len(text), repair)


def find_fenced(text: str, marked: Marked, repair: bool) -> tuple[Found, ...]:
    """The calls in the fenced blocks that end a reply after few words; again the tools must show."""
    if not marked.fences or len(text[marked.begin : marked.fences[0][0]].strip()) > SHORT:
        return ()
    found: list[Found] = []
    for index, (begin, end) in enumerate(marked.fences):
        following = marked.fences[index + 1][0] if index + 1 < len(marked.fences) else len(text)
        inside = _in_fence(text, begin, end, repair)
        if not inside or text[end:following].strip():
            return ()
        found += inside
    return tuple(found)


def _in_fence(text: str, begin: int, end: int, repair: bool) -> tuple[Found, ...]:
    """The calls that one fenced block holds and nothing else."""
    info = _INFO.match(text, begin)
    if info is None or info[1].lower() not in _INFOS:
        return ()
    closing = _CLOSING.search(text, info.end(), end)
    stop = closing.start() if closing else end
    body = text[info.end() : stop]
    if _OBJECT.match(body):
        found = _objects(text, info.end(), stop, repair)
    elif info[1].lower() == "tool_code":
        found = tuple(Found(begin, end, name, args) for name, args in read_calls_of(body))
    else:
        inner = mark_calls(body, repair).calls
        rest = body[: inner[0].start] + body[inner[-1].end :] if inner else ""
        found = tuple(inner) if not rest.strip() else ()
    return tuple(Found(begin, end, each.name, each.args, each.fault) for each in found)


def _objects(text: str, start: int, stop: int, repair: bool) -> tuple[Found, ...]:
    """JSON objects one after the other, each with a name and arguments under keys of their own."""
    found: list[Found] = []
    at = start
    while _OBJECT.match(text, at, stop):
        value, end, why = read_json(text[:stop], at, stop, repair)
        if why:
            name = guess_name(text[at : at + SHORT]) if _ARGUMENTS.search(text, at, stop) else ""
            return (*found, Found(start, stop, name, {}, why)) if name else ()
        calls = named_in(value, repair)
        if not calls or not all(call.plain for call in calls):
            return ()
        found += (Found(start, stop, call.name, call.args, call.fault) for call in calls)
        at = skip(text, end, _BETWEEN)
    return tuple(found) if not text[at:stop].strip() else ()


UNREADABLE = "This call could not be read: {why}. Nothing was run. Send it again, whole."
UNKNOWN = (
    "There is no tool {name!r}. There are: {names}. To show a call without making it, put it in a code block."
)
COPIED = (
    "Not run: a text that you read has this call, word for word. To quote it, put it in a code block and "
    "add words of your own behind it. If the task needs it, make the call differently."
)
_LEAST = 20  # characters of a call that is taken for a copy


class ParsedReply(Struct, frozen=True):
    """A reply's text without its calls, and the calls; `fault` in a call says why it cannot be run."""

    words: str
    calls: tuple[ToolCall, ...] = ()


def read_calls(text: str, tools: Sequence[Tool], cut: bool = False, seen: Sequence[str] = ()) -> ParsedReply:
    """Read the calls that a text holds in any dialect.

    Only calls of `tools` count. One that cannot be read, or that ends the reply and names no tool, becomes a
    call with a fault. In a text `cut` at the token limit nothing is repaired, and each call has a fault.
    `seen` is what the model read: a call that it only copies from there has a fault, unless it only reads.
    """
    if not tools:
        return ParsedReply(text)
    end, chosen = len(text), _plain(find_bare(text, after_thoughts(text), not cut), tools)
    if not chosen:
        marked = mark_calls(text, not cut)
        end = marked.end
        if marked.calls:
            chosen = _marked(text[:end], marked.calls, tools)
        else:
            bare = find_bare(text, marked.begin, not cut) if marked.begin else ()
            chosen = _plain(bare or find_fenced(text, marked, not cut), tools)
    if not chosen:
        return ParsedReply(text)
    calls = [
        _unless_copied(text, found, as_call(found, tool, tools, cut), tool, seen) for found, tool in chosen
    ]
    return ParsedReply(_words(text[:end], [found for found, _ in chosen]), tuple(_once(calls)))


def fit_call(call: ToolCall, tools: Sequence[Tool]) -> ToolCall:
    """A call with the tool's own name and arguments that fit its schema, as far as they can be told."""
    name, args = translate(call.name, call.args, tools)
    tool = tool_for(name, args, tools)
    if tool is None:
        return call
    return replace(call, name=tool.name, args=fit_args(args, tool))


def _translated(found: Found, tools: Sequence[Tool]) -> Found:
    name, args = translate(found.name, found.args, tools)
    return replace(found, name=name, args=args)


_Chosen = list[tuple[Found, Tool | None]]


def _marked(text: str, calls: Sequence[Found], tools: Sequence[Tool]) -> _Chosen:
    """The calls of offered tools; the others only where they end the reply, as nothing but a call does."""
    is_last = not text[calls[-1].end :].strip()
    chosen: _Chosen = []
    for found in (_translated(each, tools) for each in calls):
        tool = tool_for(found.name, found.args, tools)
        line = text[text.rfind("\n", 0, found.start) + 1 : found.start]
        if tool or (is_last and not line.strip()):
            chosen.append((found, tool))
    return chosen


def tool_for(name: str, args: Mapping[str, Any], tools: Sequence[Tool]) -> Tool | None:
    """The tool that a call means; a misspelt name needs arguments that fit as well."""
    tool = find_tool(name, tools)
    if tool is None and args:
        near = nearest_tool(name, tools)
        tool = near if near and fits(fit_args(args, near), near.schema) else None
    return tool


def _plain(calls: Sequence[Found], tools: Sequence[Tool]) -> _Chosen:
    """Calls that look like any other JSON: all names must be known, and the arguments fit, or none is one."""
    translated = (_translated(each, tools) for each in calls)
    chosen: _Chosen = [(found, find_tool(found.name, tools)) for found in translated]
    meant = (
        tool and (found.fault or fits(fit_args(found.args, tool), tool.schema)) for found, tool in chosen
    )
    return chosen if all(meant) else []


def as_call(found: Found, tool: Tool | None, tools: Sequence[Tool], cut: bool) -> ToolCall:
    """A call that was found, of the tool it means (None: it means none), in the tool's own terms."""
    if tool is None and found.name:
        names = ", ".join(each.name for each in tools)
        name = re.sub(r"[^A-Za-z0-9_-]", "_", found.name)[:64]
        return ToolCall(new_id(), name, {}, CUT if cut else UNKNOWN.format(name=found.name, names=names))
    # A call that names nothing is answered under some tool's name: no other would reach the model.
    tool = tool or tools[0]
    fault = UNREADABLE.format(why=found.fault) if found.fault else ""
    args = {} if fault else fit_args(found.args, tool)
    return ToolCall(new_id(), tool.name, args, CUT if cut else fault)


def _unless_copied(
    text: str, found: Found, call: ToolCall, tool: Tool | None, seen: Sequence[str]
) -> ToolCall:
    """The call, with a fault where the model quotes a text that holds it: that text is not to act."""
    if not seen or call.fault or tool is None or tool.effect_for(call.args) == "read":
        return call
    quoted = " ".join(text[found.start : found.end].split())
    if len(quoted) < _LEAST or not any(quoted in " ".join(each.split()) for each in seen):
        return call
    return replace(call, args={}, fault=COPIED)


def _once(calls: Sequence[ToolCall]) -> Iterator[ToolCall]:
    """The calls, a fault that comes several times in a row said once: broken models repeat themselves."""
    said: tuple[str, str] | None = None
    for call in calls:
        if not call.fault or said != (call.name, call.fault):
            yield call
        said = (call.name, call.fault) if call.fault else None


def _words(text: str, calls: Sequence[Found]) -> str:
    """Join the text around the calls, without the blanks at the seams."""
    pieces: list[str] = []
    at = 0
    for found in calls:
        pieces.append(text[at : found.start])
        at = max(at, found.end)
    pieces.append(text[at:])
    return "\n\n".join(piece.strip() for piece in pieces if piece.strip())


# --- calls by a schema: a reply that is one JSON object ------------------------------------------


_ENDING = "done"  # where this tool is offered, a turn ends with it; elsewhere words must be possible
_WORDS = "say"


def shape_of(tools: Sequence[Tool]) -> Mapping[str, Any]:
    """The JSON Schema of one call of one of the tools, or of words where no tool ends the turn."""
    choices = [
        _closed({"name": {"const": tool.name}, "arguments": {**tool.schema, "additionalProperties": False}})
        for tool in tools
    ]
    if all(tool.name != _ENDING for tool in tools):
        choices.append(_closed({_WORDS: {"type": "string"}}))
    return {"oneOf": choices}


def _closed(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_choice(text: str, tools: Sequence[Tool], cut: bool) -> ParsedReply | None:
    """Read a JSON reply that is a call or words; None for any other reply."""
    body = text.strip()
    if not body.startswith("{"):
        return None
    value, _, why = read_json(body, 0, len(body), repair=not cut)
    if isinstance(value, dict) and isinstance(value.get(_WORDS), str):
        return ParsedReply(value[_WORDS])
    calls = named_in(value, repair=not cut) if not why else []
    if why:
        found = Found(0, len(body), guess_name(body), {}, why)
    elif calls:
        found = _translated(Found(0, len(body), calls[0].name, calls[0].args, calls[0].fault), tools)
    else:
        return None
    return ParsedReply("", (as_call(found, tool_for(found.name, found.args, tools), tools, cut),))
