"""YAML for configuration: read as plain data of YAML 1.2, and changed at the place of a key."""

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import yaml

from kith.settings.values import KeyPath, MistakeError


class _Loader(yaml.SafeLoader):
    """The safe loader, for which `on`, `off`, `yes` and `no` are words, and a date is one, too.

    Aliases are refused, since a few lines of them unfold into more than any memory holds, and so are tags.
    """

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 the parent's name

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        alias, event = self.check_event(yaml.AliasEvent), self.current_event
        if alias or getattr(event, "tag", None):
            words = "aliases (*name)" if alias else "tags (!name)"
            raise MistakeError(f"{words} are not read here", event.start_mark.line + 1)
        return super().compose_node(parent, index)


# https://yaml.org/spec/1.2.2/#103-core-schema, and underscores in numbers, as TOML has them.
_CORE: Final = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (r"[-+]?[0-9][0-9_]*|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    "float": (
        r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
}
for _name, (_pattern, _first) in _CORE.items():
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(rf"(?:{_pattern})\Z"), _first)


def _make_integer(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    """Leading zeros mean nothing, as in YAML 1.2."""
    text = loader.construct_scalar(node).replace("_", "")
    return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


_Loader.add_constructor("tag:yaml.org,2002:int", _make_integer)


def read_yaml(text: str) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """The values, and the line of each of their keys. Raises MistakeError, RecursionError."""
    node = read_nodes(text)
    lines: dict[KeyPath, int] = {}
    if node is None:
        return {}, lines
    _look_through(node, (), lines)
    return _Loader("").construct_document(node), lines


def read_nodes(text: str) -> yaml.MappingNode | None:
    """Parse YAML with the place of each node; None for an empty text. Raises MistakeError."""
    try:
        node = _Loader(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        raise _mistake(error) from error
    except yaml.YAMLError as error:  # a character that no text may hold
        raise MistakeError(str(error).partition("\n")[0]) from error
    if node is None or node.tag == "tag:yaml.org,2002:null":
        return None
    if not isinstance(node, yaml.MappingNode):
        raise MistakeError("it is not a mapping of keys to values", node.start_mark.line + 1)
    return node


def _look_through(node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int]) -> None:
    """Note the line of each key. Raises MistakeError for one that occurs twice, or is no text."""
    if isinstance(node, yaml.SequenceNode):
        for number, entry in enumerate(node.value):
            lines[(*path, number)] = entry.start_mark.line + 1
            _look_through(entry, (*path, number), lines)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                shown = key.value if isinstance(key, yaml.ScalarNode) else "this"
                raise MistakeError(f"{shown!r} is no name of a key; put it in quotes if it is meant", line)
            if (*path, key.value) in lines:
                raise MistakeError(f"{key.value!r} stands twice", line)
            lines[(*path, key.value)] = line
            _look_through(value, (*path, key.value), lines)


def _mistake(error: yaml.MarkedYAMLError) -> MistakeError:
    mark = error.problem_mark or error.context_mark
    said = [each for each in (error.context, error.problem) if each]
    words = " ".join(said if said[-1:] and said[-1].startswith("but ") else said[-1:])
    return MistakeError(words or "it cannot be read", mark.line + 1 if mark else 0)


# --- one key of a YAML text, changed where it stands -----------------------------------------


_PLAIN: Final = re.compile(r"[A-Za-z/~][\w./~-]*(?::[\w./-]+)*")  # what means itself without quotes
_WORDS: Final = re.compile(r"(?i)true|false|null|yes|no|on|off|y|n|~")


def set_in_yaml(text: str, keys: Sequence[str], value: Any) -> str:
    """The text in which `keys` lead to `value`. Raises ValueError where that would take a comment away."""
    mapping, pair, rest = _find(text, keys)
    if mapping is None:
        return f"{_ended(text)}{_block(keys, value, 0)}\n"
    if mapping.flow_style:
        return _written_again(text, mapping, rest, value)
    if pair is None:
        key, last = mapping.value[-1]
        end = _end_of_line(text, _end(text, last, key))
        return f"{text[:end]}\n{_block(rest, value, mapping.value[0][0].start_mark.column)}{text[end:]}"
    key, old = pair
    start, end = key.end_mark.index, _end(text, old, key)
    if isinstance(old, yaml.ScalarNode) and old.style not in ("|", ">") and end > start:
        start = old.start_mark.index
        return f"{text[:start]}{_flow(value)}{text[end:]}" if end > start else _after(text, key, value)
    _spare_comments(text, start, end)
    return _after(text, key, value, end)


def drop_from_yaml(text: str, keys: Sequence[str]) -> str:
    """The text without a key, and without the tables that only it was in. Raises KeyError, ValueError."""
    mapping, pair, _ = _find(text, keys)
    if mapping is None or pair is None:
        raise KeyError(".".join(keys))
    if len(mapping.value) == 1 and len(keys) > 1:
        return drop_from_yaml(text, keys[:-1])
    if mapping.flow_style:
        return _written_again(text, mapping, keys[-1:], None)
    key, old = pair
    start = key.start_mark.index - key.start_mark.column
    end = _end(text, old, key)
    _spare_comments(text, start, end)
    return text[:start] + text[_end_of_line(text, end) + 1 :]


def _find(
    text: str, keys: Sequence[str]
) -> tuple[yaml.MappingNode | None, tuple[yaml.Node, yaml.Node] | None, Sequence[str]]:
    """The innermost mapping on the way, the pair in it that the last key means, and the keys not found."""
    mapping, rest = read_nodes(text), list(keys)
    if mapping is None or not mapping.value:
        return None, None, rest
    while True:
        pair = next((each for each in mapping.value if each[0].value == rest[0]), None)
        if pair is None:
            return mapping, None, rest
        if len(rest) == 1:
            return mapping, pair, rest
        if not isinstance(pair[1], yaml.MappingNode):
            raise ValueError(f"{rest[0]} is no table there")
        mapping, rest = pair[1], rest[1:]


def _end(text: str, node: yaml.Node, key: yaml.Node) -> int:
    """Find the end of a value; a block's own mark lies behind the comments that follow it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(text, last[1], last[0]) if isinstance(last, tuple) else _end(text, last, key)
    start = max(node.start_mark.index, key.end_mark.index)
    return start + len(text[start : node.end_mark.index].rstrip())


def _end_of_line(text: str, position: int) -> int:
    found = text.find("\n", position)
    return len(text) if found < 0 else found


def _after(text: str, key: yaml.Node, value: Any, end: int | None = None) -> str:
    """The value of a key, set right behind it."""
    start = key.end_mark.index
    if end is None:
        end = text.index(":", start) + 1
    return f"{text[:start]}: {_flow(value)}{text[end:]}"


def _written_again(text: str, mapping: yaml.MappingNode, keys: Sequence[str], value: Any) -> str:
    """A mapping in braces, with a key set (or left out: None), as JSON."""
    start, end = mapping.start_mark.index, mapping.end_mark.index
    _spare_comments(text, start, end)
    data: dict[str, Any] = yaml.safe_load(text[start:end])
    table = data
    for key in keys[:-1]:
        table = table.setdefault(key, {})
    table.pop(keys[-1], None)
    if value is not None:
        table[keys[-1]] = value
    return f"{text[:start]}{json.dumps(data, ensure_ascii=False)}{text[end:]}"


def _spare_comments(text: str, start: int, end: int) -> None:
    """Raises ValueError where there is a comment in a part of the text: between what counts."""
    for before, after in pairwise(yaml.scan(text)):
        if "#" in text[max(start, before.end_mark.index) : min(end, after.start_mark.index)]:
            raise ValueError("a comment would be lost")


def _block(keys: Sequence[str], value: Any, column: int) -> str:
    """Lines for a key that is not there yet, its tables and all."""
    lines = [f"{' ' * (column + 2 * depth)}{_flow(key)}:" for depth, key in enumerate(keys)]
    return "\n".join(lines) + f" {_flow(value)}"


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _flow(value: Any) -> str:
    """A value on one line, without quotes where nobody could take it for anything else."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and not _WORDS.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False)
