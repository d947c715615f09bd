"""Values out of a server's JSON, whatever it really sent."""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

Row = dict[str, Any]


def whole(number: Any) -> int:
    """A count as the server sent it; 0 for anything else."""
    return int(number) if isinstance(number, (int, float)) and 0 < number < math.inf else 0


def flag(value: Any) -> bool | None:
    """True or False as the server sent it; None for anything else."""
    return value if isinstance(value, bool) else None


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


def fingerprint(*traits: object) -> str:
    """A stable digest (SHA-256 in hex) of what tells one model file from another."""
    return hashlib.sha256(json.dumps(traits, ensure_ascii=False).encode("utf-8", "replace")).hexdigest()
