"""Calls in the form of Python: `name(key="value")`, with literals only, as the Llama models write them."""

import ast
import json
import re
import warnings
from collections.abc import Mapping
from typing import Any

from kith.models.dialects.json_text import Found, named_in, read_json

# Values without a name: an argument's place among its tool's stands in the place of the name.
PLACE = "#"
_MARK = re.compile(r"<\|python_(?:tag|start)\|>")
_END = re.compile(r"<\|(?:python_end|eom_id|eot_id|eom|eot)\|>")
_LIST = re.compile(r"\[\s*[\w.]+\s*\(.*\)\s*,?\s*\]", re.DOTALL)
_LONGEST = 200_000  # characters that are parsed


def read_python(text: str, at: int, repair: bool) -> tuple[Found, ...]:
    """`<|python_tag|>name(key="value")`, or JSON in its place; more follow after `;` or on new lines."""
    mark = _MARK.match(text, at)
    if not mark:
        return ()
    body, after = text[mark.end() :], len(text)
    if end := _END.search(text, mark.end()):
        body, after = text[mark.end() : end.start()], end.end()
    if body.lstrip()[:1] == "{":
        return _read_objects(text, at, mark.end(), after, repair)
    calls = read_calls_of(body)
    if not calls:
        name = re.match(r"\s*\[?\s*([\w.]+)\s*\(", body)
        why = "it is not a call with literal values, such as name(key='value')"
        return (Found(at, after, name[1], {}, why),) if name else ()
    return tuple(Found(at, after, name, args) for name, args in calls)


def _read_objects(text: str, at: int, place: int, stop: int, repair: bool) -> tuple[Found, ...]:
    """Llama 3.1's other habit: JSON objects, one after the other with `;` between."""
    found: list[Found] = []
    while place < stop and text[place:stop].lstrip(" \n;")[:1] == "{":
        place = text.index("{", place)
        value, place, why = read_json(text, place, stop, repair)
        calls = named_in(value, repair)
        if why or not calls:
            return (Found(at, stop, "", {}, why or "it has no name of a tool"),)
        found += (Found(at, stop, call.name, call.args, call.fault) for call in calls)
    return tuple(found)


def read_list(text: str) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """The calls of a text that is one list `[name(a=1), other(b="x")]` and no more; () for all others."""
    return read_calls_of(text) if _LIST.fullmatch(text.strip()) else ()


def read_calls_of(code: str) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """The calls that Python code consists of, names and literal arguments; () when it holds anything else."""
    if len(code) > _LONGEST:
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # escapes that Python does not know
            tree = ast.parse(code.strip())
        return tuple(call for statement in tree.body for call in _calls(statement))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return ()


def _calls(statement: ast.stmt) -> list[tuple[str, Mapping[str, Any]]]:
    """Raises ValueError for whatever is not a call with literals."""
    if not isinstance(statement, ast.Expr):
        raise ValueError("not an expression")
    value = statement.value
    return [_call(each) for each in (value.elts if isinstance(value, ast.List | ast.Tuple) else [value])]


def _call(node: ast.expr) -> tuple[str, Mapping[str, Any]]:
    if not isinstance(node, ast.Call):
        raise ValueError("not a call")
    args = {f"{PLACE}{place}": ast.literal_eval(value) for place, value in enumerate(node.args)}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise ValueError("not a plain argument")
        args[keyword.arg] = ast.literal_eval(keyword.value)
    return ast.unparse(node.func), _as_json(args)


def _as_json(args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Only what JSON can say: no bytes, sets or complex numbers. Raises TypeError or ValueError."""
    plain: Mapping[str, Any] = json.loads(json.dumps(args, allow_nan=False))
    return plain
