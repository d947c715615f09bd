"""Lines of the form `key: value`, as members of a council write them, read as forgivingly as is safe."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from kith.features.review.findings import load_json

Fields = Sequence[tuple[str, str]]

_ADDRESSED: Final = ("claim", "text")  # keys behind which a word says whom it is about
_LINE: Final = re.compile(r"^[\s>*#-]*([A-Za-z]\w*)((?: +[A-Za-z0-9]{1,3})?)[*`]*\s*:[*`]*\s*(.*)$")


def read_fields(words: str, keys: Collection[str]) -> Fields:
    """The (key, value) pairs of a reply in their order; a value may go on over several lines.

    A word behind the key (`claim B: ...`) becomes a pair of its own before it: ("of", "B"). Models that write
    JSON all the same are understood too.
    """
    fields: list[tuple[str, str]] = []
    for line in words.splitlines():
        found = _LINE.match(line)
        if found and found[1].lower() in keys:
            key, word, value = found[1].lower(), found[2].strip(), found[3].strip()
            if word and key in _ADDRESSED:
                fields.append(("of", word))
            elif word:
                value = f"{word} {value}".strip()
            fields.append((key, value))
        elif fields and line.strip() and not line.strip().startswith("```"):
            key, value = fields[-1]
            fields[-1] = (key, f"{value}\n{line.strip()}".strip())
    return [(key, _plain(value)) for key, value in fields] or list(_from_json(words, keys))


def _plain(value: str) -> str:
    """A value without the quotes or backticks around all of it."""
    for sign in ("`", '"'):
        if len(value) > 1 and value[0] == value[-1] == sign and sign not in value[1:-1]:
            return value[1:-1]
    return value


def _from_json(words: str, keys: Collection[str]) -> Iterator[tuple[str, str]]:
    data = load_json(words) if "{" in words else None
    for each in _objects(data):
        for key, value in each.items():
            if str(key).lower() in keys:
                yield str(key).lower(), _as_text(value)


def _objects(data: Any) -> Iterator[Mapping[str, Any]]:
    """The object itself, then those in its lists (claims)."""
    if isinstance(data, Mapping):
        yield {key: value for key, value in data.items() if not _holds_objects(value)}
        for value in data.values():
            if _holds_objects(value):
                yield from _objects(value)
    elif isinstance(data, list):
        for each in data:
            yield from _objects(each)


def _holds_objects(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(each, Mapping) for each in value)


def _as_text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value).strip()


def names_in(value: str) -> tuple[str, ...]:
    """The names of a list that is written with commas, blanks or line breaks between them, each once."""
    names = (name.strip("`'\"*()[]").removeprefix("./") for name in re.split(r"[\s,;]+", value))
    none = ("", "-", "none", "None", "n/a")
    return tuple(dict.fromkeys(name for name in names if name not in none))
