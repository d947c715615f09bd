"""Calls that look like any other code: JSON or a Python list, fenced or as the whole reply."""

import re

from kith.models.dialects.json_text import Found, guess_name, named_in, read_json, skip
from kith.models.dialects.marks import Marked, is_marked, mark_calls
from kith.models.dialects.pythonic import read_calls_of, read_list

SHORT = 240  # characters of prose that may stand before: more is an explanation, and what follows an example
_BEGINS = re.compile(r"^[ \t]*(?=[\[{])", re.MULTILINE)
_INFO = re.compile(r"[ \t]*(?:`{3,}|~{3,})[ \t]*([^\s`]*)[^\n]*(?:\n|\Z)")
_CLOSING = re.compile(r"\n?[ \t]*(?:`{3,}|~{3,})[ \t]*\Z")
_OBJECT = re.compile(r"\s*\[?\s*\{")
_ARGUMENTS = re.compile(r"""["'](?:arguments|parameters|args|input|params)["']\s*:""")
_BETWEEN = re.compile(r"[\s;,]*")
_INFOS = ("", "json", "jsonc", "xml", "tool_call", "tool", "tool_code")


def find_bare(text: str, begin: int, mend: bool) -> tuple[Found, ...]:
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
    return _objects(text, start, len(text), mend)


def find_fenced(text: str, marked: Marked, mend: bool) -> tuple[Found, ...]:
    """The calls in the fenced blocks that end a reply after few words; again the tools must show."""
    if not marked.fences or len(text[marked.begin : marked.fences[0][0]].strip()) > SHORT:
        return ()
    found: list[Found] = []
    for index, (begin, end) in enumerate(marked.fences):
        following = marked.fences[index + 1][0] if index + 1 < len(marked.fences) else len(text)
        inside = _in_fence(text, begin, end, mend)
        if not inside or text[end:following].strip():
            return ()
        found += inside
    return tuple(found)


def _in_fence(text: str, begin: int, end: int, mend: bool) -> tuple[Found, ...]:
    """The calls that one fenced block holds and nothing else."""
    info = _INFO.match(text, begin)
    if info is None or info[1].lower() not in _INFOS:
        return ()
    closing = _CLOSING.search(text, info.end(), end)
    stop = closing.start() if closing else end
    body = text[info.end() : stop]
    if _OBJECT.match(body):
        found = _objects(text, info.end(), stop, mend)
    elif info[1].lower() == "tool_code":
        found = tuple(Found(begin, end, name, args) for name, args in read_calls_of(body))
    else:
        inner = mark_calls(body, mend).calls
        rest = body[: inner[0].start] + body[inner[-1].end :] if inner else ""
        found = tuple(inner) if not rest.strip() else ()
    return tuple(Found(begin, end, each.name, each.args, each.fault) for each in found)


def _objects(text: str, start: int, stop: int, mend: bool) -> tuple[Found, ...]:
    """JSON objects one after the other, each with a name and arguments under keys of their own."""
    found: list[Found] = []
    at = start
    while _OBJECT.match(text, at, stop):
        value, end, why = read_json(text[:stop], at, stop, mend)
        if why:
            name = guess_name(text[at : at + SHORT]) if _ARGUMENTS.search(text, at, stop) else ""
            return (*found, Found(start, stop, name, {}, why)) if name else ()
        calls = named_in(value, mend)
        if not calls or not all(call.plain for call in calls):
            return ()
        found += (Found(start, stop, call.name, call.args, call.fault) for call in calls)
        at = skip(text, end, _BETWEEN)
    return tuple(found) if not text[at:stop].strip() else ()
