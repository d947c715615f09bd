"""A JSON value that names tools and their arguments, under the keys that models use for that."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kith.models.dialects.json_text import read_json

_NAMES = ("name", "tool", "tool_name", "function", "function_name", "action")
_ARGS = ("arguments", "parameters", "args", "input", "params", "action_input")
_BESIDE = frozenset({"id", "type", "call_id", "tool_call_id"})  # keys of a call that are no arguments


@dataclass(frozen=True, slots=True)
class Named:
    """A tool's name and arguments; `plain`: both stood under keys of their own."""

    name: str
    args: Mapping[str, Any]
    plain: bool = True
    fault: str = ""


def named_in(value: Any, mend: bool) -> list[Named]:
    """The calls that a JSON value holds: one object, or a list of them; [] when any of it is no call."""
    if isinstance(value, Mapping) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    found = [_named(each, mend) for each in (value if isinstance(value, list) else [value])]
    calls = [each for each in found if each is not None]
    return calls if len(calls) == len(found) else []


def _named(value: Any, mend: bool) -> Named | None:
    if not isinstance(value, Mapping):
        return None
    if isinstance(value.get("function"), Mapping):  # OpenAI's own nesting
        value = value["function"]
    name_key = next((key for key in _NAMES if isinstance(value.get(key), str) and value[key].strip()), None)
    if name_key is None:
        return None
    name, args_key = value[name_key].strip(), next(_keys_of_args(value, name_key), None)
    if args_key is None:  # arguments beside the name
        rest = {key: each for key, each in value.items() if key != name_key and key not in _BESIDE}
        return Named(name, rest, plain=False)
    args = value[args_key]
    if isinstance(args, str):  # JSON inside a JSON string
        if not args.strip():
            return Named(name, {})
        args, _, why = read_json(args, 0, len(args), mend)
        if why:
            return Named(name, {}, fault=why)
    if args is None:
        return Named(name, {})
    if not isinstance(args, Mapping):
        return Named(name, {}, fault="its arguments are not a JSON object")
    return Named(name, args)


def _keys_of_args(value: Mapping[str, Any], name_key: str) -> Iterator[str]:
    return (key for key in _ARGS if key in value and key != name_key)
