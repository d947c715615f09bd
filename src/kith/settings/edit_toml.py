"""Change one key of a TOML text where it stands, so that comments and all else stay as they are."""

from collections.abc import MutableMapping, Sequence
from typing import Any

import tomlkit

from kith.settings.places import find_ends


def set_in_toml(text: str, keys: Sequence[str], value: Any) -> str:
    """The text in which `keys` lead to `value`. Raises ValueError where something else is in their way."""
    document = tomlkit.parse(text)
    table: Any = document
    for key in keys[:-1]:
        if key not in table:
            return f"{_paragraph(text)}[{_dotted(keys[:-1])}]\n{_line(keys[-1], value)}\n"
        table = table[key]
        if not isinstance(table, MutableMapping):  # one in several places, too
            raise ValueError(f"{key} is no table there")
    ends = find_ends(text)
    if keys[-1] in table or (len(keys) > 1 and tuple(keys[:-1]) not in ends):  # written within a line
        table[keys[-1]] = value
        return tomlkit.dumps(document)
    # Behind the last line of its table: the comments that follow are about the next one.
    end = ends.get(tuple(keys[:-1]))
    if end is None:
        return f"{_line(keys[-1], value)}\n" + (f"\n{text}" if text else "")
    return f"{text[:end]}\n{_line(keys[-1], value)}{text[end:] or chr(10)}"


def drop_from_toml(text: str, keys: Sequence[str]) -> str:
    """The text without a key, and without the tables that only it was in. Raises KeyError."""
    document = tomlkit.parse(text)
    tables: list[Any] = [document]
    for key in keys[:-1]:
        tables.append(tables[-1][key])
    del tables[-1][keys[-1]]
    for table, key in zip(reversed(tables[:-1]), reversed(keys[:-1]), strict=True):
        if not table[key]:
            del table[key]
    return tomlkit.dumps(document)


def _paragraph(text: str) -> str:
    """The text, ready for a table of its own."""
    return f"{text.rstrip()}\n\n" if text.strip() else text


def _line(key: str, value: Any) -> str:
    return f"{_dotted([key])} = {tomlkit.item(value).as_string()}"


def _dotted(keys: Sequence[str]) -> str:
    return tomlkit.key(list(keys)).as_string()
