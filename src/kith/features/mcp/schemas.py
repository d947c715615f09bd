"""JSON Schemas of other programs' tools, in the small part of the language that every model server takes.

A plain schema holds `type` (one), `description`, `properties`, `required`, `items`, `enum`, and `anyOf` only
where a value may be of several simple types. Servers that make a grammar of a schema refuse much of the rest,
or make one that is too large: references, recursion, patterns, bounds. What is left out is told in the
description, and the tool's own server checks it in any case."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

# Text of other programs as a model and a person may see it: results of calls, and words in a line.


NOTHING: Final = "(no content)"


def text_of(blocks: Sequence[Mapping[str, Any]], structured: object = None) -> str:
    """The blocks of a result as text; what is no text is named. `structured` replaces it where there is none.

    Source of the blocks' forms: the schema of the Model Context Protocol, ContentBlock, version 2025-11-25.
    """
    text = "\n".join(filter(None, map(_block, blocks)))
    if text or structured is None:
        return text or NOTHING
    import json

    return json.dumps(structured, ensure_ascii=False, indent=1)


def _block(block: Mapping[str, Any]) -> str:
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "image" | "audio" as kind:
            return f"[{kind} left out: {_size(block, 'data')}]"
        case "resource_link":
            return f"[{block.get('name') or 'resource'}: {block.get('uri', '')}]"
        case "resource":
            return _resource(block.get("resource"))
        case kind:
            return f"[{kind} left out]"


def _resource(resource: object) -> str:
    """A file or page that came along, under its address."""
    if not isinstance(resource, Mapping):
        return ""
    if isinstance(resource.get("text"), str):
        return f"[{resource.get('uri', '')}]\n{resource['text']}"
    return f"[{resource.get('uri', '')} left out: {_size(resource, 'blob')}]"


def _size(block: Mapping[str, Any], key: str) -> str:
    """`image/png, 12,288 bytes`; the data itself is Base64, four characters for three bytes."""
    kind = block.get("mimeType") or block.get("mime_type") or "unknown"
    return f"{kind}, {len(str(block.get(key, ''))) * 3 // 4:,} bytes"


# Words of other programs, as a model and a person may see them.

# Colours and cursor movements (CSI), titles and links (OSC).
_TERMINAL_CODES: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_SPACE: Final = re.compile(r"\s+")
# What counts as printable and has no glyph: joiners, fillers, selectors of variations, tags.
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)


def clean_words(text: str, most: int) -> str:
    """The text in one line of at most `most` characters, without those that nobody would see."""
    plain = _UNSEEN.sub("", _SPACE.sub(" ", _TERMINAL_CODES.sub("", text)))
    shown = "".join(each for each in plain if each.isprintable()).strip()
    return shown if len(shown) <= most else f"{shown[: most - 1].rstrip()}…"


# JSON Schemas of other programs' tools, in the small part of the language that every model server takes.


# JSON Schemas with what they refer to, and all their parts, in one.

Schema = Mapping[str, Any]
Refs = tuple[str, ...]  # the references that led to a schema

# Words that a whole schema does not need any more, or that say nothing of a value.
_LEFT_OUT: Final = (
    "$ref",
    "allOf",
    "title",
    "examples",
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "definitions",
)


class Source(Struct):
    """The schema of one tool, in which references are looked up; `left`: how many more may be looked at.

    Without that, a few lines could come to more schemas than there is memory for.
    """

    root: Schema
    left: int = 250

    def take(self) -> bool:
        """Count one more; False where no more are left."""
        self.left -= 1
        return self.left >= 0


def resolve(schema: Schema, source: Source, refs: Refs = ()) -> tuple[dict[str, Any], Refs]:
    """The schema as one, and all the references that led there; of one to itself only the type is left."""
    whole = {key: value for key, value in schema.items() if key not in _LEFT_OUT}
    parts = list(schema["allOf"]) if isinstance(schema.get("allOf"), list) else []
    ref = schema.get("$ref")
    if isinstance(ref, str):
        target = _look_up(source.root, ref)
        parts.append({"type": target.get("type", "")} if ref in refs else target)
        refs = (*refs, ref)
    for part in parts:
        if isinstance(part, Mapping) and source.take():
            resolved, refs = resolve(part, source, refs)
            whole = _both(resolved, whole)
    return whole, refs


def _look_up(root: Schema, ref: str) -> Schema:
    """Resolve a reference like `#/$defs/name`; {} where it leads out of the schema, or nowhere."""
    found: Any = root if ref.startswith("#") else {}
    for step in filter(None, ref.removeprefix("#").split("/")):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping):
            found = found.get(name)
        elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            return {}
    return found if isinstance(found, Mapping) else {}


def _both(part: Schema, whole: Schema) -> dict[str, Any]:
    """Two schemas that hold at once; where they differ in a word, the second one's is taken."""
    both = {**part, **whole}
    if isinstance(part.get("properties"), Mapping) and isinstance(whole.get("properties"), Mapping):
        both["properties"] = {**part["properties"], **whole["properties"]}
    if required := dict.fromkeys([*texts(part.get("required")), *texts(whole.get("required"))]):
        both["required"] = list(required)
    return both


