"""Rename methods and attributes: of a class, of its kin, and wherever an object is one of them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from kith.core.errors import UsageError
from kith.features.refactor.syntax.codebase import Codebase, attribute_start
from kith.features.refactor.syntax.definitions import (
    Meaning,
    ancestors,
    calls_in,
    class_scope,
    classes_of,
    meaning_of,
)
from kith.features.refactor.syntax.marks import Marks, check_free, mark, mark_mentions
from kith.features.refactor.syntax.scopes import Scope, find_owner
from kith.features.refactor.syntax.source import Splice
from kith.features.refactor.syntax.targets import Target, instance_names

_BUILTIN: Final = (
    str,
    bytes,
    bytearray,
    list,
    dict,
    set,
    tuple,
    int,
    float,
    complex,
    type,
    range,
    BaseException,
)


@dataclass(frozen=True, slots=True)
class _Family:
    """The classes that share an attribute, and all that inherit it; `alone`: no other class has it."""

    members: frozenset[Meaning]
    kin: frozenset[Meaning]
    alone: bool


def rename_attribute(code: Codebase, path: str, target: Target, new: str, marks: Marks) -> None:
    """Mark every place of `Class.name`. Raises UsageError for a use that may belong to another class."""
    old = target.name
    family = _find_family(code, Meaning(path, target.scope.name), old)
    for member in family.kin:
        scope = class_scope(code, member)
        if scope and (new in scope.bound or new in instance_names(scope)):
            raise UsageError(f"{member.path}: {member.name} has a {new} already.")
    for member in family.members:
        _mark_definition(code, member, old, new, marks)
    for other in code.holding(old):
        source = code.source(other)
        for node, scope in code.attributes(other, old):
            if _belongs(code, other, node, scope, family):
                mark(source, attribute_start(source, node), old, new, marks)
        _mark_fields(code, other, family, old, new, marks)


def _find_family(code: Codebase, first: Meaning, name: str) -> _Family:
    """Who overrides or inherits the attribute, upwards and downwards."""
    above = {
        Meaning(path, scope.name): ancestors(code, Meaning(path, scope.name))
        for path in code.holding(name)
        for scope in classes_of(code.names(path))
    }
    members = {first}
    while True:
        kin = {each for each, over in above.items() if each in members or over & members}
        over = {
            base for each in kin | members for base in ancestors(code, each) if _defines(code, base, name)
        }
        grown = members | over | {each for each in kin if _defines(code, each, name)}
        if grown == members:
            break
        members = grown
    others = [each for each in above if each not in kin and _defines(code, each, name)]
    return _Family(frozenset(members), frozenset(kin | members), not others and name not in _builtin_names())


def _defines(code: Codebase, meaning: Meaning, name: str) -> bool:
    scope = class_scope(code, meaning)
    return scope is not None and (name in scope.bound or name in instance_names(scope))


@cache
def _builtin_names() -> frozenset[str]:
    return frozenset(name for kind in _BUILTIN for name in dir(kind))


def _mark_definition(code: Codebase, member: Meaning, old: str, new: str, marks: Marks) -> None:
    names, scope = code.names(member.path), class_scope(code, member)
    if scope is None:
        return
    check_free(names, scope, old, new)
    mark_mentions(names, names.of(scope, old), new, marks)
    for element in _slots(scope):
        start, end = names.source.span(element)
        if element.value == old and names.source.text[start + 1 : end - 1] == old:
            marks[member.path].add(Splice(start + 1, end - 1, new))


def _slots(scope: Scope) -> Iterator[ast.Constant]:
    for statement in scope.node.body if isinstance(scope.node, ast.ClassDef) else ():
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) in (
            "__slots__",
            "__match_args__",
        ):
            yield from (each for each in ast.walk(statement.value) if isinstance(each, ast.Constant))


def _belongs(code: Codebase, path: str, node: ast.Attribute, scope: Scope, family: _Family) -> bool:
    """Whether `something.name` is the family's. Raises UsageError where that cannot be said."""
    kind = _class_behind(code, path, node.value, scope)
    if kind is not None:
        return kind in family.kin or bool(ancestors(code, kind) & family.members)
    if code.module_of(path, node.value, scope):
        return False
    if family.alone:
        return True
    source = code.source(path)
    place = source.say(source.span(node)[0])
    raise UsageError(f"{place}: {source.cut(node)} may belong to another class that has a {node.attr}, too.")


