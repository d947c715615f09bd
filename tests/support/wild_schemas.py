"""Schemas of the kinds that servers of tools really send, and of those that nobody should."""

from typing import Any

NODE = {
    "type": "object",
    "properties": {
        "value": {"type": "integer"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
        "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}], "default": None},
    },
    "required": ["value"],
}


def taking(value: Any, **more: Any) -> dict[str, Any]:
    """A tool's schema with one argument, `it`."""
    return {"type": "object", "properties": {"it": value}, "required": ["it"], **more}


WILD: dict[str, Any] = {
    "nothing": {"type": "object"},
    "no properties": {"type": "object", "properties": {}, "additionalProperties": False},
    "any arguments": {"type": "object", "additionalProperties": True},
    "recursion": taking({"$ref": "#/$defs/Node"}, **{"$defs": {"Node": NODE}}),
    "itself": {"$ref": "#"},
    "two that need each other": taking(
        {"$ref": "#/definitions/A"},
        definitions={
            "A": {"properties": {"b": {"$ref": "#/definitions/B"}}},
            "B": {"allOf": [{"$ref": "#/definitions/A"}]},
        },
    ),
    "nowhere": taking({"$ref": "#/$defs/Missing"}),
    "elsewhere": taking({"$ref": "https://example.org/schema.json"}),
    "nullable": taking({"type": ["string", "null"]}),
    "many types": taking({"type": ["string", "number", "boolean", "null"]}),
    "one or many": taking({"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
    "told apart": taking(
        {
            "discriminator": {"propertyName": "kind"},
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"kind": {"const": "a"}, "x": {"type": "number"}},
                    "required": ["kind", "x"],
                },
                {
                    "type": "object",
                    "properties": {"kind": {"const": "b"}, "y": {"type": "string"}},
                    "required": ["kind"],
                },
            ],
        }
    ),
    "formats": taking({"type": "string", "format": "uri", "pattern": r"^(?!file:)https?://", "minLength": 1}),
    "a pattern without anchors": taking({"type": "string", "pattern": r"\d{3,}|(?<year>\d{4})"}),
    "long": taking({"type": "string", "maxLength": 1_000_000}),
    "many items": taking(
        {"type": "array", "items": {"type": "string", "maxLength": 5_000}, "maxItems": 10_000}
    ),
    "places": taking(
        {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}], "items": False}
    ),
    "items unknown": taking({"type": "array"}),
    "bounds": taking(
        {"type": "integer", "minimum": -9_007_199_254_740_991, "exclusiveMaximum": 9_007_199_254_740_991}
    ),
    "multiples": taking({"type": "number", "multipleOf": 0.01}),
    "huge enumeration": taking({"enum": [f"value-{n}" for n in range(5_000)]}),
    "mixed enumeration": taking({"enum": ["auto", 1, 2.5, True, None]}),
    "empty enumeration": taking({"enum": []}),
    "conditions": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "if": {"properties": {"a": {"const": "x"}}},
        "then": {"required": ["b"]},
        "not": {"required": ["c"]},
        "dependentRequired": {"b": ["a"]},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    },
    "patterns of names": taking({"type": "object", "patternProperties": {"^x-": {"type": "string"}}}),
    "a map": taking({"type": "object", "additionalProperties": {"type": "array", "items": {"$ref": "#"}}}),
    "odd names": {
        "type": "object",
        "properties": {"filter[a]": {"type": "string"}, "$top": {"type": "integer"}, "ü ü": {}},
    },
    "required and not there": {"type": "object", "properties": {}, "required": ["ghost"]},
    "yes and no": {"type": "object", "properties": {"yes": True, "no": False}},
    "no type": taking({"description": "anything at all"}),
    "a strange type": taking({"type": "file"}),
    "no schema": None,
    "only null": taking({"type": "null"}),
    "an alternative of everything": taking({"anyOf": [True, {"type": "string"}]}),
    "deep": taking({}),
    "wide": {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(2_000)}},
    "explosive": taking(
        {"$ref": "#/$defs/0"},
        **{
            "$defs": {
                str(n): {
                    "allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2,
                    "anyOf": [{"$ref": f"#/$defs/{n + 1}"}] * 4,
                }
                for n in range(30)
            }
        },
    ),
}
for _ in range(60):
    WILD["deep"] = taking(WILD["deep"])
