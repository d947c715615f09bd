"""Calls as JSON between tags: Hermes and Qwen 2 and 3, LM Studio's own form, and what is left of harmony."""

import re
from typing import Any

from kith.models.dialects.found import Found, guess_name, skip
from kith.models.dialects.json_text import read_json, read_object
from kith.models.dialects.objects import named_in

_BLANKS = re.compile(r"\s*")
_BETWEEN = re.compile(r"[\s,;]*(?=\{)")
_JSON = re.compile(r"\s*(?:[{\[]|\Z)")
_REST = re.compile(r"[\s}\]]*")
# <|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path": "a.py"}<|call|>
_HARMONY = re.compile(
    r"(?:<\|start\|>assistant)?<\|channel\|>\w+ to=(?:functions\.)?([\w-]+)[^{}\n]{0,40}?<\|message\|>",
    re.IGNORECASE,
)
_HARMONY_END = re.compile(r"<\|(?:call|end|return)\|>")


def read_hermes(text: str, at: int, mend: bool) -> tuple[Found, ...]:
    """`<tool_call>{"name": ..., "arguments": {...}}</tool_call>`, the end tag left out at will."""
    return _read_between(text, at, at + len("<tool_call>"), "</tool_call>", "\n<tool_call>", mend)


def read_request(text: str, at: int, mend: bool) -> tuple[Found, ...]:
    """`[TOOL_REQUEST]{...}[END_TOOL_REQUEST]`, which LM Studio teaches models without a form of their own."""
    return _read_between(text, at, at + len("[TOOL_REQUEST]"), "[END_TOOL_REQUEST]", "\n[TOOL_REQUEST]", mend)


def _read_between(
    text: str, start: int, body: int, closing: str, again: str, mend: bool
) -> tuple[Found, ...]:
    """The calls from `start`, as JSON from `body` to a closing tag, to the next call or to the text's end."""
    ends = (text.find(closing, body), text.find(again, body), len(text))
    stop, at = min(end for end in ends if end >= 0), body
    if not text.startswith(closing, stop) and not _JSON.match(text, body):
        return ()  # prose about the mark
    values: list[Any] = []
    while at == body or text[at : at + 1] == "{":  # some models put all their calls between one pair of tags
        value, at, why = read_json(text, at, max(stop, at), mend)
        if why:
            inside = text[body:stop]
            why = why if inside.strip() else "it is empty"
            return (Found(start, _past(text, stop, closing), guess_name(inside), {}, why),)
        values += value if isinstance(value, list) else [value]
        at = skip(text, at, _BETWEEN)
    calls, end = named_in(values, mend), _past(text, at, closing)
    if not calls:
        return (Found(start, end, "", {}, "it has no name of a tool"),)
    return tuple(Found(start, end, call.name, call.args, call.fault) for call in calls)


def _past(text: str, at: int, closing: str) -> int:
    """After the closing tag, if it comes next; a bracket too many may stand before it."""
    tag = skip(text, at, _REST)
    return tag + len(closing) if text.startswith(closing, tag) else at


def read_harmony(text: str, at: int, mend: bool) -> tuple[Found, ...]:
    """What a server leaves in the text when it does not know gpt-oss's channels."""
    opening = _HARMONY.match(text, at)
    if not opening:
        return ()
    closed = _HARMONY_END.search(text, opening.end())
    args, end, why = read_object(text, opening.end(), closed.start() if closed else len(text), mend)
    return (Found(at, skip(text, skip(text, end, _BLANKS), _HARMONY_END), opening[1], args, why),)
