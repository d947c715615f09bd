"""Parse JSON as models write it, repaired only without loss, and the calls in it."""

import ast
import json
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from msgspec import Struct

_NAME = re.compile(r"""["']?(?:name|tool|tool_name|function|function_name)["']?\s*:\s*["']?([\w.:-]+)""")


class Found(Struct, frozen=True):
    """A call between two places of a text. `name` is as the model wrote it, "" when it wrote none.

    `fault` says why the arguments cannot be known; they are empty then. Several calls of one list share
    their places.
    """

    start: int
    end: int
    name: str
    args: Mapping[str, Any]
    fault: str = ""


def guess_name(text: str) -> str:
    """The tool that an unreadable JSON object most likely names, or ""."""
    found = _NAME.search(text)
    return found[1] if found else ""


def skip(text: str, at: int, pattern: re.Pattern[str]) -> int:
    """Return the position after an optional pattern at `at`."""
    found = pattern.match(text, at)
    return found.end() if found else at


# --- JSON ----------------------------------------------------------------------------------------


_BLANKS = re.compile(r"\s*")
_STRING = re.compile(r'"(?:[^"\\]|\\(?:.|\Z))*("|\Z)', re.DOTALL)
_WORD = re.compile(r"\w+")
_LONGEST = 200_000  # characters that are mended; the library takes its time with more


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")  # it would make every later request invalid


# The second takes raw line breaks in strings, the most frequent slip, which changes nothing.
_DECODERS = tuple(json.JSONDecoder(parse_constant=_refuse, strict=strict) for strict in (True, False))


def read_json(text: str, at: int, stop: int, repair: bool) -> tuple[Any, int, str]:
    """Read the value at `at`: the value, its end and "", or else None, `stop` and the error.

    With `repair`, broken JSON up to `stop` is repaired if nothing is lost.
    """
    at = skip(text, at, _BLANKS)
    why = ""
    for decoder in _DECODERS:
        try:
            return *decoder.raw_decode(text, at), ""
        except json.JSONDecodeError as error:
            what = error.msg.lower().removesuffix(" starting at")
            why = f"{what} at line {text.count(chr(10), at, error.pos) + 1} of its JSON"
        except (ValueError, RecursionError) as error:
            why = str(error) or "its JSON is nested too deeply"
    value = repair_json(text[at:stop]) if repair else None
    return (value, stop, "") if value is not None else (None, stop, why)


def read_object(text: str, at: int, stop: int, repair: bool) -> tuple[dict[str, Any], int, str]:
    """As `read_json`, where only an object will do; an empty one comes with what is wrong."""
    value, end, why = read_json(text, at, stop, repair)
    if isinstance(value, dict):
        return value, end, ""
    return {}, end, why or "its arguments are not a JSON object"


def repair_json(text: str) -> Any:
    """Repair broken JSON; None if that is not possible without loss.

    Brackets, commas and quotes may be added or removed, words may not. Text that ends inside a string or
    before the next value is incomplete, and is not closed.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST or text[-1] in ",:" or _ends_in_string(text):
        return None
    value = _closed(text) or read_literal(text) or _repaired(text)
    return value if isinstance(value, dict | list) else None


def _closed(text: str) -> Any:
    """The value of a text that lacks nothing but its last brackets, or None."""
    open_brackets: list[str] = []
    for sign in re.findall(r"[{}\[\]]", _STRING.sub("", text)):
        if sign in "{[":
            open_brackets.append("}" if sign == "{" else "]")
        elif not open_brackets or open_brackets.pop() != sign:
            return None
    try:
        return _DECODERS[1].decode(text + "".join(reversed(open_brackets)))
    except (ValueError, RecursionError):
        return None


def _repaired(text: str) -> Any:
    """Repair with the library; None if words or line breaks got lost."""
    import json_repair

    try:
        value = json_repair.loads(text)
        plain = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return value if _words(plain) == _words(text) and plain.count("\\n") >= text.count("\\n") else None


def read_literal(text: str) -> Any:
    """A Python literal that is also JSON (single quotes, True, None), or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # escapes that Python does not know
            value = ast.literal_eval(text.strip())
        return json.loads(json.dumps(value, allow_nan=False))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _ends_in_string(text: str) -> bool:
    """True if the last string is open, by the count of quotes that are not escaped."""
    return any(not found[1] for found in _STRING.finditer(text))


def _words(text: str) -> list[str]:
    """Letters and digits, with line breaks and tabs as a JSON string has them."""
    escaped = text.strip().replace("\n", "\\n").replace("\t", "\\t")
    return _WORD.findall(re.sub(r"\\[ntr]", " ", escaped))


# --- values that name tools and their arguments --------------------------------------------------


_NAMES = ("name", "tool", "tool_name", "function", "function_name", "action")
_ARGS = ("arguments", "parameters", "args", "input", "params", "action_input")
_BESIDE = frozenset({"id", "type", "call_id", "tool_call_id"})  # keys of a call that are no arguments


class ParsedCall(Struct, frozen=True):
    """A tool's name and arguments; `plain`: both had keys of their own."""

    name: str
    args: Mapping[str, Any]
    plain: bool = True
    fault: str = ""


def named_in(value: Any, repair: bool) -> list[ParsedCall]:
    """The calls that a JSON value holds: one object, or a list of them; [] when any of it is no call."""
    if isinstance(value, Mapping) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    found = [_named(each, repair) for each in (value if isinstance(value, list) else [value])]
    calls = [each for each in found if each is not None]
    return calls if len(calls) == len(found) else []


def _named(value: Any, repair: bool) -> ParsedCall | None:
    if not isinstance(value, Mapping):
        return None
    if isinstance(value.get("function"), Mapping):  # OpenAI's own nesting
        value = value["function"]
    name_key = next((key for key in _NAMES if isinstance(value.get(key), str) and value[key].strip()), None)
    if name_key is None:
        return None
    name, args_key = value[name_key].strip(), next(_keys_of_args(value, name_key), None)
    if args_key is None:  # arguments beside the name
        rest = {key: each for key, each in value.items() if key != name_key and key not in _BESIDE}
        return ParsedCall(name, rest, plain=False)
    args = value[args_key]
    if isinstance(args, str):  # JSON inside a JSON string
        if not args.strip():
            return ParsedCall(name, {})
        args, _, why = read_json(args, 0, len(args), repair)
        if why:
            return ParsedCall(name, {}, fault=why)
    if args is None:
        return ParsedCall(name, {})
    if not isinstance(args, Mapping):
        return ParsedCall(name, {}, fault="its arguments are not a JSON object")
    return ParsedCall(name, args)


def _keys_of_args(value: Mapping[str, Any], name_key: str) -> Iterator[str]:
    return (key for key in _ARGS if key in value and key != name_key)


def load_json(words: str) -> Any:
    """The JSON value in a reply, with any text around it, repaired where it is not quite JSON; else None."""
    for text in _candidates(words):
        try:
            return json.loads(text, strict=False)
        except (ValueError, RecursionError):
            continue
    start = min((at for sign in "{[" if (at := words.find(sign)) >= 0), default=-1)
    if start < 0:
        return None
    import json_repair

    return json_repair.loads(words[start:])


def _candidates(words: str) -> Iterator[str]:
    """The text, then the longer one of its first object and its first list: that is not inside the other."""
    yield words
    spans = (words[words.find(left) : words.rfind(right) + 1] for left, right in ("{}", "[]"))
    yield from sorted(spans, key=len, reverse=True)
