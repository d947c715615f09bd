"""The complexity of Python functions, from the language's own syntax tree."""

import ast
from typing import Any, Final

from kith.context.symbols import parse_python
from kith.features.scan.function_measure import FunctionMeasure

Definition = ast.FunctionDef | ast.AsyncFunctionDef
_DEFINITIONS: Final = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef})
# Each is one way more through the function ...
_BRANCHES: Final = frozenset(
    {
        *(ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While),
        *(ast.ExceptHandler, ast.match_case, ast.comprehension),
    }
)
# ... what stands in one of these is a level deeper ...
_LEVELS: Final = frozenset(
    {
        *(ast.If, ast.For, ast.AsyncFor, ast.While, ast.Match),
        *(ast.Try, ast.TryStar, ast.With, ast.AsyncWith),
    }
)
# ... and costs the more to follow, the deeper it stands.
_COSTLY: Final = frozenset(
    {ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Match}
)
_TOLD: Final = _BRANCHES | _LEVELS | _COSTLY | {ast.BoolOp}
# What has no branch in it is most of a tree, and is not looked into.
_LEAVES: Final = frozenset(
    {
        *(ast.Name, ast.Constant, ast.Load, ast.Store, ast.Del, ast.Pass, ast.Break, ast.Continue),
        *(int, str, float, bytes, complex, bool, type(None), type(...)),
    }
)


def measure_python(text: str) -> tuple[FunctionMeasure, ...]:
    """The functions of a text, empty where Python refuses it."""
    tree = parse_python(text)
    return measure_module(tree) if tree else ()


def measure_module(tree: ast.Module) -> tuple[FunctionMeasure, ...]:
    """The functions of a module that is parsed already, however deep they are nested."""
    found: list[FunctionMeasure] = []
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, outer = waiting.pop()
        inside = _Walk()
        if isinstance(node, Definition):
            inside.walk(node.body)
            found.append(inside.measured(node, outer))
        else:
            inside.walk([each for each in _children(node) if isinstance(each, ast.stmt)])
        prefix = f"{outer}{node.name}." if isinstance(node, Definition | ast.ClassDef) else outer
        waiting += [(each, prefix) for each in inside.definitions]
    return tuple(found)


class _Walk:
    """One way through the body of a function, down to the definitions in it."""

    __slots__ = ("cognitive", "cyclomatic", "definitions", "nesting")

    def __init__(self) -> None:
        self.cyclomatic, self.cognitive, self.nesting = 1, 0, 0
        self.definitions: list[ast.AST] = []

    def walk(self, body: list[Any]) -> None:
        """A stack of nodes and how deep they stand: recursion would end at a text made to break it."""
        stack: list[tuple[Any, int]] = [(statement, 0) for statement in body]
        while stack:
            node, depth = stack.pop()
            kind = node.__class__
            if kind in _DEFINITIONS:
                self.definitions.append(node)
                continue
            if kind in _TOLD:
                depth = self._meet(node, kind, depth)
            if kind is ast.If and node.orelse:
                stack += self._alternative(node, depth)
                stack += [(each, depth) for each in (node.test, *node.body) if each.__class__ not in _LEAVES]
                continue
            for value in node.__dict__.values():
                if value.__class__ is list:
                    stack += [(each, depth) for each in value if each.__class__ not in _LEAVES]
                elif value.__class__ not in _LEAVES:
                    stack.append((value, depth))

    def _meet(self, node: Any, kind: type, depth: int) -> int:
        """Count a node; returns how deep the nodes in it stand."""
        if kind in _BRANCHES:
            self.cyclomatic += 1
        elif kind is ast.BoolOp:
            self.cyclomatic += len(node.values) - 1
            self.cognitive += 1
        if kind in _COSTLY:
            self.cognitive += 1 + depth
        if kind not in _LEVELS:
            return depth
        self.nesting = max(self.nesting, depth + 1)
        return depth + 1

    def _alternative(self, node: ast.If, depth: int) -> list[tuple[Any, int]]:
        """The else of an `if`: an `elif` is no deeper than the `if` before it."""
        other = node.orelse[0]
        self.cognitive += 1
        if len(node.orelse) == 1 and isinstance(other, ast.If) and other.col_offset == node.col_offset:
            self.cognitive -= depth  # what it costs to stand where it stands, which it will be charged
            return [(other, depth - 1)]
        return [(each, depth) for each in node.orelse]

    def measured(self, node: Definition, outer: str) -> FunctionMeasure:
        first, last = node.lineno, node.end_lineno or node.lineno
        arguments = node.args
        named = [*arguments.posonlyargs, *arguments.args]
        if outer and named and named[0].arg in ("self", "cls"):
            named = named[1:]
        several = (arguments.vararg is not None) + (arguments.kwarg is not None)
        return FunctionMeasure(
            outer + node.name,
            first,
            last,
            last - first + 1,
            self.cyclomatic,
            self.cognitive,
            self.nesting,
            len(named) + len(arguments.kwonlyargs) + several,
        )


def _children(node: ast.AST) -> list[Any]:
    """The nodes directly below one."""
    found: list[Any] = []
    for value in node.__dict__.values():
        found += value if isinstance(value, list) else [value]
    return found
