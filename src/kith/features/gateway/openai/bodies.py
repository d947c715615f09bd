"""A request's body as plain data, whatever was really sent: strict JSON, of a depth that can be written."""

import json
import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

DEEPEST: Final = 100  # levels; what is nested deeper could not be written again
_LONGEST_NUMBER: Final = 400  # digits


class MalformedError(Exception):
    """A request that cannot be understood; `param` is the field that is wrong, "" for the whole."""

    def __init__(self, text: str, param: str = "") -> None:
        super().__init__(text)
        self.param = param


def read_body(raw: bytes) -> dict[str, Any]:
    """The object that a body holds. Raises MalformedError."""
    try:
        data = json.loads(raw, parse_float=_finite, parse_constant=_no_number, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise MalformedError(f"The body is not JSON: {why}.") from error
    if not isinstance(data, dict):
        raise MalformedError("The body must be a JSON object.")
    if _depth(data) > DEEPEST:
        raise MalformedError(f"The body is nested deeper than {DEEPEST} levels.")
    return data


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _integer(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError("a number is too long")
    return int(text)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _depth(data: Any) -> int:
    """How deep a value is nested, counted level by level."""
    depth, level = 0, [data]
    while level:
        depth += 1
        level = [
            inner
            for each in level
            if isinstance(each, (dict, list))
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return depth


# --- fields -----------------------------------------------------------------------------------


def text_of(data: Mapping[str, Any], key: str, where: str = "", usual: str | None = None) -> str:
    """A text. Raises MalformedError, also where it is left out and there is no `usual` one."""
    value = data.get(key)
    value = usual if value is None else value
    if not isinstance(value, str):
        raise MalformedError(f"{_place(where, key)} must be a text.", _place(where, key))
    return value


def flag_of(data: Mapping[str, Any], key: str, where: str = "") -> bool:
    """True or False (where it is left out)."""
    value = data.get(key)
    if value is not None and not isinstance(value, bool):
        raise MalformedError(f"{_place(where, key)} must be true or false.", _place(where, key))
    return bool(value)


def whole_of(data: Mapping[str, Any], key: str, least: int, most: int) -> int | None:
    """A whole number within bounds; None where it is left out."""
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise MalformedError(f"{key} must be a whole number from {least:,} to {most:,}.", key)
    return value


def real_of(data: Mapping[str, Any], key: str, least: float, most: float) -> float | None:
    """A number within bounds; None where it is left out."""
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise MalformedError(f"{key} must be a number from {least:g} to {most:g}.", key)
    return float(value)


def object_of(data: Mapping[str, Any], key: str, where: str = "") -> dict[str, Any]:
    """An object; an empty one where it is left out."""
    value = data.get(key)
    if value is not None and not isinstance(value, dict):
        raise MalformedError(f"{_place(where, key)} must be an object.", _place(where, key))
    return value or {}


def objects_of(data: Mapping[str, Any], key: str, where: str = "") -> list[dict[str, Any]]:
    """A list of objects; an empty one where it is left out."""
    value = data.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise MalformedError(f"{_place(where, key)} must be a list of objects.", _place(where, key))
    return value


def _place(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key
