"""Rename what a name means, not how it is spelt: in its scope, and in every module that imports it."""

import ast
import builtins
import io
import re
import tokenize
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cache
from inspect import Signature
from io import BytesIO, StringIO
from pathlib import Path
from posixpath import splitext
from subprocess import Popen
from threading import Thread
from typing import Final

from msgspec import Struct

from kith.core.errors import UsageError
from kith.features.refactor.syntax.codebase import (
    Codebase,
    Meaning,
    Refactoring,
    ancestors,
    attribute_start,
    class_scope,
    classes_of,
    exported,
    is_exported,
    meaning_of,
    same_module,
    star_importers,
)
from kith.features.refactor.syntax.scopes import (
    Mention,
    ModuleNames,
    NamedTarget,
    NameScope,
    all_arguments,
    check_name,
    find_owner,
    find_target,
    instance_names,
)
from kith.features.refactor.syntax.source import PythonSource, Splice

Marks = defaultdict[str, set[Splice]]


def mark(source: PythonSource, start: int, old: str, new: str, marks: Marks) -> None:
    """`old`, which begins at `start`, becomes `new`. Raises UsageError when it is not there."""
    if start < 0 or source.text[start : start + len(old)] != old:
        raise UsageError(f"{source.path}: a place of {old} cannot be told, so it is not renamed.")
    marks[source.path].add(Splice(start, start + len(old), new))


def mark_mentions(names: ModuleNames, mentions: Iterable[Mention], new: str, marks: Marks) -> None:
    """Every one of these names becomes `new`. Raises UsageError for one whose place is unknown."""
    for each in mentions:
        if each.start < 0:
            line = getattr(each.node, "lineno", 0)
            raise UsageError(
                f"{names.source.path}:{line}: the place of {each.name} in this line cannot be told."
            )
        mark(names.source, each.start, each.name, new, marks)


def check_free(names: ModuleNames, scope: NameScope, old: str, new: str) -> None:
    """Raises UsageError when `new`, in the place of `old`, would meet a name that is there already."""
    if new in scope.bound:
        taken = next(each for each in names.mentions if each.name == new)
        taken = next(iter(names.of(scope, new)), taken)
        raise _taken_error(names, taken, f"{new} is already a name there")
    for each in names.of(scope, old):
        for inner in each.scope.up():
            if inner is scope:
                break
            if new in inner.bound and (inner.kind != "class" or inner is each.scope):
                raise _taken_error(names, each, f"{new} means something else in this place")
    for each in names.mentions:
        if each.name == new and scope in each.scope.up():
            owner = find_owner(each.scope, new)
            hidden = owner is None or (owner is not scope and owner in scope.up())
            if hidden and (scope.kind != "class" or each.scope is scope):
                raise _taken_error(
                    names, each, f"{new} is used there, and would then mean what {old} means now"
                )


def _taken_error(names: ModuleNames, mention: Mention, why: str) -> UsageError:
    line = getattr(mention.node, "lineno", 0)
    return UsageError(f"{names.source.path}:{line}: {why}.")


# --- keyword arguments -----------------------------------------------------------------------


def mark_keywords(code: Codebase, path: str, function: NameScope, old: str, new: str, marks: Marks) -> None:
    """`f(old=1)` becomes `f(new=1)` wherever `f` is certainly this function.

    Raises UsageError for a keyword of that name in a call of something that may be it.
    """
    method = function.parent is not None and function.parent.kind == "class"
    called = function.name.rpartition(".")[2]
    wanted = {Meaning(path, function.name)}
    if method and called == "__init__":
        wanted.add(Meaning(path, splitext(function.name)[0]))
    for other in code.holding(old):
        source = code.source(other)
        for call, scope in code.nodes(other, ast.Call):
            keyword = next((each for each in call.keywords if each.arg == old), None)
            if keyword is None:
                continue
            start = source.span(keyword)[0]
            bound = call.args[:1] if source.cut(call.func).rpartition(".")[2] == "partial" else [call.func]
            if any(meaning_of(code, other, each, scope) in wanted for each in bound):
                mark(source, start, old, new, marks)
            elif method and isinstance(call.func, ast.Attribute) and call.func.attr == called:
                words = f"this call names {old}, and it may or may not be one of {function.name}"
                raise UsageError(f"{source.say(start)}: {words}.")


