"""JSON as models write it: read strictly, and mended only where nothing gets lost."""

import ast
import json
import re
import warnings
from typing import Any, NoReturn

from kith.models.dialects.found import skip

_BLANKS = re.compile(r"\s*")
_STRING = re.compile(r'"(?:[^"\\]|\\(?:.|\Z))*("|\Z)', re.DOTALL)
_WORD = re.compile(r"\w+")
_LONGEST = 200_000  # characters that are mended; the library takes its time with more


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")  # it would make every later request invalid


# The second takes raw line breaks in strings, the most frequent slip, which changes nothing.
_DECODERS = tuple(json.JSONDecoder(parse_constant=_refuse, strict=strict) for strict in (True, False))


def read_json(text: str, at: int, stop: int, mend: bool) -> tuple[Any, int, str]:
    """The value that begins at `at`, where it ends, and "", or else None, `stop` and what is wrong.

    With `mend`, broken JSON up to `stop` is mended if that can be done without a loss.
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
    value = mend_json(text[at:stop]) if mend else None
    return (value, stop, "") if value is not None else (None, stop, why)


def read_object(text: str, at: int, stop: int, mend: bool) -> tuple[dict[str, Any], int, str]:
    """As `read_json`, where only an object will do; an empty one comes with what is wrong."""
    value, end, why = read_json(text, at, stop, mend)
    if isinstance(value, dict):
        return value, end, ""
    return {}, end, why or "its arguments are not a JSON object"


def mend_json(text: str) -> Any:
    """What broken JSON must have meant, or None.

    Brackets, commas and quotes may come or go, words may not: text that ends inside a string or before the
    next value is half of something, and is not closed.
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
    """What the library makes of it, or None if words or line breaks got lost."""
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
    """Whether the last string is open, by the count of quotes that are not escaped."""
    return any(not found[1] for found in _STRING.finditer(text))


def _words(text: str) -> list[str]:
    """Letters and digits, with line breaks and tabs as a JSON string has them."""
    escaped = text.strip().replace("\n", "\\n").replace("\t", "\\t")
    return _WORD.findall(re.sub(r"\\[ntr]", " ", escaped))
