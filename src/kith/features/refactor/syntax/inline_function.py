"""Inline a function that is one expression: each call becomes that expression, with the arguments in it."""

import ast
from collections.abc import Mapping, Sequence

from kith.core.errors import UsageError
from kith.features.refactor.syntax.blocks import block_of, cut_blocks
from kith.features.refactor.syntax.expressions import check_first, fit, is_steady
from kith.features.refactor.syntax.flow import parents_of
from kith.features.refactor.syntax.scopes import Mention, Names, Scope, all_arguments, find_owner
from kith.features.refactor.syntax.source import Source, Splice, apply_splices
from kith.features.refactor.syntax.statements import is_docstring


def inline_function(names: Names, function: ast.FunctionDef, scope: Scope, uses: Sequence[Mention]) -> bytes:
    """The file without the function, its expression in the place of every call. Raises UsageError."""
    source, parents = names.source, parents_of(names.source.tree)
    value = _expression(source, function)
    if scope.kind != "module":
        raise UsageError(f"{_say(source, function)}: only functions at the top of a module are inlined.")
    if not uses:
        raise UsageError(f"{_say(source, function)}: nothing calls {function.name}.")
    splices = []
    for use in uses:
        call = parents.get(use.node)
        if not isinstance(use.node, ast.Name) or not isinstance(call, ast.Call) or call.func is not use.node:
            raise UsageError(f"{_say(source, use.node)}: {function.name} is not called here, but handed on.")
        if function in _around(parents, call):
            raise UsageError(f"{_say(source, call)}: {function.name} calls itself.")
        given = _bind(source, function, call)
        _check_free(names, function, value, use.scope)
        _check_arguments(source, function, value, call, given)
        text = _substitute(names, function, value, given, parents)
        splices.append(Splice(*source.span(call), fit(source, parents, call, value, text)))
    splices += cut_blocks(source, [block_of(source, function)])
    return apply_splices(source, splices)


def _say(source: Source, node: ast.AST) -> str:
    return f"{source.path}:{getattr(node, 'lineno', 0)}"


def _expression(source: Source, function: ast.FunctionDef) -> ast.expr:
    body = [each for each in function.body if not is_docstring(each)]
    arguments = function.args
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        raise UsageError(
            f"{_say(source, function)}: {function.name} is more than one return of an expression."
        )
    if function.decorator_list or arguments.vararg or arguments.kwarg:
        raise UsageError(f"{_say(source, function)}: {function.name} has decorators or takes any arguments.")
    bad = ast.Yield | ast.YieldFrom | ast.Await | ast.NamedExpr | ast.Lambda
    if any(isinstance(node, bad) for node in ast.walk(body[0].value)):
        raise UsageError(
            f"{_say(source, function)}: the expression of {function.name} cannot stand elsewhere."
        )
    return body[0].value


def _around(parents: Mapping[ast.AST, ast.AST], node: ast.AST) -> list[ast.AST]:
    found = []
    while node in parents:
        node = parents[node]
        found.append(node)
    return found


def _bind(source: Source, function: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr]:
    """Each parameter's argument, or its default where that is a constant."""
    where, arguments = _say(source, call), function.args
    if any(isinstance(each, ast.Starred) for each in call.args) or any(
        each.arg is None for each in call.keywords
    ):
        raise UsageError(f"{where}: nobody can say which arguments * brings here.")
    plain = [*arguments.posonlyargs, *arguments.args]
    given = {each.arg: value for each, value in zip(plain, call.args, strict=False)}
    given |= {each.arg: each.value for each in call.keywords if each.arg}
    defaults = dict(
        zip(
            [each.arg for each in plain][len(plain) - len(arguments.defaults) :],
            arguments.defaults,
            strict=True,
        )
    )
    defaults |= {
        each.arg: value
        for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if value
    }
    for each in all_arguments(arguments):
        if each.arg in given:
            continue
        default = defaults.get(each.arg)
        if default is None or not isinstance(default, ast.Constant):
            raise UsageError(f"{where}: this call says nothing of {each.arg}.")
        given[each.arg] = default
    return given


def _check_free(names: Names, function: ast.FunctionDef, value: ast.expr, place: Scope) -> None:
    """Raises UsageError when a name of the expression means something else where the call stands."""
    own = names.scopes[function]
    for mention in names.mentions:
        if mention.scope is not own or mention.node not in set(ast.walk(value)):
            continue
        owner = find_owner(own, mention.name)
        if owner is not own and find_owner(place, mention.name) is not owner:
            raise UsageError(f"{names.source.path}: {mention.name} means something else in {place.name}.")


def _check_arguments(
    source: Source, function: ast.FunctionDef, value: ast.expr, call: ast.Call, given: Mapping[str, ast.expr]
) -> None:
    """Raises UsageError when an argument that acts would be evaluated more or less often, or later."""
    acting = [name for name, argument in given.items() if not is_steady(argument)]
    for name in acting:
        uses = [node for node in ast.walk(value) if isinstance(node, ast.Name) and node.id == name]
        if len(uses) != 1:
            raise UsageError(
                f"{_say(source, call)}: {source.cut(given[name])} would be evaluated {len(uses)} times."
            )
    if len(acting) > 1 and not all(isinstance(given[name], ast.Attribute) for name in acting):
        raise UsageError(f"{_say(source, call)}: the order of {' and '.join(acting)} could change.")
    if acting and not isinstance(given[acting[0]], ast.Attribute):
        use = next(node for node in ast.walk(value) if isinstance(node, ast.Name) and node.id == acting[0])
        check_first(_say(source, call), value, use)


def _substitute(
    names: Names,
    function: ast.FunctionDef,
    value: ast.expr,
    given: Mapping[str, ast.expr],
    parents: Mapping[ast.AST, ast.AST],
) -> str:
    """The expression's text with the arguments in the place of the parameters."""
    source, own = names.source, names.scopes[function]
    start, end = source.span(value)
    text = source.text[start:end]
    uses = [
        each
        for each in names.mentions
        if each.name in given
        and each.node in set(ast.walk(value))
        and find_owner(each.scope, each.name) is own
    ]
    for use in sorted(uses, key=lambda each: -each.start):
        argument = given[use.name]
        new = fit(source, parents, use.node, argument, source.cut(argument))
        text = text[: use.start - start] + new + text[use.start - start + len(use.name) :]
    return text
