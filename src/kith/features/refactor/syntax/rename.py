"""Rename what a name means, not how it is spelt: in its scope, and in every module that imports it."""

import ast
import builtins
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator

from kith.core.errors import UsageError
from kith.features.refactor.syntax.attributes import rename_attribute
from kith.features.refactor.syntax.codebase import (
    Codebase,
    Refactoring,
    attribute_start,
    exported,
    is_exported,
    same_module,
)
from kith.features.refactor.syntax.exports import star_importers
from kith.features.refactor.syntax.marks import Marks, check_free, mark, mark_mentions
from kith.features.refactor.syntax.parameters import mark_keywords
from kith.features.refactor.syntax.scopes import Names, Scope, all_arguments
from kith.features.refactor.syntax.source import Splice
from kith.features.refactor.syntax.targets import Target, check_name, find_target

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


def _check_own(names: Names, target: Target) -> None:
    """Raises UsageError for a name that an import brings, or that may mean a builtin before it is set."""
    path, name = names.source.path, target.name
    if target.scope.kind != "function" and hasattr(builtins, name):
        reads = [each for each in names.of(target.scope, name) if each.scope is target.scope]
        if any(each.how == "read" for each in reads):
            raise UsageError(f"{path}: {name} is a builtin, too, and nobody can say which is meant where.")
    for each in names.of(target.scope, name):
        if each.how == "bind" and isinstance(each.node, ast.alias) and each.node.asname is None:
            where = f"{path}:{each.node.lineno}"
            raise UsageError(f"{where}: {each.name} is imported here; rename it where it is defined.")


def _rename_local(names: Names, scope: Scope, old: str, new: str, marks: Marks) -> None:
    check_free(names, scope, old, new)
    mark_mentions(names, names.of(scope, old), new, marks)


def _is_parameter(scope: Scope, name: str) -> bool:
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
        _mark_exported(names, old, new, marks)
        for other in sorted({*code.holding(old), *star_importers(code, module)}):
            if _rename_in(code, other, module, old, new, marks):
                todo.append(other)


def _mark_exported(names: Names, old: str, new: str, marks: Marks) -> None:
    for element in exported(names):
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
    """One sentence on the places where the name stands in words only."""
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
