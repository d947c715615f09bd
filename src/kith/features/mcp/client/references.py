"""JSON Schemas with what they refer to, and all their parts, in one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

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


@dataclass(slots=True)
class Source:
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
    """What a reference of the kind `#/$defs/name` means; {} where it leads out of the schema, or nowhere."""
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
    """Whether a schema says of a value that it may be null, in itself or in one of its choices."""
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