# --- methods and attributes ------------------------------------------------------------------


# Types whose attributes stand behind many a name that says nothing of its class.
_COMMON: Final = (
    *(str, bytes, bytearray, list, dict, set, tuple, int, float, complex, type, range, BaseException),
    *(StringIO, BytesIO, Path, datetime, deque, re.Match, re.Pattern, Popen, Thread, Signature),
)


class _Family(Struct, frozen=True):
    """The classes that share an attribute, and all that inherit it; `alone`: no other class has it."""

    members: frozenset[Meaning]
    kin: frozenset[Meaning]
    alone: bool


def rename_attribute(code: Codebase, path: str, target: NamedTarget, new: str, marks: Marks) -> None:
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
    """Find the classes that override or inherit the attribute, upwards and downwards."""
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
    return _Family(frozenset(members), frozenset(kin | members), not others and name not in _common_names())


def _defines(code: Codebase, meaning: Meaning, name: str) -> bool:
    scope = class_scope(code, meaning)
    return scope is not None and (name in scope.bound or name in instance_names(scope))


@cache
def _common_names() -> frozenset[str]:
    return frozenset(name for kind in _COMMON for name in dir(kind))


def _mark_definition(code: Codebase, member: Meaning, old: str, new: str, marks: Marks) -> None:
    names, scope = code.names(member.path), class_scope(code, member)
    if scope is None:
        return
    _rename_local(names, scope, old, new, marks)
    _mark_strings(names, _slots(scope), old, new, marks)


def _slots(scope: NameScope) -> Iterator[ast.Constant]:
    for statement in scope.node.body if isinstance(scope.node, ast.ClassDef) else ():
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) in (
            "__slots__",
            "__match_args__",
        ):
            yield from (each for each in ast.walk(statement.value) if isinstance(each, ast.Constant))


def _belongs(code: Codebase, path: str, node: ast.Attribute, scope: NameScope, family: _Family) -> bool:
    """Tell whether `something.name` is the family's. Raises UsageError where that cannot be said."""
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


def _class_behind(code: Codebase, path: str, value: ast.expr, scope: NameScope) -> Meaning | None:
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


def _is_self(name: str, scope: NameScope) -> bool:
    """Tell whether a name is the first parameter of the method around it."""
    owner = find_owner(scope, name)
    if owner is None or owner.parent is None or owner.parent.kind != "class":
        return False
    node = owner.node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    first = [*node.args.posonlyargs, *node.args.args][:1]
    static = any(ast.unparse(each) == "staticmethod" for each in node.decorator_list)
    return not static and bool(first) and first[0].arg == name


def _enclosing_class(path: str, scope: NameScope) -> Meaning | None:
    found = next((each for each in scope.up() if each.kind == "class"), None)
    return Meaning(path, found.name) if found else None


def _assigned_class(code: Codebase, path: str, name: str, scope: NameScope) -> Meaning | None:
    """The class of a name that is only ever annotated as one, or given an object of one."""
    bindings = code.bindings(path, name, scope)
    found = {_bound_class(code, path, each.node, each.scope) for each in bindings}
    return found.pop() if len(found) == 1 else None


def _bound_class(code: Codebase, path: str, node: ast.AST, scope: NameScope) -> Meaning | None:
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
    for call, scope in code.nodes(path, ast.Call):
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


# --- names of modules and functions ----------------------------------------------------------


SHOWN = 5  # places in a note


def rename(code: Codebase, path: str, dotted: str, new: str) -> Refactoring:
    """Give a name of a file (`helper`, `Cache.get`, `load.rows`) another one, wherever it is meant.

    `code` must hold every Python file with the old name in it. Strings and comments stay and are told of.
    Raises UsageError with one sentence: no such name, the new one is taken or would be captured, or a place
    whose meaning cannot be known.
    """
    check_name(new)
    names = code.names(path)
    target = find_target(names, dotted)
    old = target.name
    if old == new:
        raise UsageError(f"Both names are {old}; there is nothing to do.")
    if old.startswith("__") and old.endswith("__"):
        raise UsageError(f"{path}: Python itself calls {old} by its name, so it is not renamed.")
    _check_own(names, target)
    marks: Marks = defaultdict(set)
    if target.scope.kind == "module":
        _rename_global(code, path, old, new, marks)
    elif target.scope.kind == "class":
        rename_attribute(code, path, target, new, marks)
    else:
        _rename_local(names, target.scope, old, new, marks)
        if _is_parameter(target.scope, old):
            mark_keywords(code, path, target.scope, old, new, marks)
    return Refactoring(code.rewrite(marks), tuple(_left_alone(code, old, marks)))


