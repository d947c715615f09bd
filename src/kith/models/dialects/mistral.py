"""Calls after `[TOOL_CALLS]`, as Mistral's models write them: one JSON list, or a name and its arguments."""

import re

from kith.models.dialects.found import Found, guess_name, skip
from kith.models.dialects.json_text import read_json, read_object
from kith.models.dialects.objects import named_in

_MARK = "[TOOL_CALLS]"
_LIST = re.compile(r"\s*(?=[\[{])")
_NAME = re.compile(r"\s*([\w.:-]+)(?:\[CALL_ID\][\w-]*)?(?:\[ARGS\])?\s*(?=\{)")
_END = re.compile(r"\s*</s>")


def read_mistral(text: str, at: int, mend: bool) -> tuple[Found, ...]:
    """`[TOOL_CALLS][{"name": ..., "arguments": {...}}]`, or `[TOOL_CALLS]name[ARGS]{...}`."""
    body = at + len(_MARK)
    again = text.find(_MARK, body)
    stop = again if again >= 0 else len(text)
    named = _NAME.match(text, body)
    if named is None and not _LIST.match(text, body):
        return ()
    if named:
        args, end, why = read_object(text, named.end(), stop, mend)
        return (Found(at, skip(text, end, _END), named[1], args, why),)
    value, end, why = read_json(text, body, stop, mend)
    end = skip(text, end, _END)
    if why:
        return (Found(at, end, guess_name(text[body:end]), {}, why),)
    calls = named_in(value, mend)
    if not calls:
        return (Found(at, end, "", {}, "it has no name of a tool"),)
    return tuple(Found(at, end, call.name, call.args, call.fault) for call in calls)
