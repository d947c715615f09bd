"""What a person points at: `PATH:NAME` (`utils.py:Cache.get`) or `PATH:FIRST-LAST` (`utils.py:10-24`)."""

import ast
import difflib
import keyword
import re
from dataclasses import dataclass

from kith.core.errors import UsageError
from kith.features.refactor.syntax.scopes import Names, Scope


@dataclass(frozen=True, slots=True)
class Target:
    """A name, and the scope it belongs to: of a class it may also be an attribute that only methods set."""

    scope: Scope
    name: str


def split_target(words: str, what: str = "NAME") -> tuple[str, str]:
    """Path and the rest. Raises UsageError when there is no colon."""
    path, colon, rest = words.rpartition(":")
    if not colon or not path or not rest:
        raise UsageError(f"{words!r} names no place; write PATH:{what}.")
    return path.removeprefix("./"), rest


def read_lines(words: str) -> tuple[int, int]:
    """`10-24` as two numbers, `10` as one line. Raises UsageError."""
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", words)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 0 < first <= last:
        raise UsageError(f"{words!r} are no lines; write FIRST-LAST, such as 10-24.")
    return first, last


def find_target(names: Names, dotted: str) -> Target:
    """The name in a file. Raises UsageError, with the nearest name, when there is none."""
    *outer, name = dotted.split(".")
    scope = names.module
    for part in outer:
        scope = _child(names, scope, part, dotted)
    if name not in scope.bound and not (scope.kind == "class" and name in instance_names(scope)):
        raise _unknown(names, dotted)
    if scope.elsewhere.get(name):
        raise UsageError(
            f"{names.source.path}: {name} is {scope.elsewhere[name]} in {scope.name}, not its own."
        )
    return Target(scope, name)


def instance_names(scope: Scope) -> set[str]:
    """The attributes that the methods of a class give to `self`."""
    found = set()
    for method in scope.node.body if isinstance(scope.node, ast.ClassDef) else ():
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and method.args.args:
            own = method.args.args[0].arg
            found |= {
                node.attr
                for node in ast.walk(method)
                if isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and isinstance(node.value, ast.Name)
                and node.value.id == own
            }
    return found


def check_name(name: str) -> None:
    """Raises UsageError unless a name is a plain Python identifier and no keyword."""
    if not name.isidentifier() or not name.isascii():
        raise UsageError(f"{name!r} is not a plain name in Python.")
    if keyword.iskeyword(name):
        raise UsageError(f"{name} is a keyword of Python.")


def _child(names: Names, scope: Scope, part: str, dotted: str) -> Scope:
    found = [
        each
        for each in names.scopes.values()
        if each.kind in ("class", "function")
        and getattr(each.node, "name", "") == part
        and within(each, scope)
    ]
    if not found:
        raise _unknown(names, dotted)
    if len(found) > 1:
        lines = ", ".join(str(each.node.lineno) for each in found)  # type: ignore[attr-defined]
        raise UsageError(f"{names.source.path} defines {part} several times (lines {lines}).")
    return found[0]


def within(scope: Scope, outer: Scope) -> bool:
    """Whether a scope lies directly in another (type parameters, which lie between, are looked through)."""
    parent = scope.parent
    while parent is not None and parent is not outer and parent.node is scope.node:
        parent = parent.parent
    return parent is outer


def _unknown(names: Names, dotted: str) -> UsageError:
    known = {
        f"{scope.name}.{name}" if scope.name else name
        for scope in names.scopes.values()
        if scope.kind in ("module", "class", "function")
        for name in scope.bound
    }
    near = difflib.get_close_matches(dotted, known, 1)
    hint = f"; did you mean {near[0]}?" if near else "."
    return UsageError(f"{names.source.path} has no {dotted}{hint}")
