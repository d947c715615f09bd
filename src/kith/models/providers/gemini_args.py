"""A call's arguments that arrive in pieces, each with the path of the value it belongs to."""

import re
from collections.abc import Mapping
from typing import Any

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
_LONGEST = 10_000  # elements of a list


def add_piece(args: dict[str, Any], piece: Mapping[str, Any]) -> None:
    """Put one piece in its place, a text after what it had before; what has no place is left out.

    Source: PartialArg of the API; paths are of the kind `$.foo.bar[0].data` (RFC 9535).
    """
    key = next((key for key in _VALUES if key in piece), "")
    steps = [_step(found) for found in _STEP.finditer(str(piece.get("jsonPath", "")))]
    if not key or not steps or any(isinstance(step, int) and step > _LONGEST for step in steps):
        return
    value = None if key == "nullValue" else piece[key]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    _put(args, steps, value)


def _step(found: re.Match[str]) -> str | int:
    """A name, or a number in a list."""
    return int(found[2]) if found[2] is not None else found[1] or found[3] or found[4] or ""


def _put(within: Any, steps: list[str | int], value: Any) -> None:
    first, *rest = steps
    if isinstance(first, int) and isinstance(within, list):
        within.extend([None] * (first + 1 - len(within)))
        former = within[first]
    elif isinstance(first, str) and isinstance(within, dict):
        former = within.get(first)
    else:
        return
    if rest:
        within[first] = former if isinstance(former, list | dict) else [] if isinstance(rest[0], int) else {}
        _put(within[first], rest, value)
    else:
        grows = isinstance(former, str) and isinstance(value, str)
        within[first] = former + value if grows else value
