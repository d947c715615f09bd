"""YAML as configuration is written in it: plain data in the words of YAML 1.2, and each key's line."""

import re
from typing import Any, Final

import yaml

from kith.settings.places import KeyPath


class MistakeError(Exception):
    """What is wrong with a text, and on which line (0: nobody can say)."""

    def __init__(self, words: str, line: int = 0) -> None:
        super().__init__(words)
        self.line = line


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
    """What is written, with the place of each piece; None for nothing at all. Raises MistakeError."""
    try:
        node = _Loader(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        raise _mistake(error) from error
    except yaml.YAMLError as error:  # a character that no text may hold
        raise MistakeError(str(error).partition("\n")[0]) from error
    if node is None or node.tag == "tag:yaml.org,2002:null":
        return None
    if not isinstance(node, yaml.MappingNode):
        raise MistakeError("it is no mapping of keys to values", node.start_mark.line + 1)
    return node


def _look_through(node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int]) -> None:
    """Note the line of each key. Raises MistakeError for one that stands twice, or is no text."""
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
