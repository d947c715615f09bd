"""Schemas of other programs' tools become plain: small, without what grammars cannot say, and still true."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.features.mcp.schemas import complete, plain_schema
from wild_schemas import WILD, taking

KINDS = ("object", "array", "string", "number", "integer", "boolean")
WORDS = {"type", "description", "properties", "required", "items", "enum", "anyOf"}


def schemas_in(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield schema
    inner = (*schema.get("properties", {}).values(), *schema.get("anyOf", ()))
    for each in (*inner, *([schema["items"]] if "items" in schema else ())):
        yield from schemas_in(each)


def check_plain(schema: Mapping[str, Any]) -> None:
    """Nothing but what every server takes, and not much of it."""
    assert schema["type"] == "object" and "properties" in schema
    for each in schemas_in(schema):
        assert each.keys() <= WORDS
        assert each.get("type") in (*KINDS, None)
        assert ("items" in each) == (each.get("type") == "array")
        assert each.keys() >= {"properties"} or "required" not in each
        assert set(each.get("required", ())) <= each.get("properties", {}).keys()
        assert "anyOf" not in each or (len(each["anyOf"]) > 1 and "type" not in each)
        assert all(part["type"] not in ("object", "array") for part in each.get("anyOf", ()))
        assert len(each.get("description", "")) < 1_000
    assert len(json.dumps(schema)) < 60_000


def bare(schema: Any) -> Any:
    """Without descriptions."""
    if isinstance(schema, list):
        return [bare(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    names = schema.get("properties", {})
    found = {key: bare(value) for key, value in schema.items() if key not in ("description", "properties")}
    return found | ({"properties": {name: bare(each) for name, each in names.items()}} if names else {})


@pytest.mark.parametrize("name", WILD)
def test_wild_schemas_become_plain(name: str) -> None:
    made = plain_schema(WILD[name])
    check_plain(made)
    assert bare(plain_schema(made)) == bare(made)


# --- what becomes of what --------------------------------------------------------------------


def argument(value: Any, **more: Any) -> Any:
    return plain_schema(taking(value, **more))["properties"].get("it")


def test_references_are_filled_in_and_recursion_ends() -> None:
    made = plain_schema(WILD["recursion"])["properties"]["it"]
    assert made["properties"]["value"] == {"type": "integer"}
    assert made["properties"]["children"] == {"type": "array", "items": {"type": "object"}}
    assert made["properties"]["next"] == {"type": "object"}


def test_null_is_what_is_left_out() -> None:
    assert plain_schema(WILD["nullable"]) == {"type": "object", "properties": {"it": {"type": "string"}}}
    assert complete({}, WILD["nullable"]) == {"it": None}
    assert complete({"it": "x"}, WILD["nullable"]) == {"it": "x"}
    assert complete({}, taking({"type": "string"})) == {}
    assert complete({}, WILD["only null"]) == {"it": None}


def test_null_is_filled_in_where_it_is_deep_inside() -> None:
    inner = {
        "type": "object",
        "properties": {"a": {"anyOf": [{"$ref": "#/$defs/S"}, {"type": "null"}]}},
        "required": ["a"],
    }
    schema = taking(inner, **{"$defs": {"S": {"type": "string"}}})
    assert complete({"it": {}}, schema) == {"it": {"a": None}}


def test_one_or_many_are_many() -> None:
    assert argument({"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}) == {
        "type": "array",
        "items": {"type": "string"},
    }


def test_simple_types_stay_side_by_side() -> None:
    assert argument({"type": ["integer", "string", "null"]}) == {
        "anyOf": [{"type": "string"}, {"type": "integer"}]
    }
    assert argument({"type": ["integer", "number"]}) == {"type": "number"}


def test_variants_of_an_object_become_one() -> None:
    made = plain_schema(WILD["told apart"])["properties"]["it"]
    assert made["properties"]["kind"] == {"type": "string", "enum": ["a", "b"]}
    assert set(made["properties"]) == {"kind", "x", "y"} and made["required"] == ["kind"]


def test_what_a_schema_cannot_say_is_told() -> None:
    made = argument(
        {"type": "string", "format": "date", "description": "When.", "default": "today", "maxLength": 10}
    )
    assert made == {
        "type": "string",
        "description": "When. (format date; at most 10 characters; default today)",
    }
    assert argument({"type": "integer", "minimum": 1, "maximum": 100})["description"] == "1 to 100"
    assert argument({"enum": [f"v{n}" for n in range(200)]}) == {
        "type": "string",
        "description": "such as v0, v1, v2, v3, v4",
    }


def test_what_nobody_would_see_is_left_out_of_descriptions() -> None:
    made = argument(
        {"type": "string", "description": "A\x1b[31m name\u200b\U000e0041\U000e0101\ufe0f\u3164\n\n  of it"}
    )
    assert made["description"] == "A name of it"


def test_any_arguments_are_wrapped_and_unwrapped() -> None:
    schema = WILD["any arguments"]
    assert plain_schema(schema)["required"] == ["arguments"]
    assert complete({"arguments": {"a": 1}}, schema) == {"a": 1}


def test_required_arguments_stay_when_there_is_no_room_for_all() -> None:
    names = [f"p{n}" for n in range(2_000)]
    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": names[-3:],
    }
    made = plain_schema(schema)
    assert made["required"] == names[-3:] and len(made["properties"]) < 300


# --- properties ------------------------------------------------------------------------------

names = st.sampled_from(["a", "b", "c", "$id", "weird name"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
WRITTEN = (
    *("type", "properties", "required", "items", "prefixItems", "anyOf", "oneOf", "allOf", "enum", "const"),
    *("$ref", "not", "format", "description", "default", "minimum", "maxLength", "additionalProperties"),
    "patternProperties",
)
broken = st.recursive(
    json_values | st.sampled_from(["#", "#/$defs/a", "#/properties/a", *KINDS, "null"]),
    lambda inner: (
        st.dictionaries(st.sampled_from(WRITTEN) | names, inner, max_size=4) | st.lists(inner, max_size=3)
    ),
    max_leaves=20,
)


@given(broken)
def test_whatever_is_sent_becomes_a_plain_schema(schema: Any) -> None:
    made = plain_schema(schema)
    check_plain(made)
    assert bare(plain_schema(made)) == bare(made)
    complete({"a": {}}, schema)


simple = st.sampled_from([{"type": kind} for kind in KINDS[2:]]) | st.lists(
    st.text(max_size=3), min_size=1, max_size=3
).map(lambda values: {"enum": values})


def objects(depth: int) -> st.SearchStrategy[dict[str, Any]]:
    """Schemas of objects of which nothing has to be left out."""
    named = st.dictionaries(st.sampled_from("abc"), kept(depth), min_size=1, max_size=3)
    return named.flatmap(
        lambda each: st.sets(st.sampled_from(sorted(each))).map(
            lambda required: {"type": "object", "properties": each, "required": sorted(required)}
        )
    )


def kept(depth: int) -> st.SearchStrategy[dict[str, Any]]:
    flat = st.one_of(
        simple,
        st.lists(simple, min_size=1, max_size=3).map(lambda each: {"anyOf": each}),
        st.just({"$ref": "#/$defs/Size"}),
    )
    if not depth:
        return flat
    inner = kept(depth - 1)
    return st.one_of(
        flat,
        inner.map(lambda each: {"type": "array", "items": each}),
        inner.map(lambda each: {"anyOf": [each, {"type": "null"}]}),
        inner.map(lambda each: {"allOf": [each], "description": "Both."}),
        objects(depth - 1),
    )


def values_of(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """What a model that is held to a plain schema may write."""
    if "anyOf" in schema:
        return st.one_of([values_of(each) for each in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "object":
            named = schema.get("properties", {})
            required = {
                name: values_of(each) for name, each in named.items() if name in schema.get("required", ())
            }
            others = {name: values_of(each) for name, each in named.items() if name not in required}
            return st.fixed_dictionaries(required, optional=others)
        case "array":
            return st.lists(values_of(schema["items"]), max_size=2)
        case "string":
            return st.text(max_size=3)
        case "number" | "integer":
            return st.integers(-3, 3)
        case "boolean":
            return st.booleans()
        case _:
            return st.none() | st.integers(-3, 3)


def test_what_an_object_in_a_list_or_a_choice_requires_and_may_be_null_is_added() -> None:
    inner = {"type": "object", "properties": {"b": {"type": ["string", "null"]}}, "required": ["b"]}
    choice = {"type": "object", "properties": {"a": {"anyOf": [inner, {"type": "null"}]}}}
    assert complete({"a": {}}, choice) == {"a": {"b": None}}
    assert complete({"a": None}, choice) == {"a": None}
    listed = {"type": "object", "properties": {"a": {"type": "array", "items": inner}}}
    assert complete({"a": [{}, {"b": "x"}]}, listed) == {"a": [{"b": None}, {"b": "x"}]}
    other = {"type": "object", "properties": {"c": {"type": "integer"}}, "required": ["c"]}
    either = {"type": "object", "properties": {"a": {"anyOf": [inner, other]}}}
    assert complete({"a": {"c": 1}}, either) == {"a": {"c": 1}}


@given(st.data(), objects(3))
def test_what_a_model_writes_by_it_is_what_the_tool_takes(data: Any, schema: dict[str, Any]) -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    whole = {
        **schema,
        "$defs": {"Size": {"type": "object", "properties": {"w": {"type": "integer"}}, "required": ["w"]}},
    }
    args = data.draw(values_of(plain_schema(whole)))
    validator(whole).validate(complete(args, whole))
