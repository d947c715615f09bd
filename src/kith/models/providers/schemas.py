"""JSON Schemas in the part of the language that a cloud's constrained decoding takes."""

from collections.abc import Mapping
from typing import Any

_KEPT = ("type", "enum", "const", "description", "title", "$ref", "required", "format", "default")
_UNIONS = {"anyOf": "anyOf", "oneOf": "anyOf", "allOf": "allOf"}


def as_strict(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """A schema without what Claude's structured outputs refuse; None for one that they cannot express.

    Objects are closed, `oneOf` is `anyOf`, and bounds on numbers, texts and lists are left out: what comes
    back has to be checked as before. An object with any keys at all cannot be expressed. Source: the section
    on JSON Schema limitations of https://platform.claude.com/docs/en/build-with-claude/structured-outputs.
    """
    if schema.get("type") == "object" and "properties" not in schema:
        return None
    strict: dict[str, Any] = {key: schema[key] for key in _KEPT if key in schema}
    for key, name in _UNIONS.items():
        if key in schema and not _put(strict, name, [as_strict(each) for each in schema[key]]):
            return None
    for key in ("properties", "$defs"):
        if key in schema:
            inner = {name: as_strict(each) for name, each in schema[key].items()}
            if None in inner.values():
                return None
            strict[key] = inner
    if "items" in schema and not _put(strict, "items", as_strict(schema["items"])):
        return None
    if schema.get("minItems") in (0, 1):
        strict["minItems"] = schema["minItems"]
    if "properties" in schema:
        strict["additionalProperties"] = False
    return strict


def _put(strict: dict[str, Any], key: str, value: Any) -> bool:
    """Set a key, unless what belongs there cannot be expressed."""
    strict[key] = value
    return value is not None and not (isinstance(value, list) and None in value)