def _check_own(names: ModuleNames, target: NamedTarget) -> None:
    """Raises UsageError for a name that an import binds, or that may mean a builtin before it is set."""
    path, name = names.source.path, target.name
    if target.scope.kind != "function" and hasattr(builtins, name):
        reads = [each for each in names.of(target.scope, name) if each.scope is target.scope]
        if any(each.how == "read" for each in reads):
            raise UsageError(f"{path}: {name} is also a builtin, so its uses are ambiguous.")
    for each in names.of(target.scope, name):
        if each.how == "bind" and isinstance(each.node, ast.alias) and each.node.asname is None:
            where = f"{path}:{each.node.lineno}"
            raise UsageError(f"{where}: {each.name} is imported here; rename it where it is defined.")


def _rename_local(names: ModuleNames, scope: NameScope, old: str, new: str, marks: Marks) -> None:
    check_free(names, scope, old, new)
    mark_mentions(names, names.of(scope, old), new, marks)


def _is_parameter(scope: NameScope, name: str) -> bool:
    node = scope.node
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(
        each.arg == name for each in all_arguments(node.args)
    )


def _rename_global(code: Codebase, path: str, old: str, new: str, marks: Marks) -> None:
    """The name in its own module, and in each that gets it from there, directly or handed on."""
    todo, done = [path], set[str]()
    while todo:
        module = todo.pop()
        if module in done:
            continue
        done.add(module)
        names = code.names(module)
        if old in names.module.bound:
            _rename_local(names, names.module, old, new, marks)
        _mark_strings(names, exported(names), old, new, marks)
        for other in sorted({*code.holding(old), *star_importers(code, module)}):
            if _rename_in(code, other, module, old, new, marks):
                todo.append(other)


def _mark_strings(
    names: ModuleNames, elements: Iterable[ast.Constant], old: str, new: str, marks: Marks
) -> None:
    """The name where it is spelt as a string, in `__all__` or `__slots__`."""
    for element in elements:
        start, end = names.source.span(element)
        if element.value == old and names.source.text[start + 1 : end - 1] == old:
            marks[names.source.path].add(Splice(start + 1, end - 1, new))


def _rename_in(code: Codebase, path: str, module: str, old: str, new: str, marks: Marks) -> bool:
    """Rename what one file takes from a module; True when it has the name for itself then, to hand on."""
    names, own = code.names(path), False
    for statement, scope in code.imports(path):
        if not isinstance(statement, ast.ImportFrom):
            continue
        if not same_module(code.modules, code.modules.imported(path, statement), module):
            continue
        for alias in statement.names:
            if alias.name == "*" and is_exported(code.names(module), old):
                mark_mentions(names, names.unknown(old), new, marks)
                own = True
            elif alias.name == old:
                mark(names.source, names.source.span(alias)[0], old, new, marks)
                if not alias.asname:
                    _rename_local(names, scope, old, new, marks)
                    own = own or scope.kind == "module"
    for node, scope in code.attributes(path, old):
        if same_module(code.modules, code.module_of(path, node.value, scope), module):
            mark(names.source, attribute_start(names.source, node), old, new, marks)
    return own


# --- what stays ------------------------------------------------------------------------------


def _left_alone(code: Codebase, old: str, marks: Marks) -> Iterator[str]:
    """One sentence on the places where the name is only in text."""
    places = [place for path in code.holding(old) for place in _words_in(code, path, old, marks)]
    if places:
        more = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
        yield f"Left alone in strings and comments: {old} in {', '.join(places[:SHOWN])}{more}."


def _words_in(code: Codebase, path: str, old: str, marks: Marks) -> Iterator[str]:
    source = code.source(path)
    word = re.compile(rf"\b{re.escape(old)}\b")
    taken = {splice.start for splice in marks[path]}
    words = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(source.text, newline="").readline):
        if token.type in words:
            start = source.line_start(token.start[0]) + token.start[1]
            if any(start + found.start() not in taken for found in word.finditer(token.string)):
                yield f"{path}:{token.start[0]}"
