"""TOML of files that may be damaged: what can be read of it, and the tables inside."""

import tomllib
from typing import Any


def read_toml(text: str) -> dict[str, Any]:
    """The tables of a text; {} where it cannot be read."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def inner_table(table: dict[str, Any], *names: str) -> dict[str, Any]:
    """The table that lies under these names; {} where there is none."""
    for name in names:
        inner = table.get(name)
        table = inner if isinstance(inner, dict) else {}
    return table
