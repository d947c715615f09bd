"""Inline a variable or a small function: its value stands where its name stood, and the name goes."""

import ast
import re

from kith.core.errors import UsageError
from kith.features.refactor.syntax.codebase import Codebase, Refactoring, exported, taken_by
from kith.features.refactor.syntax.expressions import (
    check_identity,
    check_order,
    check_steady,
    fit,
    is_steady,
)
from kith.features.refactor.syntax.flow import bodies_of, parents_of
from kith.features.refactor.syntax.inline_function import inline_function
from kith.features.refactor.syntax.scopes import Mention, Names
from kith.features.refactor.syntax.source import Source, Splice, apply_splices
from kith.features.refactor.syntax.statements import lines_of
from kith.features.refactor.syntax.targets import Target, find_target


def inline(code: Codebase, path: str, dotted: str) -> Refactoring:
    """Put a variable's value, or a function's one expression, where its name is used, and drop the name.

    The variable is assigned once; a value that could change or act between there and a use is inlined only
    into the statement right behind it. Raises UsageError with one sentence otherwise.
    """
    names = code.names(path)
    target = find_target(names, dotted)
    mentions = names.of(target.scope, target.name)
    bound = [each for each in mentions if each.how in ("bind", "delete", "declare")]
    if target.scope.kind == "class":
        raise UsageError(f"{path}: {dotted} belongs to a class; only variables and functions are inlined.")
    if target.scope.kind == "module":
        _check_own(code, names, target.name)
    if len(bound) != 1:
        lines = ", ".join(str(getattr(each.node, "lineno", 0)) for each in bound)
        raise UsageError(f"{path}: {dotted} gets its value in several places (lines {lines}).")
    uses = [each for each in mentions if each is not bound[0]]
    node = bound[0].node
    if isinstance(node, ast.FunctionDef):
        return Refactoring({path: inline_function(names, node, target.scope, uses)})
    return Refactoring({path: _inline_variable(names, target, bound[0], uses)})


def _check_own(code: Codebase, names: Names, name: str) -> None:
    """Raises UsageError when the name is used beyond its module."""
    path = names.source.path
    if any(each.value == name for each in exported(names)):
        raise UsageError(f"{path}: {name} is in __all__, so others may use it.")
    if other := taken_by(code, path, name):
        raise UsageError(f"{path}: {name} is used by {other}, too.")


def _inline_variable(names: Names, target: Target, bound: Mention, uses: list[Mention]) -> bytes:
    source = names.source
    statement, body = _find_assignment(names, target, bound)
    value = statement.value
    assert value
    where = f"{source.path}:{statement.lineno}"
    if not uses:
        raise UsageError(f"{where}: nothing uses {target.name}.")
    end, parents = source.span(statement)[1], parents_of(source.tree)
    for use in uses:
        if use.how != "read" or not isinstance(use.node, ast.Name):
            raise UsageError(
                f"{source.path}:{getattr(use.node, 'lineno', 0)}: {target.name} is no plain read here."
            )
        if use.start < end or not any(use.node in set(ast.walk(each)) for each in body):
            raise UsageError(
                f"{source.say(use.start)}: {target.name} is used where its value may not be set."
            )
        check_identity(source, parents[use.node], value)
    if is_steady(value):
        check_steady(names, statement, value, [use.scope for use in uses])
    else:
        check_order(where, statement, body, [use.node for use in uses])
    text = source.cut(value)
    splices = [Splice(*source.span(use.node), fit(source, parents, use.node, value, text)) for use in uses]
    return apply_splices(source, [*splices, _drop(source, statement, len(body) == 1)])


def _find_assignment(
    names: Names, target: Target, bound: Mention
) -> tuple[ast.Assign | ast.AnnAssign, list[ast.stmt]]:
    """The statement that sets the name and nothing else, and the block it stands in."""
    source = names.source
    for node in ast.walk(target.scope.node):
        for body in bodies_of(node):
            for each in body:
                targets = each.targets if isinstance(each, ast.Assign) else []
                if isinstance(each, ast.AnnAssign) and each.value:
                    targets = [each.target]
                if (
                    len(targets) == 1
                    and targets[0] is bound.node
                    and isinstance(each, ast.Assign | ast.AnnAssign)
                ):
                    return each, body
    line = getattr(bound.node, "lineno", 0)
    raise UsageError(f"{source.path}:{line}: {target.name} is not set by a plain assignment.")


def _drop(source: Source, statement: ast.stmt, only: bool) -> Splice:
    """The statement goes with its lines; a comment behind it stays, on a line of its own."""
    if only:
        return Splice(*source.span(statement), "pass")
    start, end = lines_of(source, statement)
    behind = source.text[source.span(statement)[1] : end]
    if "#" not in behind:
        return Splice(start, end, "")
    indent = re.match(r"[ \t]*", source.text[start:end])
    return Splice(start, end, (indent[0] if indent else "") + behind.lstrip())
