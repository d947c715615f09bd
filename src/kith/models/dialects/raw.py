"""Calls whose arguments are raw text between tags: Qwen's XML and GLM's keys and values."""

import re

from kith.models.dialects.found import Found, skip
from kith.models.dialects.json_text import read_object

_FUNCTION = re.compile(r'(?:<tool_call>\s*)?<function(?:=|\s+name=)\s*["\']?([^\s"\'<>]+)["\']?\s*>')
_PARAMETER = re.compile(r'\s*<parameter(?:=|\s+name=)\s*["\']?([^\s"\'<>]+)["\']?\s*>')
# What closes a parameter stands before the next one or the end of the call: code may well hold the tag.
_PARAMETER_END = re.compile(r"</parameter>(?=\s*(?:<parameter[=\s]|</function>|</tool_call>|\Z))")
_CLOSING = "</function>"
_FUNCTION_END = re.compile(r"\s*</function>(?:\s*</tool_call>)?")
_CALL_END = re.compile(r"\s*</tool_call>")

_GLM = re.compile(r"<tool_call>\s*([\w.:-]+)\s*(?=<arg_key>|</tool_call>|\Z)")
_KEY = re.compile(r"\s*<arg_key>\s*([^<>]*?)\s*</arg_key>\s*<arg_value>")
_VALUE_END = re.compile(r"</arg_value>(?=\s*(?:<arg_key>|</tool_call>|\Z))")

BREAKS_OFF = "it breaks off before its end"


def read_qwen(text: str, at: int, mend: bool) -> tuple[Found, ...]:
    """`<function=name><parameter=key>` raw text `</parameter></function>`, with `<tool_call>` around or not.

    A parameter's text is taken as it is; one line break after its first tag and one before its last belong
    to the tags.
    """
    opening = _FUNCTION.match(text, at)
    if not opening:
        return ()
    name, args, place = opening[1], dict[str, str](), opening.end()
    if re.compile(r"\s*\{").match(text, place):
        return (_with_json(text, at, place, name, mend),)
    while parameter := _PARAMETER.match(text, place):
        closing = _PARAMETER_END.search(text, parameter.end())
        end = closing.start() if closing else text.find(_CLOSING, parameter.end())
        if end < 0:
            return (Found(at, len(text), name, {}, BREAKS_OFF),)
        args[parameter[1]] = text[parameter.end() : end].removeprefix("\n").removesuffix("\n")
        place = closing.end() if closing else end
    closing = _FUNCTION_END.match(text, place)
    if closing:
        return (Found(at, closing.end(), name, args),)
    # The model may have left the last tags out, but then nothing else may stand in their place.
    rest = skip(text, place, _CALL_END)
    if mend and args and (rest > place or not text[place:].strip()):
        return (Found(at, rest, name, args),)
    late = text.find(_CLOSING, place)
    if late < 0:
        prose = not args and text[place:].strip()[:1] not in ("", "<")  # about the mark
        return () if prose else (Found(at, len(text), name, {}, BREAKS_OFF),)
    why = "its parameters are not between <parameter=...> tags"
    return (Found(at, skip(text, late, _FUNCTION_END), name, {}, why),)


def _with_json(text: str, at: int, place: int, name: str, mend: bool) -> Found:
    """`<function=name>{...}</function>`, as Llama 3.1 writes it."""
    late = text.find(_CLOSING, place)
    args, end, why = read_object(text, place, late if late >= 0 else len(text), mend)
    return Found(at, skip(text, end, _FUNCTION_END), name, args, why)


def read_glm(text: str, at: int, mend: bool) -> tuple[Found, ...]:
    """`<tool_call>name`, then `<arg_key>key</arg_key><arg_value>` raw text `</arg_value>` for each key."""
    opening = _GLM.match(text, at)
    if not opening:
        return ()
    name, args, place = opening[1], dict[str, str](), opening.end()
    while key := _KEY.match(text, place):
        end = _VALUE_END.search(text, key.end())
        if end is None:
            return (Found(at, len(text), name, {}, BREAKS_OFF),)
        args[key[1]] = text[key.end() : end.start()]
        place = end.end()
    closing = _CALL_END.match(text, place)
    if closing:
        return (Found(at, closing.end(), name, args),)
    if mend and args and not text[place:].strip():
        return (Found(at, len(text), name, args),)
    return (Found(at, len(text), name, {}, BREAKS_OFF),)
