"""What an expression means: the definition behind a name, followed through imports and base classes."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from kith.core.errors import UsageError
from kith.features.refactor.syntax.codebase import Codebase
from kith.features.refactor.syntax.scopes import Names, Scope


@dataclass(frozen=True, slots=True)
class Meaning:
    """A definition: its file and its name in it, with what encloses it (`Cache.get`)."""

    path: str
    name: str


def meaning_of(code: Codebase, path: str, node: ast.expr, scope: Scope, depth: int = 0) -> Meaning | None:
    """The one definition that an expression can mean, None where that cannot be said."""
    if depth > 20:  # modules that import each other's names in a ring
        return None
    if isinstance(node, ast.Attribute):
        module = code.modules.file(stem) if (stem := code.module_of(path, node.value, scope)) else ""
        if module:
            return _global_meaning(code, module, node.attr, depth)
        outer = meaning_of(code, path, node.value, scope, depth + 1)
        return _member(code, outer, node.attr) if outer else None
    if not isinstance(node, ast.Name):
        return None
    bindings = code.bindings(path, node.id, scope)
    if len(bindings) != 1:
        return None
    bound = bindings[0].node
    if isinstance(bound, ast.alias):
        return _imported(code, path, bound, depth)
    outer_name = bindings[0].scope.name
    return Meaning(path, f"{outer_name}.{node.id}" if outer_name else node.id)


def _imported(code: Codebase, path: str, alias: ast.alias, depth: int) -> Meaning | None:
    statement = code.statement_of(path, alias)
    if not isinstance(statement, ast.ImportFrom):
        return None
    stem = code.modules.imported(path, statement)
    module = code.modules.file(stem) if stem else ""
    return _global_meaning(code, module, alias.name, depth) if module else None


def _global_meaning(code: Codebase, module: str, name: str, depth: int) -> Meaning | None:
    if module not in code.files:
        return None
    try:
        scope = code.names(module).module
    except UsageError:  # it does not parse: nothing is known of what it holds
        return None
    return meaning_of(code, module, ast.Name(name, ast.Load()), scope, depth + 1)


def _member(code: Codebase, outer: Meaning, name: str) -> Meaning | None:
    scope = class_scope(code, outer)
    return Meaning(outer.path, f"{outer.name}.{name}") if scope and name in scope.bound else None


def class_scope(code: Codebase, meaning: Meaning) -> Scope | None:
    """The scope of a class, None for what is no class."""
    for scope in code.names(meaning.path).scopes.values():
        if scope.kind == "class" and scope.name == meaning.name:
            return scope
    return None


def classes_of(names: Names) -> Iterator[Scope]:
    """The classes that a file defines."""
    return (scope for scope in names.scopes.values() if scope.kind == "class")


def ancestors(code: Codebase, meaning: Meaning) -> set[Meaning]:
    """The project's classes that a class inherits from, at any distance."""
    found, todo = set[Meaning](), [meaning]
    while todo:
        each = todo.pop()
        scope = class_scope(code, each)
        if scope is None or not isinstance(scope.node, ast.ClassDef) or scope.parent is None:
            continue
        bases = (meaning_of(code, each.path, base, scope.parent) for base in scope.node.bases)
        new = {base for base in bases if base} - found
        found |= new
        todo += new
    return found


def calls_in(code: Codebase, path: str) -> Iterator[tuple[ast.Call, Scope]]:
    """Every call of a file, with the scope it stands in."""
    names = code.names(path)
    todo: list[tuple[ast.AST, Scope]] = [(names.source.tree, names.module)]
    while todo:
        node, scope = todo.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Call):
                yield child, scope
            todo.append((child, names.scopes.get(child, scope)))
