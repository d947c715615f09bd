"""Values out of a server's JSON, whatever it really sent."""

import json
from collections.abc import Mapping
from typing import Any

Row = dict[str, Any]


_MOST = 1 << 53  # no count comes near; what is larger cannot even be a float
_LEAST = 1e-6  # no measure is that small; what is divided by it must stay a number


def read_json(text: str | bytes) -> Any:
    """JSON as data. Raises ValueError, also for what is nested deeper than can be read."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def whole(number: Any) -> int:
    """A count as the server sent it; 0 for anything else."""
    return int(number) if isinstance(number, (int, float)) and 0 < number < _MOST else 0


def fraction(number: Any) -> float:
    """A measure as the server sent it; 0.0 for anything else."""
    return float(number) if isinstance(number, (int, float)) and _LEAST < number < _MOST else 0.0


def string(value: Any) -> str:
    """A text as the server sent it; "" for anything else."""
    return value if isinstance(value, str) else ""


def flag(value: Any) -> bool | None:
    """True or False as the server sent it; None for anything else."""
    return value if isinstance(value, bool) else None


def in_billions(count: int) -> str:
    """A number of parameters as the names of models have it: "7.6B"; "" for none."""
    return f"{count / 1e9:.1f}B" if count >= 1e8 else f"{count / 1e6:.1f}M" if count else ""


def plain(data: Any) -> Row:
    """The object that an answer should be; empty for anything else."""
    return dict(data) if isinstance(data, Mapping) else {}


def part(data: Any, key: str) -> Row:
    """The object under a key; empty when there is none."""
    return plain(plain(data).get(key))


def rows(data: Any, key: str) -> list[Row]:
    """The objects of the list under a key; what is no object is left out."""
    found = plain(data).get(key)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
