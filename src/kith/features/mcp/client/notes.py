"""What a plain schema cannot say of a value, in a few words of its description."""

from collections.abc import Iterator
from typing import Any, Final

from kith.features.mcp.client.references import Schema
from kith.features.mcp.client.words import clean_words

_DESCRIPTION: Final = 400  # characters, of one argument
_NOTE: Final = 80
_SHORT: Final = 30  # characters of a value
_NAMED: Final = 5  # values of an enumeration that is too long
# What is counted, and the words for the least and the most.
_BOUNDS: Final = (
    ("", "minimum", "maximum"),
    (" characters", "minLength", "maxLength"),
    (" items", "minItems", "maxItems"),
)


def describe(whole: Schema, made: Schema) -> str:
    """The description of a schema that was `made` of a `whole` one, with what is left out of it."""
    words = whole.get("description")
    words = clean_words(words, _DESCRIPTION) if isinstance(words, str) else made.get("description", "")
    notes = "; ".join(clean_words(note, _NOTE) for note in _notes(whole, made))
    return f"{words} ({notes})" if words and notes else words or notes


def _notes(whole: Schema, made: Schema) -> Iterator[str]:
    for key in ("format", "pattern"):
        if isinstance(whole.get(key), str) and len(whole[key]) < _NOTE - len(key):
            yield f"{key} {whole[key]}"
    for noun, least, most in _BOUNDS:
        yield from _bounds(whole.get(least), whole.get(most), noun)
    values = whole.get("enum")
    if isinstance(values, list) and values and "enum" not in made:
        yield f"such as {', '.join(clean_words(str(value), _SHORT) for value in values[:_NAMED])}"
    default = whole.get("default")
    if isinstance(default, str | int | float) and 0 < len(str(default)) <= _SHORT:
        yield f"default {str(default).lower() if isinstance(default, bool) else default}"


def _bounds(low: Any, high: Any, noun: str) -> Iterator[str]:
    """`0 to 100`, `at least 2 items`, `at most 50 characters`; that there is one goes without saying."""
    low = low if _is_number(low) and (low > 1 or not noun) else None
    if low is not None and _is_number(high):
        yield f"{low} to {high}{noun}"
    elif low is not None:
        yield f"at least {low}{noun}"
    elif _is_number(high):
        yield f"at most {high}{noun}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
