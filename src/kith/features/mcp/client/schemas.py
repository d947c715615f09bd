"""JSON Schemas of other programs' tools, in the small part of the language that every model server takes.

A plain schema holds `type` (one), `description`, `properties`, `required`, `items`, `enum`, and `anyOf` only
where a value may be of several simple types. Servers that make a grammar of a schema refuse much of the rest,
or make one that is too large: references, recursion, patterns, bounds. What is left out is told in the
description, and the tool's own server checks it in any case.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from kith.features.mcp.client.notes import describe
from kith.features.mcp.client.references import Refs, Schema, Source, choices, may_be_null, resolve, texts
from kith.features.mcp.client.unions import KINDS, kind_of_value, unite

FREE: Final = "arguments"  # the one argument of a tool that takes any
DEPTH: Final = 6  # objects inside objects; deeper ones may hold anything
_VALUES: Final = 64  # of an enumeration
_VALUE_CHARS: Final = 1_500  # of all of them
_NAME: Final = re.compile(r"[A-Za-z0-9_.$-]{1,64}")  # what every provider takes as an argument's name
# Words that mean a type where none is named.
_MEANT: Final = {
    "object": ("properties", "required", "additionalProperties", "patternProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems"),
    "string": ("pattern", "minLength", "maxLength", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


def plain_schema(schema: Any) -> dict[str, Any]:
    """The schema of a tool's arguments, made plain: always an object with properties.

    A tool that takes arguments of any name gets one called `arguments`, which holds them all.
    """
    if _takes_any(schema):
        free = {"type": "object", "description": "The arguments, by name."}
        return {"type": "object", "properties": {FREE: free}, "required": [FREE]}
    source = Source(schema if isinstance(schema, Mapping) else {})
    made = _plain(source.root, source, (), 0) or {}
    properties = made.get("properties", {})
    required = {"required": made["required"]} if properties and "required" in made else {}
    return {"type": "object", "properties": properties, **required}


def complete(args: Mapping[str, Any], schema: Any) -> dict[str, Any]:
    """The arguments as the tool's own schema wants them: what it requires and may be null is not left out."""
    if not isinstance(schema, Mapping):
        return dict(args)
    if _takes_any(schema):
        return dict(args.get(FREE) or {})
    return _complete(args, schema, schema, 0)


def _complete(args: Mapping[str, Any], schema: Schema, root: Schema, depth: int) -> dict[str, Any]:
    whole, _ = resolve(schema, Source(root))
    named = whole.get("properties")
    if not isinstance(named, Mapping) or depth > DEPTH:
        return dict(args)
    missing = (name for name in texts(whole.get("required")) if name in named and name not in args)
    completed = {**args, **{name: None for name in missing if may_be_null(named[name], root)}}
    for name, value in completed.items():
        if isinstance(value, Mapping) and isinstance(named.get(name), Mapping):
            completed[name] = _complete(value, named[name], root, depth + 1)
    return completed


def _takes_any(schema: Any) -> bool:
    """Whether arguments of any name are meant: none is named, and others are allowed explicitly."""
    if not isinstance(schema, Mapping):
        return False
    whole, _ = resolve(schema, Source(schema))
    others = whole.get("additionalProperties") or whole.get("patternProperties")
    return bool(others) and not whole.get("properties") and not choices(whole)


# --- one schema after the other --------------------------------------------------------------


def _plain(schema: Any, source: Source, refs: Refs, depth: int) -> dict[str, Any] | None:
    """A schema made plain; {} takes any value, None stands for one that only null fits, or nothing."""
    if schema is False:
        return None
    if not isinstance(schema, Mapping) or not source.take():
        return {}
    whole, refs = resolve(schema, source, refs)
    if variants := _variants(whole):
        each = (_plain(variant, source, refs, depth) for variant in variants)
        made = unite([one for one in each if one is not None])
    else:
        made = _of_one_kind(whole, source, refs, depth)
    if made is not None and (words := describe(whole, made)):
        made = {**made, "description": words}
    return made


def _variants(whole: Schema) -> list[Any]:
    """The schemas of which a value fits one, each with what holds for all; none where there is no choice."""
    rest = {
        key: value for key, value in whole.items() if key not in ("anyOf", "oneOf", "description", "default")
    }
    if found := choices(whole):
        return [{**rest, "allOf": [each]} if rest and isinstance(each, Mapping) else each for each in found]
    return [{**rest, "type": kind} for kind in texts(whole.get("type"))]


def _of_one_kind(whole: Schema, source: Source, refs: Refs, depth: int) -> dict[str, Any] | None:
    """A schema without references and choices, made plain."""
    values = [whole["const"]] if "const" in whole else whole.get("enum")
    if isinstance(values, list) and values:
        return _enumeration(values)
    match _kind(whole):
        case "null":
            return None
        case "object":
            return _object(whole, source, refs, depth)
        case "array":
            return {"type": "array", "items": _items(whole, source, refs, depth)}
        case kind:
            return {"type": kind} if kind else {}


def _kind(whole: Schema) -> str:
    """The type that a schema names, or that its other words mean; "" for any."""
    kind = whole.get("type")
    if isinstance(kind, str) and kind:
        return kind if kind in (*KINDS, "null") else ""
    return next((kind for kind, words in _MEANT.items() if any(word in whole for word in words)), "")


def _enumeration(values: list[Any]) -> dict[str, Any] | None:
    """The values that are allowed, or only their type where they are too many to be held to."""
    simple = [value for value in values if isinstance(value, str | int | float)]
    if not simple:
        return None if all(value is None for value in values) else {}
    kinds = {kind_of_value(value) for value in simple}
    if len(kinds) > 1:
        return unite([{"type": kind} for kind in sorted(kinds)])
    few = len(simple) <= _VALUES and sum(len(str(value)) for value in simple) <= _VALUE_CHARS
    return {"type": kinds.pop(), **({"enum": list(dict.fromkeys(simple))} if few else {})}


def _object(whole: Schema, source: Source, refs: Refs, depth: int) -> dict[str, Any]:
    """An object with the properties that are named; without any it holds whatever is given.

    While there is room, those that are required come first; where there is none, the others are left out.
    """
    named = whole.get("properties")
    if not isinstance(named, Mapping) or depth >= DEPTH:
        return {"type": "object"}
    wanted = [name for name in texts(whole.get("required")) if name in named]
    made = {}
    for name in dict.fromkeys((*wanted, *named)):
        if name in wanted or (source.left > 0 and _NAME.fullmatch(name)):
            made[name] = _plain(named[name], source, refs, depth + 1)
    properties = {name: made[name] for name in named if made.get(name) is not None}
    required = [name for name in wanted if name in properties and not may_be_null(named[name], source.root)]
    if not properties:
        return {"type": "object"}
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _items(whole: Schema, source: Source, refs: Refs, depth: int) -> dict[str, Any]:
    """What a list holds; of a list whose places differ, anything that fits one of them."""
    places, others = whole.get("prefixItems"), whole.get("items")
    kinds = [
        *(places if isinstance(places, list) else ()),
        *([others] if isinstance(others, Mapping) else ()),
    ]
    each = (_plain(kind, source, refs, depth + 1) for kind in kinds if depth < DEPTH)
    return unite([one for one in each if one is not None]) or {}
