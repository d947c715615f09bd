"""Find the name that a person points at, such as `Cache.get`, in the scopes of a file."""

import ast
import difflib
import keyword
from dataclasses import dataclass

from kith.core.errors import UsageError
from kith.features.refactor.syntax.scopes import ModuleNames, NameScope


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """A name, and the scope it belongs to: of a class it may also be an attribute that only methods set."""

    scope: NameScope
    name: str


def find_target(names: ModuleNames, dotted: str) -> NamedTarget:
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
    return NamedTarget(scope, name)


def instance_names(scope: NameScope) -> set[str]:
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


def _child(names: ModuleNames, scope: NameScope, part: str, dotted: str) -> NameScope:
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


def within(scope: NameScope, outer: NameScope) -> bool:
    """Tell whether a scope lies directly in another; type parameters between them do not count."""
    parent = scope.parent
    while parent is not None and parent is not outer and parent.node is scope.node:
        parent = parent.parent
    return parent is outer


def _unknown(names: ModuleNames, dotted: str) -> UsageError:
    known = {
        f"{scope.name}.{name}" if scope.name else name
        for scope in names.scopes.values()
        if scope.kind in ("module", "class", "function")
        for name in scope.bound
    }
    near = difflib.get_close_matches(dotted, known, 1)
    hint = f"; did you mean {near[0]}?" if near else "."
    return UsageError(f"{names.source.path} has no {dotted}{hint}")
