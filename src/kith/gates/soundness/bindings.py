"""Which names a Python module offers to those that import it."""

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

LARGEST: Final = 1_000_000  # bytes of a file that is parsed
# Whoever speaks of these may bind names that no statement shows.
_TRICKS: Final = frozenset({"__getattr__", "__path__", "exec", "globals", "locals", "vars", "modules"})


@dataclass(frozen=True, slots=True)
class Bindings:
    """The names at the top of a module; `stars` are its star imports, `exports` the entries of `__all__`.

    `open`: it may bind names in ways that are not looked at.
    """

    names: frozenset[str]
    stars: tuple[ast.ImportFrom, ...]
    exports: tuple[tuple[str, int], ...]
    open: bool


def parse_python(content: bytes) -> ast.Module | None:
    """The tree of a file's bytes, None where Python refuses them."""
    if len(content) > LARGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def find_bindings(content: bytes) -> Bindings | None:
    """What a module binds, on whatever branch; None when it does not parse."""
    tree = parse_python(content)
    if tree is None:
        return None
    names, stars, exports = set[str](), list[ast.ImportFrom](), list[tuple[str, int]]()
    is_open = False
    for node in ast.walk(tree):
        is_open = is_open or _is_trick(node)
        if isinstance(node, ast.Global):
            names.update(node.names)
    for node in _top(tree):
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            stars.append(node)
        else:
            names.update(_bound_by(node))
        exports += _exported_by(node)
    return Bindings(frozenset(names), tuple(stars), tuple(exports), is_open)


def _is_trick(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(asname=str() as name):
            return name in _TRICKS
        case ast.alias(name=name) | ast.FunctionDef(name=name):
            return name in _TRICKS
    return False


def _top(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run with the module: all but the bodies of functions and classes."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _top(child)


def _bound_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (each.asname or each.name.partition(".")[0] for each in aliases)
        case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
            yield name
        case ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
            yield name


def _exported_by(node: ast.AST) -> Iterator[tuple[str, int]]:
    """The entries that a statement writes into `__all__`."""
    match node:
        case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
            yield from _entries(value)
        case ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value):
            yield from _entries(value)
        case ast.AugAssign(target=ast.Name(id="__all__"), value=value):
            yield from _entries(value)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="__all__"), attr="extend"), args=[value]):
            yield from _entries(value)


def _entries(value: ast.expr) -> Iterator[tuple[str, int]]:
    if isinstance(value, ast.BinOp):
        yield from _entries(value.left)
        yield from _entries(value.right)
    elif isinstance(value, ast.List | ast.Tuple):
        for each in value.elts:
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                yield each.value, each.lineno
