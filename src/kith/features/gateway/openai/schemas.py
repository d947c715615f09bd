"""JSON Schemas of strangers, checked to be what they say: everything later may rely on their form."""

from typing import Any, Final

from kith.features.gateway.openai.bodies import MalformedError

_SCHEMAS: Final = ("properties", "$defs", "definitions", "patternProperties")  # by name
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")  # of schemas
_ONES: Final = ("items", "not", "if", "then", "else", "contains", "propertyNames")


def check_schema(schema: Any, where: str) -> dict[str, Any]:
    """The schema; `true` in a schema's place becomes `{}`. Raises MalformedError naming the place."""
    if schema is True:
        return {}
    if not isinstance(schema, dict):
        raise MalformedError(f"{where} must be a JSON Schema.", where)
    checked = dict(schema)
    for key in _SCHEMAS:
        if key in schema:
            inner = _typed(schema, key, dict, where)
            checked[key] = {name: check_schema(each, f"{where}.{key}.{name}") for name, each in inner.items()}
    for key in _LISTS:
        if key in schema:
            checked[key] = [check_schema(each, f"{where}.{key}") for each in _typed(schema, key, list, where)]
    for key in _ONES:
        if key in schema:
            checked[key] = check_schema(schema[key], f"{where}.{key}")
    if "enum" in schema:
        _typed(schema, "enum", list, where)
    if "required" in schema and not _texts(schema["required"]):
        raise MalformedError(f"{where}.required must be a list of names.", where)
    if "type" in schema and not (isinstance(schema["type"], str) or _texts(schema["type"])):
        raise MalformedError(f"{where}.type must be a name, or a list of names.", where)
    return checked


def check_parameters(schema: Any, where: str) -> dict[str, Any]:
    """The schema of a tool's arguments: an object's. Raises MalformedError."""
    checked = check_schema({} if schema is None else schema, where)
    if checked.get("type", "object") != "object":
        raise MalformedError(f"{where}.type must be object.", where)
    return {"type": "object", "properties": {}, **checked}


def _typed(schema: dict[str, Any], key: str, kind: type, where: str) -> Any:
    if not isinstance(schema[key], kind):
        what = "an object" if kind is dict else "a list"
        raise MalformedError(f"{where}.{key} must be {what}.", where)
    return schema[key]


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
