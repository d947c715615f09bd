"""Plant faults in Python source, by its syntax tree and its tokens."""

import ast
import io
import math
import tokenize
import warnings
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from kith.features.testgen.mutants.mutant import Mutant, keep_apart

_BOM = b"\xef\xbb\xbf"


class MutableSource(Struct, frozen=True):
    """A parsed file: `rows` are the offsets at which its lines begin, `tokens` (start, end, text) in order.

    `parents` leads from each expression to the node that holds it.
    """

    data: bytes
    tree: ast.Module
    rows: Sequence[int]
    tokens: Sequence[tuple[int, int, str]]
    parents: Mapping[ast.AST, ast.AST]

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """The bytes of a node, first and behind the last."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self.rows[node.lineno - 1] + node.col_offset, self.rows[end_line - 1] + end_column

    def find(self, start: int, end: int, text: str) -> tuple[int, int]:
        """The first token that says `text` (of one word or two) between two offsets. Raises ValueError."""
        words = text.split(" ")
        at = bisect_left(self.tokens, (start,))
        while at < len(self.tokens) and self.tokens[at][1] <= end:
            if [token[2] for token in self.tokens[at : at + len(words)]] == words:
                return self.tokens[at][0], self.tokens[at + len(words) - 1][1]
            at += 1
        raise ValueError(f"no {text!r} in {self.data[start:end]!r}")


def read_source(data: bytes) -> MutableSource:
    """Parse a file in UTF-8. Raises SyntaxError, ValueError."""
    mark = len(_BOM) if data.startswith(_BOM) else 0
    text = data[mark:].decode("utf-8")
    tree = ast.parse(text)
    lines = text.split("\n")
    rows = [mark]
    for line in lines:
        rows.append(rows[-1] + len(line.encode()) + 1)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    return MutableSource(data, tree, rows, _tokens(text, lines, rows), parents)


def _tokens(text: str, lines: Sequence[str], rows: Sequence[int]) -> list[tuple[int, int, str]]:
    def offset(row: int, column: int) -> int:
        return rows[row - 1] + len(lines[row - 1][:column].encode())

    kinds = (tokenize.OP, tokenize.NAME)
    try:
        found = [each for each in tokenize.generate_tokens(io.StringIO(text).readline) if each.type in kinds]
    except tokenize.TokenError as error:
        raise ValueError(str(error)) from error
    return [(offset(*each.start), offset(*each.end), each.string) for each in found]


# --- what is worth a fault -------------------------------------------------------------------


_LOGGING: Final = frozenset({"critical", "debug", "error", "exception", "info", "log", "warning"})
_LOGGERS: Final = frozenset({"log", "logger", "logging", "_log", "_logger", "LOG", "LOGGER"})
# Calls that only tell people or type checkers something.
_TELLING: Final = frozenset({"print", "warn", "cast", "TypeVar", "NewType", "ParamSpec", "TypeVarTuple"})
_ONLY_THEN: Final = frozenset({"__name__", "TYPE_CHECKING"})


def is_noise(node: ast.AST) -> bool:
    """Tell whether nothing at or below a node is worth a fault.

    Docstrings, messages of errors, assertions, logging, imports, metadata such as `__all__`, f-strings (their
    positions are not reliable before Python 3.12) and patterns of `match`.
    """
    match node:
        case ast.Assert() | ast.Import() | ast.ImportFrom() | ast.JoinedStr() | ast.pattern():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Call():
            return _only_tells(node)
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name.startswith("__") and name.endswith("__")
    return False


def children_of(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below that run: no decorators, annotations, type parameters or errors' messages."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            yield from [*node.args.defaults, *(each for each in node.args.kw_defaults if each)]
            yield from node.body if isinstance(node.body, list) else [node.body]
        case ast.ClassDef():
            yield from node.body
        case ast.AnnAssign():
            yield from [node.value] if node.value else []
        case ast.If() if is_only_then(node.test):
            yield from node.orelse
        case ast.Raise():
            pass
        case _:
            yield from ast.iter_child_nodes(node)


def _only_tells(call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id=name):
            return name in _TELLING
        case ast.Attribute(attr=name, value=ast.Name(id=owner) | ast.Attribute(attr=owner)):
            return name in _TELLING or (name in _LOGGING and owner in _LOGGERS)
    return False


def is_only_then(test: ast.expr) -> bool:
    """`if __name__ == "__main__"` and `if TYPE_CHECKING`: what tests do not run."""
    return any(
        (isinstance(node, ast.Name) and node.id in _ONLY_THEN)
        or (isinstance(node, ast.Attribute) and node.attr in _ONLY_THEN)
        for node in ast.walk(test)
    )


# --- the faults by kind of syntax ------------------------------------------------------------


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


def edits_of(node: ast.AST, source: MutableSource) -> Iterator[Edit]:
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


def _statement(node: ast.stmt, source: MutableSource) -> Iterator[Edit]:
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
    """Other results of a function: one of two, where only two are possible."""
    is_not = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    return ("True", "False") if is_not or isinstance(value, ast.Compare) else ("None",)


def _compare(node: ast.Compare, source: MutableSource) -> Iterator[Edit]:
    for op, left, right in zip(node.ops, [node.left, *node.comparators], node.comparators, strict=False):
        word = _WORDS[type(op)]
        start, end = source.find(source.span(left)[1], source.span(right)[0], word)
        if word in _BOUNDARY and not _only_takes_over(node, source):
            yield start, end, _BOUNDARY[word], "boundary"
            if not _never_passes(left, right, source.parents.get(node)):
                yield start, end, _ONLY_THERE[word], "boundary"
        yield start, end, _OPPOSITE[word], "comparison"


def _between(parts: list[ast.expr], word: str, source: MutableSource, operator: str) -> Iterator[Edit]:
    if word not in _OTHER:
        return
    for left, right in pairwise(parts):
        start, end = source.find(source.span(left)[1], source.span(right)[0], word)
        yield start, end, _OTHER[word], operator


def _constant(node: ast.Constant, source: MutableSource) -> Iterator[Edit]:
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


def _negated(test: ast.expr, source: MutableSource) -> Iterator[Edit]:
    """`not (...)` around a condition, where no other fault says the same."""
    said_elsewhere = isinstance(test, ast.Constant) or (
        isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    )
    if said_elsewhere or (isinstance(test, ast.Compare) and len(test.ops) == 1):
        return
    start, end = source.span(test)
    yield start, end, f"not ({source.data[start:end].decode()})", "condition"


def _bound(stop: ast.expr, source: MutableSource) -> Iterator[Edit]:
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


def _only_takes_over(node: ast.Compare, source: MutableSource) -> bool:
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


# --- the mutants -----------------------------------------------------------------------------


class _FaultPlace(Struct, frozen=True):
    """A place in the tree: the statement, and the function or class around it."""

    statement: int = 1
    within: str = ""


def mutate_python(path: str, data: bytes) -> Sequence[Mutant]:
    """Every fault worth planting in a Python file; () when this Python cannot parse it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a foreign file's invalid escapes are not our news
            source = read_source(data)
            return [_mutant(path, source, place, edit) for place, edit in _faults(source)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _mutant(path: str, source: MutableSource, place: _FaultPlace, edit: tuple[int, int, str, str]) -> Mutant:
    start, end, after, operator = edit
    after = keep_apart(source.data, start, end, after)
    before, line = source.data[start:end].decode(), source.data.count(b"\n", 0, start) + 1
    return Mutant(path, line, before, after, operator, start, min(place.statement, line), place.within)


def _faults(source: MutableSource) -> Iterator[tuple[_FaultPlace, tuple[int, int, str, str]]]:
    pending: list[tuple[ast.AST, _FaultPlace]] = [(source.tree, _FaultPlace())]
    while pending:
        node, place = pending.pop()
        if is_noise(node):
            continue
        if isinstance(node, ast.stmt):
            place = _FaultPlace(node.lineno, place.within)
        yield from ((place, edit) for edit in edits_of(node, source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            place = _FaultPlace(node.lineno, f"{place.within}.{node.name}".lstrip("."))
        pending += [(child, place) for child in children_of(node)]