def texts(value: Any) -> list[str]:
    """The texts of a list; none where it is no list."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def choices(whole: Schema) -> list[Any]:
    """The schemas of which a value fits one, as they are written; none where there is no choice."""
    found = whole.get("anyOf") or whole.get("oneOf")
    return list(found) if isinstance(found, Sequence) and not isinstance(found, str) else []


def may_be_null(schema: Any, root: Schema) -> bool:
    """True if a schema allows null, in itself or in one of its choices."""
    if not isinstance(schema, Mapping):
        return False
    source = Source(root)
    whole, _ = resolve(schema, source)
    each = [whole, *(resolve(one, source)[0] for one in choices(whole) if isinstance(one, Mapping))]
    return any(_names_null(one) for one in each)


def _names_null(whole: Schema) -> bool:
    kinds, values = whole.get("type"), whole.get("enum")
    named = kinds == "null" or "null" in texts(kinds)
    return named or (isinstance(values, list) and None in values) or whole.get("const", "") is None


# What a plain schema cannot say of a value, in a few words of its description.

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


# Plain schemas of which a value fits one, as a single plain schema.

KINDS: Final = ("object", "array", "string", "number", "integer", "boolean")


def kind_of_value(value: Any) -> str:
    """The type of a simple value."""
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "integer" if isinstance(value, int) else "number"


def unite(schemas: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """One schema for what fits any of these; None for none of them.

    Objects become one with the properties of all. Where a list, or else an object, is one choice beside
    something simpler, only that is left, since it says the same and more. Simple types stay side by side in
    `anyOf`.
    """
    if not schemas:
        return None
    flat = [part for each in schemas for part in each.get("anyOf", (each,))]
    if any(not part.get("type") for part in flat):
        return {}
    words = next((str(each["description"]) for each in schemas if each.get("description")), "")
    kinds = {kind: [part for part in flat if part["type"] == kind] for kind in KINDS}
    if kinds["array"]:
        items = unite([part.get("items", {}) for part in kinds["array"]])
        made: dict[str, Any] = {"type": "array", "items": items or {}}
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
    completed = _complete(args, schema, schema, 0)
    return dict(completed) if isinstance(completed, Mapping) else dict(args)


def _complete(value: Any, schema: Any, root: Schema, depth: int) -> Any:
    """A value with the nulls that its objects require, also inside lists and in one of several choices."""
    if depth > DEPTH or not isinstance(schema, Mapping) or not isinstance(value, Mapping | list):
        return value
    whole, _ = resolve(schema, Source(root))
    if choices(whole):
        each = (
            _complete(value, one, root, depth + 1) for one in _variants(whole) if _knows(value, one, root)
        )
        return next((found for found in each if found != value), value)
    if isinstance(value, list):
        return [_complete(each, whole.get("items"), root, depth + 1) for each in value]
    named = whole.get("properties")
    if not isinstance(named, Mapping):
        return value
    missing = (name for name in texts(whole.get("required")) if name in named and name not in value)
    completed = {**value, **{name: None for name in missing if may_be_null(named[name], root)}}
    return {name: _complete(each, named.get(name), root, depth + 1) for name, each in completed.items()}


def _knows(value: Any, schema: Any, root: Schema) -> bool:
    """True unless a schema of objects lacks a name of the value."""
    if not isinstance(schema, Mapping) or not isinstance(value, Mapping):
        return True
    named = resolve(schema, Source(root))[0].get("properties")
    return not isinstance(named, Mapping) or value.keys() <= named.keys()


def _takes_any(schema: Any) -> bool:
    """True if arguments of any name are allowed: none is named, and others are allowed explicitly."""
    if not isinstance(schema, Mapping):
        return False
    whole, _ = resolve(schema, Source(schema))
    others = whole.get("additionalProperties") or whole.get("patternProperties")
    return bool(others) and not whole.get("properties") and not choices(whole)


# --- one schema after the other --------------------------------------------------------------


def _plain(schema: Any, source: Source, refs: Refs, depth: int) -> dict[str, Any] | None:
    """A schema made plain; {} takes any value, None means one that only null fits, or nothing."""
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
    """Return the schema of a list's items; for different places, a union of them."""
    places, others = whole.get("prefixItems"), whole.get("items")
    kinds = [
        *(places if isinstance(places, list) else ()),
        *([others] if isinstance(others, Mapping) else ()),
    ]
    each = (_plain(kind, source, refs, depth + 1) for kind in kinds if depth < DEPTH)
    return unite([one for one in each if one is not None]) or {}