def _class_behind(code: Codebase, path: str, value: ast.expr, scope: Scope) -> Meaning | None:
    """The project's class that an expression is, or is an object of; None where nothing says so."""
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Name) and value.func.id == "super":
            return _enclosing_class(path, scope)
        value = value.func
        meaning = meaning_of(code, path, value, scope)
        return meaning if meaning and class_scope(code, meaning) else None
    if not isinstance(value, ast.Name):
        return None
    if _is_self(value.id, scope):
        return _enclosing_class(path, scope)
    meaning = meaning_of(code, path, value, scope)
    if meaning and class_scope(code, meaning):
        return meaning
    return _assigned_class(code, path, value.id, scope)


def _is_self(name: str, scope: Scope) -> bool:
    """Whether a name is the first parameter of the method around it."""
    owner = find_owner(scope, name)
    if owner is None or owner.parent is None or owner.parent.kind != "class":
        return False
    node = owner.node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    first = [*node.args.posonlyargs, *node.args.args][:1]
    static = any(ast.unparse(each) == "staticmethod" for each in node.decorator_list)
    return not static and bool(first) and first[0].arg == name


def _enclosing_class(path: str, scope: Scope) -> Meaning | None:
    found = next((each for each in scope.up() if each.kind == "class"), None)
    return Meaning(path, found.name) if found else None


def _assigned_class(code: Codebase, path: str, name: str, scope: Scope) -> Meaning | None:
    """The class of a name that is only ever annotated as one, or given an object of one."""
    bindings = code.bindings(path, name, scope)
    found = {_bound_class(code, path, each.node, each.scope) for each in bindings}
    return found.pop() if len(found) == 1 else None


def _bound_class(code: Codebase, path: str, node: ast.AST, scope: Scope) -> Meaning | None:
    if isinstance(node, ast.arg):
        hint, around = node.annotation, scope.parent
        if isinstance(hint, ast.Constant) and str(hint.value).isidentifier():
            hint = ast.Name(str(hint.value), ast.Load())
        meaning = meaning_of(code, path, hint, around) if hint and around else None
        return meaning if meaning and class_scope(code, meaning) else None
    for statement in ast.walk(scope.node):
        if isinstance(statement, ast.Assign) and any(target is node for target in statement.targets):
            value = statement.value
            return _class_behind(code, path, value, scope) if isinstance(value, ast.Call) else None
    return None


def _mark_fields(code: Codebase, path: str, family: _Family, old: str, new: str, marks: Marks) -> None:
    """Fields of dataclasses and named tuples are keywords where objects are made: `Point(x=1)`."""
    source = code.source(path)
    for call, scope in calls_in(code, path):
        for keyword in call.keywords:
            if keyword.arg != old:
                continue
            meaning = meaning_of(code, path, call.func, scope)
            copies = source.cut(call.func).rpartition(".")[2] in ("replace", "_replace") and family.alone
            if copies or (meaning in family.kin and _is_field(code, family, old)):
                mark(source, source.span(keyword)[0], old, new, marks)


def _is_field(code: Codebase, family: _Family, name: str) -> bool:
    for member in family.members:
        scope = class_scope(code, member)
        body = scope.node.body if scope and isinstance(scope.node, ast.ClassDef) else []
        if any(isinstance(each, ast.AnnAssign) and ast.unparse(each.target) == name for each in body):
            return True
    return False
