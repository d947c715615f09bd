"""Expressions that take another's place: whether their value is the same there, and their parentheses."""

import ast
from collections.abc import Mapping, Sequence
from typing import Final

from kith.core.errors import UsageError
from kith.features.refactor.syntax.scopes import Names, Scope, find_owner
from kith.features.refactor.syntax.source import Source

_ATOMS: Final = (
    *(ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.List, ast.Dict, ast.Set),
    *(ast.ListComp, ast.SetComp, ast.DictComp),
)
_ACTS: Final = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
_LATER: Final = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.BoolOp)


def is_steady(value: ast.expr) -> bool:
    """Whether an expression gives the same object, and does nothing else, wherever it is evaluated.

    Names and constants do, and operators and tuples of constants.
    """
    if isinstance(value, ast.Name | ast.Constant):
        return True
    parts = [node for node in ast.walk(value) if isinstance(node, ast.expr)]
    plain = ast.Constant | ast.UnaryOp | ast.BinOp | ast.Tuple | ast.Compare
    return all(isinstance(node, plain) for node in parts)


def check_steady(names: Names, statement: ast.stmt, value: ast.expr, places: Sequence[Scope]) -> None:
    """Raises UsageError when a name in the value may mean something else where it would stand."""
    source = names.source
    for node in ast.walk(value):
        if not isinstance(node, ast.Name):
            continue
        mention = next(each for each in names.mentions if each.node is node)
        owner = find_owner(mention.scope, node.id)
        if any(find_owner(place, node.id) is not owner for place in places):
            raise UsageError(
                f"{source.path}:{statement.lineno}: {node.id} means something else where it would stand."
            )
        bound = [each for each in names.of(owner, node.id) if each.how in ("bind", "delete")] if owner else []
        if len(bound) > 1 or any(
            each.start > source.span(statement)[0] and owner is mention.scope for each in bound
        ):
            raise UsageError(
                f"{source.path}:{statement.lineno}: {node.id} changes, so its value is not inlined."
            )


def check_identity(source: Source, parent: ast.AST, value: ast.expr) -> None:
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
        raise UsageError(f"{where}: what stands between this value and its use may change it.")
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


def fit(source: Source, parents: Mapping[ast.AST, ast.AST], node: ast.AST, value: ast.expr, text: str) -> str:
    """The text of `value` as it may stand in the place of `node`. Raises UsageError inside an f-string."""
    parent = parents[node]
    around: ast.AST | None = parent
    while around is not None and not isinstance(around, ast.stmt):
        if isinstance(around, ast.JoinedStr) and any(sign in text for sign in "'\"\\{}#\n"):
            where = source.say(source.span(node)[0])
            raise UsageError(f"{where}: {text.splitlines()[0]} cannot stand inside this f-string.")
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
    """Whether a text is an expression by itself; one of several lines may need the brackets it stood in."""
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


def _has_room(parent: ast.AST, node: ast.AST) -> bool:
    """Whether an expression can stand there without parentheses: nothing around it binds."""
    if isinstance(parent, ast.Call):
        return node in parent.args
    return isinstance(
        parent, ast.Return | ast.Assign | ast.AnnAssign | ast.Expr | ast.keyword | ast.If | ast.While
    )
