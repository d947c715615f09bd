"""Plain schemas of which a value fits one, as a single plain schema."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

KINDS: Final = ("object", "array", "string", "number", "integer", "boolean")


def kind_of_value(value: Any) -> str:
    """The type of a simple value."""
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "integer" if isinstance(value, int) else "number"


def unite(schemas: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """One schema for what fits any of these; None for none of them.

    Objects become one with the properties of all. Where a list, or else an object, may stand beside something
    simpler, only that is left, since it says the same and more. Simple types stay side by side in `anyOf`.
    """
    if not schemas:
        return None
    flat = [part for each in schemas for part in each.get("anyOf", (each,))]
    if any(not part.get("type") for part in flat):
        return {}
    words = next((str(each["description"]) for each in schemas if each.get("description")), "")
    kinds = {kind: [part for part in flat if part["type"] == kind] for kind in KINDS}
    if kinds["array"]:
        made = _unite_arrays(kinds["array"])
    elif kinds["object"]:
        made = _unite_objects(kinds["object"])
    else:
        if kinds["number"] and kinds.pop("integer"):
            kinds["number"] = [{"type": "number"}]
        simple = [_unite_simple(kind, parts) for kind, parts in kinds.items() if parts]
        made = simple[0] if len(simple) == 1 else {"anyOf": simple}
    return {**made, "description": words} if words else made


def _unite_simple(kind: str, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Values of one type: those of all enumerations, or any."""
    if not all("enum" in part for part in parts):
        return {"type": kind}
    return {"type": kind, "enum": list(dict.fromkeys(value for part in parts for value in part["enum"]))}


def _unite_arrays(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"type": "array", "items": unite([part.get("items", {}) for part in parts]) or {}}


def _unite_objects(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The properties of all; required is what each of them requires."""
    if any("properties" not in part for part in parts):
        return {"type": "object"}
    names = dict.fromkeys(name for part in parts for name in part["properties"])
    properties = {
        name: unite([part["properties"][name] for part in parts if name in part["properties"]]) or {}
        for name in names
    }
    required = [name for name in names if all(name in part.get("required", ()) for part in parts)]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}
