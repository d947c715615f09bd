"""The faults in Python by kind of syntax: comparisons, operators, constants, conditions, results, effects."""

import ast
import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from kith.features.testgen.mutants.python_source import Source
from kith.features.testgen.mutants.python_worth import is_noise, is_only_then

Edit = tuple[int, int, str, str]  # first byte, behind the last, what stands there instead, operator

_WORDS: Final[dict[type[ast.AST], str]] = {
    **{ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="},
    **{ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in", ast.And: "and", ast.Or: "or"},
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"},
    **{ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"},
}
_BOUNDARY: Final = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
# With these a test on the boundary is not enough: one beyond it is needed too.
_ONLY_THERE: Final = {"<": "!=", "<=": "==", ">": "!=", ">=": "=="}
_OPPOSITE: Final = {
    **{"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="},
    **{"is": "is not", "is not": "is", "in": "not in", "not in": "in"},
}
_OTHER: Final = {
    **{"+": "-", "-": "+", "*": "/", "/": "*", "//": "/", "%": "*", "**": "*"},
    **{"<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "&", "and": "or", "or": "and"},
}


def edits_of(node: ast.AST, source: Source) -> Iterator[Edit]:
    """Every fault that can be planted at a node itself; those of its children are their own."""
    match node:
        case ast.Compare():
            yield from _compare(node, source)
        case ast.BoolOp():
            yield from _between(node.values, _WORDS[type(node.op)], source, "boolean")
        case ast.BinOp() if not _is_text(node) and not _is_neutral(node):
            yield from _between([node.left, node.right], _WORDS[type(node.op)], source, "arithmetic")
        case ast.UnaryOp(op=ast.Not()):
            start, _ = source.span(node)
            yield start, _behind_blanks(source.data, start + len("not")), "", "condition"
        case ast.Constant():
            yield from _constant(node, source)
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not is_only_then(test):
            yield from _negated(test, source)
        case ast.comprehension(ifs=tests):
            for test in tests:
                yield from _negated(test, source)
        case ast.Call(func=ast.Name(id="range"), args=args) if args:
            yield from _bound(args[min(1, len(args) - 1)], source)
        case ast.Slice(upper=ast.expr() as upper):
            yield from _bound(upper, source)
        case ast.stmt():
            yield from _statement(node, source)


def _statement(node: ast.stmt, source: Source) -> Iterator[Edit]:
    match node:
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield from ((*source.span(value), other, "return") for other in _other_results(value))
        case ast.Expr(value=ast.Yield(value=ast.expr() as value)) if not isinstance(value, ast.Constant):
            yield *source.span(value), "None", "return"
        case ast.Break():
            yield *source.span(node), "continue", "loop"
        case ast.Continue():
            yield *source.span(node), "break", "loop"
        case ast.AugAssign(op=op, target=target, value=value):
            yield *source.span(node), "pass", "removed"
            if not _is_string(value) and (word := _WORDS.get(type(op), "")) in _OTHER:
                start, end = source.find(source.span(target)[1], source.span(value)[0], f"{word}=")
                yield start, end, f"{_OTHER[word]}=", "arithmetic"
        case ast.Expr(value=ast.Call() | ast.Await()) if not is_noise(node.value):
            yield *source.span(node), "pass", "removed"
        case ast.Raise() | ast.Delete():
            yield *source.span(node), "pass", "removed"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield *source.span(node), "pass", "removed"


def _other_results(value: ast.expr) -> tuple[str, ...]:
    """What a function might answer instead: one of two, where only two are possible."""
    is_not = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    return ("True", "False") if is_not or isinstance(value, ast.Compare) else ("None",)


def _compare(node: ast.Compare, source: Source) -> Iterator[Edit]:
    for op, left, right in zip(node.ops, [node.left, *node.comparators], node.comparators, strict=False):
        word = _WORDS[type(op)]
        start, end = source.find(source.span(left)[1], source.span(right)[0], word)
        if word in _BOUNDARY and not _only_takes_over(node, source):
            yield start, end, _BOUNDARY[word], "boundary"
            if not _never_passes(left, right, source.parents.get(node)):
                yield start, end, _ONLY_THERE[word], "boundary"
        yield start, end, _OPPOSITE[word], "comparison"


def _between(parts: list[ast.expr], word: str, source: Source, operator: str) -> Iterator[Edit]:
    if word not in _OTHER:
        return
    for left, right in pairwise(parts):
        start, end = source.find(source.span(left)[1], source.span(right)[0], word)
        yield start, end, _OTHER[word], operator


def _constant(node: ast.Constant, source: Source) -> Iterator[Edit]:
    span = source.span(node)
    match node.value:
        case bool():
            yield *span, str(not node.value), "constant"
        case int():
            yield *span, str(node.value + 1), "constant"
        case float() if math.isfinite(node.value) and node.value + 1 != node.value:
            yield *span, repr(node.value + 1), "constant"
        case str():
            yield *span, '""' if node.value else '"XX"', "constant"
        case bytes():
            yield *span, 'b""' if node.value else 'b"XX"', "constant"


def _negated(test: ast.expr, source: Source) -> Iterator[Edit]:
    """`not (...)` around a condition, where no other fault says the same."""
    said_elsewhere = isinstance(test, ast.Constant) or (
        isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    )
    if said_elsewhere or (isinstance(test, ast.Compare) and len(test.ops) == 1):
        return
    start, end = source.span(test)
    yield start, end, f"not ({source.data[start:end].decode()})", "condition"


def _bound(stop: ast.expr, source: Source) -> Iterator[Edit]:
    """One step less. A constant bound is changed as a constant."""
    inner = stop.operand if isinstance(stop, ast.UnaryOp) else stop
    if isinstance(inner, ast.Constant | ast.Starred):
        return
    start, end = source.span(stop)
    yield start, end, f"({source.data[start:end].decode()}) - 1", "bound"


# --- what would change nothing, or break at once ---------------------------------------------


def _never_passes(left: ast.expr, right: ast.expr, above: ast.AST | None) -> bool:
    """A length is never below 0, and a counter that goes up by one meets the end of its loop exactly."""
    is_length = isinstance(left, ast.Call) and isinstance(left.func, ast.Name) and left.func.id == "len"
    is_zero = isinstance(right, ast.Constant) and right.value == 0
    return isinstance(above, ast.While) or (is_length and is_zero)


def _is_text(node: ast.BinOp) -> bool:
    """Joining or formatting text: another operator there is a type error, which any test would notice."""
    return any(_is_string(side) for side in (node.left, node.right)) and isinstance(
        node.op, ast.Add | ast.Mod
    )


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr | ast.List | ast.ListComp | ast.Tuple) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _is_neutral(node: ast.BinOp) -> bool:
    """`x * 1`, `x ** 1`, `x + 0`: the same under the operator that would take its place."""
    right = node.right.value if isinstance(node.right, ast.Constant) else None
    neutral = 1 if isinstance(node.op, ast.Mult | ast.Div | ast.FloorDiv | ast.Pow) else 0
    return right is not None and right == neutral and not isinstance(right, bool)


def _only_takes_over(node: ast.Compare, source: Source) -> bool:
    """`if x > best: best = x`: where both are equal, it is all the same which one is taken."""
    match source.parents.get(node):
        case ast.If(test=test, body=[ast.Assign(targets=[target], value=value)], orelse=[]) if test is node:
            told = {ast.unparse(node.left), ast.unparse(node.comparators[0])}
            return len(node.ops) == 1 and {ast.unparse(target), ast.unparse(value)} == told
    return False


def _behind_blanks(data: bytes, at: int) -> int:
    while data[at : at + 1] in (b" ", b"\t"):
        at += 1
    return at
