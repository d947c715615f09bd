"""Which parts of Python source a fault is worth planting in: what runs, and what tests could know of."""

import ast
from collections.abc import Iterator
from typing import Final

_LOGGING: Final = frozenset({"critical", "debug", "error", "exception", "info", "log", "warning"})
_LOGGERS: Final = frozenset({"log", "logger", "logging", "_log", "_logger", "LOG", "LOGGER"})
# Calls that only tell people or type checkers something.
_TELLING: Final = frozenset({"print", "warn", "cast", "TypeVar", "NewType", "ParamSpec", "TypeVarTuple"})
_ONLY_THEN: Final = frozenset({"__name__", "TYPE_CHECKING"})


def is_noise(node: ast.AST) -> bool:
    """Whether nothing at or below a node is worth a fault.

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
