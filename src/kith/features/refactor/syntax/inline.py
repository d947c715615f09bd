"""Inline a variable or a small function: its value replaces its name, and the name goes."""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Final

from kith.core.errors import UsageError
from kith.features.refactor.syntax.blocks import block_of, cut_blocks
from kith.features.refactor.syntax.codebase import Codebase, Refactoring, exported, taken_by
from kith.features.refactor.syntax.flow import bodies_of, parents_of
from kith.features.refactor.syntax.import_statements import is_docstring, lines_of
from kith.features.refactor.syntax.scopes import (
    Mention,
    ModuleNames,
    NamedTarget,
    NameScope,
    all_arguments,
    find_owner,
    find_target,
)
from kith.features.refactor.syntax.source import PythonSource, Splice, apply_splices

_ATOMS: Final = (
    *(ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.List, ast.Dict, ast.Set),
    *(ast.ListComp, ast.SetComp, ast.DictComp),
)
_ACTS: Final = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
_LATER: Final = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.BoolOp)


def is_steady(value: ast.expr) -> bool:
    """Tell whether an expression gives the same object, and does nothing else, wherever it is evaluated.

    Names and constants do, and operators and tuples of constants.
    """
    if isinstance(value, ast.Name | ast.Constant):
        return True
    parts = [node for node in ast.walk(value) if isinstance(node, ast.expr)]
    plain = ast.Constant | ast.UnaryOp | ast.BinOp | ast.Tuple | ast.Compare
    return all(isinstance(node, plain) for node in parts)


def check_steady(
    names: ModuleNames, statement: ast.stmt, value: ast.expr, places: Sequence[NameScope]
) -> None:
    """Raises UsageError when a name in the value may mean something else in the new place."""
    source = names.source
    for node in ast.walk(value):
        if not isinstance(node, ast.Name):
            continue
        mention = next(each for each in names.mentions if each.node is node)
        owner = find_owner(mention.scope, node.id)
        if any(find_owner(place, node.id) is not owner for place in places):
            raise UsageError(f"{source.path}:{statement.lineno}: {node.id} would mean something else there.")
        bound = [each for each in names.of(owner, node.id) if each.how in ("bind", "delete")] if owner else []
        if len(bound) > 1 or any(
            each.start > source.span(statement)[0] and owner is mention.scope for each in bound
        ):
            raise UsageError(
                f"{source.path}:{statement.lineno}: {node.id} changes, so its value is not inlined."
            )


def check_identity(source: PythonSource, parent: ast.AST, value: ast.expr) -> None:
    """Raises UsageError for `name is other`: two equal values need not be the same object."""
    same = isinstance(parent, ast.Compare) and any(
        isinstance(each, ast.Is | ast.IsNot) for each in parent.ops
    )
    single = isinstance(value, ast.Name) or (
        isinstance(value, ast.Constant) and value.value in (None, True, False, ...)
    )
    if same and not single:
        where = source.say(source.span(parent)[0])
        raise UsageError(f"{where}: `is` asks for the very object, so its value is not written there.")


def check_order(where: str, statement: ast.stmt, body: Sequence[ast.stmt], uses: Sequence[ast.AST]) -> None:
    """Raises UsageError unless the one use is what the next statement evaluates first."""
    if len(uses) != 1:
        raise UsageError(
            f"{where}: this value is computed once and used {len(uses)} times; inlined it would not be."
        )
    following = body[list(body).index(statement) + 1 : list(body).index(statement) + 2]
    parts = _evaluated(following[0]) if following else []
    part = next((each for each in parts if uses[0] in set(ast.walk(each))), None)
    if part is None:
        raise UsageError(f"{where}: the code between this value and its use may change it.")
    check_first(where, part, uses[0])


def check_first(where: str, whole: ast.expr, use: ast.AST) -> None:
    """Raises UsageError unless `use` is evaluated once, in any case, and before anything else acts."""
    for node in ast.walk(whole):
        if isinstance(node, _LATER) and node is not use and use in set(ast.walk(node)):
            first = node.values[0] if isinstance(node, ast.BoolOp) else getattr(node, "test", None)
            if first is None or use not in set(ast.walk(first)):
                raise UsageError(f"{where}: its use is not always evaluated, or not only once.")
        if isinstance(node, _ACTS) and _ends_before(node, use):
            raise UsageError(f"{where}: something else would happen before this value is computed.")


def _evaluated(statement: ast.stmt) -> list[ast.expr]:
    """The expressions that a statement evaluates first, once and in any case."""
    found: ast.expr | None = None
    named = isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name)
    if named or isinstance(statement, ast.Assign | ast.AnnAssign | ast.Return | ast.Expr):
        found = getattr(statement, "value", None)
    elif isinstance(statement, ast.If):
        found = statement.test
    elif isinstance(statement, ast.For | ast.AsyncFor):
        found = statement.iter
    elif isinstance(statement, ast.With | ast.AsyncWith):
        found = statement.items[0].context_expr
    elif isinstance(statement, ast.Raise):
        found = statement.exc
    elif isinstance(statement, ast.Match):
        found = statement.subject
    return [found] if found else []


def _ends_before(node: ast.AST, use: ast.AST) -> bool:
    end = (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
    return bool(end <= (use.lineno, use.col_offset))  # type: ignore[attr-defined]


def fit(
    source: PythonSource, parents: Mapping[ast.AST, ast.AST], node: ast.AST, value: ast.expr, text: str
) -> str:
    """The text of `value` as it may replace `node`. Raises UsageError inside an f-string."""
    parent = parents[node]
    around: ast.AST | None = parent
    while around is not None and not isinstance(around, ast.stmt):
        if isinstance(around, ast.JoinedStr) and any(sign in text for sign in "'\"\\{}#\n"):
            where = source.say(source.span(node)[0])
            raise UsageError(f"{where}: {text.splitlines()[0]} cannot be inside this f-string.")
        around = parents.get(around)
    if not _stands_alone(text) or isinstance(value, ast.NamedExpr):
        return f"({text})"
    dotted = isinstance(parent, ast.Attribute) and isinstance(value, ast.Constant) and text[:1].isdigit()
    if isinstance(value, _ATOMS) or (isinstance(value, ast.Constant) and not dotted):
        return text
    if isinstance(value, ast.Tuple | ast.GeneratorExp) and text.startswith("("):
        return text
    room = _has_room(parent, node) and not isinstance(value, ast.Tuple)
    return text if room else f"({text})"


def _stands_alone(text: str) -> bool:
    """Tell whether a text is a whole expression; one of several lines may need brackets."""
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


def _has_room(parent: ast.AST, node: ast.AST) -> bool:
    """True if an expression needs no parentheses there: nothing around it binds."""
    if isinstance(parent, ast.Call):
        return node in parent.args
    return isinstance(
        parent, ast.Return | ast.Assign | ast.AnnAssign | ast.Expr | ast.keyword | ast.If | ast.While
    )


# --- functions -------------------------------------------------------------------------------


def inline_function(
    names: ModuleNames, function: ast.FunctionDef, scope: NameScope, uses: Sequence[Mention]
) -> bytes:
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
        _check_meanings(names, function, value, use.scope)
        _check_arguments(source, function, value, call, given)
        text = _substitute(names, function, value, given, parents)
        splices.append(Splice(*source.span(call), fit(source, parents, call, value, text)))
    splices += cut_blocks(source, [block_of(source, function)])
    return apply_splices(source, splices)


def _say(source: PythonSource, node: ast.AST) -> str:
    return f"{source.path}:{getattr(node, 'lineno', 0)}"


def _expression(source: PythonSource, function: ast.FunctionDef) -> ast.expr:
    body = [each for each in function.body if not is_docstring(each)]
    arguments = function.args
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        raise UsageError(f"{_say(source, function)}: {function.name} does more than return one expression.")
    if function.decorator_list or arguments.vararg or arguments.kwarg:
        raise UsageError(f"{_say(source, function)}: {function.name} has decorators or takes any arguments.")
    bad = ast.Yield | ast.YieldFrom | ast.Await | ast.NamedExpr | ast.Lambda
    if any(isinstance(node, bad) for node in ast.walk(body[0].value)):
        raise UsageError(f"{_say(source, function)}: the expression of {function.name} cannot be moved.")
    return body[0].value


def _around(parents: Mapping[ast.AST, ast.AST], node: ast.AST) -> list[ast.AST]:
    found = []
    while node in parents:
        node = parents[node]
        found.append(node)
    return found


def _bind(source: PythonSource, function: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr]:
    """Each parameter's argument, or its default where that is a constant."""
    where, arguments = _say(source, call), function.args
    if any(isinstance(each, ast.Starred) for each in call.args) or any(
        each.arg is None for each in call.keywords
    ):
        raise UsageError(f"{where}: the arguments of * are not known.")
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
            raise UsageError(f"{where}: this call passes no {each.arg}.")
        given[each.arg] = default
    return given


def _check_meanings(names: ModuleNames, function: ast.FunctionDef, value: ast.expr, place: NameScope) -> None:
    """Raises UsageError when a name of the expression means something else at the call."""
    own = names.scopes[function]
    for mention in names.mentions:
        if mention.scope is not own or mention.node not in set(ast.walk(value)):
            continue
        owner = find_owner(own, mention.name)
        if owner is not own and find_owner(place, mention.name) is not owner:
            raise UsageError(f"{names.source.path}: {mention.name} means something else in {place.name}.")


def _check_arguments(
    source: PythonSource,
    function: ast.FunctionDef,
    value: ast.expr,
    call: ast.Call,
    given: Mapping[str, ast.expr],
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
    names: ModuleNames,
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


# --- variables -------------------------------------------------------------------------------


def inline(code: Codebase, path: str, dotted: str) -> Refactoring:
    """Put a variable's value, or a function's one expression, where its name is used, and drop the name.

    The variable is assigned once. A value that could change or act before its use is inlined only into the
    statement right behind it. Raises UsageError with one sentence otherwise.
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


def _check_own(code: Codebase, names: ModuleNames, name: str) -> None:
    """Raises UsageError when the name is used beyond its module."""
    path = names.source.path
    if any(each.value == name for each in exported(names)):
        raise UsageError(f"{path}: {name} is in __all__, so others may use it.")
    if other := taken_by(code, path, name):
        raise UsageError(f"{path}: {name} is used by {other}, too.")


def _inline_variable(names: ModuleNames, target: NamedTarget, bound: Mention, uses: list[Mention]) -> bytes:
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
                f"{source.path}:{getattr(use.node, 'lineno', 0)}: {target.name} is not only read here."
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
    names: ModuleNames, target: NamedTarget, bound: Mention
) -> tuple[ast.Assign | ast.AnnAssign, list[ast.stmt]]:
    """The statement that sets the name and nothing else, and its block."""
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


def _drop(source: PythonSource, statement: ast.stmt, only: bool) -> Splice:
    """The statement goes with its lines; a comment behind it stays, on a line of its own."""
    if only:
        return Splice(*source.span(statement), "pass")
    start, end = lines_of(source, statement)
    behind = source.text[source.span(statement)[1] : end]
    if "#" not in behind:
        return Splice(start, end, "")
    indent = re.match(r"[ \t]*", source.text[start:end])
    return Splice(start, end, (indent[0] if indent else "") + behind.lstrip())
