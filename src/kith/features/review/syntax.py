"""Read certain facts from the syntax of a text: if it parses, names that it binds and uses."""

import ast
import builtins
import warnings
from collections.abc import Iterator
from posixpath import splitext
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kith.context.symbols import cpp_parser, parse_python
from kith.gates.soundness.bindings import bound_inside

if TYPE_CHECKING:
    from tree_sitter import Node

PYTHON: Final = (".py", ".pyi", ".pyw")
CPP: Final = (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp")
_BUILTIN: Final = frozenset(dir(builtins)) | {"__file__", "__name__", "__path__", "__class__"}
_NAMING: Final = ("identifier", "type_identifier", "field_identifier", "namespace_identifier")
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class BoundNames(Struct, frozen=True):
    """The names that hold at a line of a Python file, and those that are used there.

    `open`: a star import may bind anything.
    """

    bound: frozenset[str]
    used: frozenset[str]
    open: bool = False


def is_python(path: str) -> bool:
    return splitext(path)[1].lower() in PYTHON


def is_cpp(path: str) -> bool:
    return splitext(path)[1].lower() in CPP


def fault_of_python(text: str) -> tuple[int, str] | None:
    """The line of the first syntax error and what Python says of it; None when there is none."""
    if parse_python(text):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as in `parse_python`
            ast.parse(text)
    except SyntaxError as error:
        return error.lineno or 1, error.msg
    except (ValueError, RecursionError, MemoryError) as error:
        return 1, str(error) or "it is nested too deeply"
    return None


def count_faults(path: str, text: str) -> int | None:
    """In how many places a text is not its language; None where nobody here can tell.

    Python's own parser stops at the first one. C and C++ are read by tree-sitter, which goes on, and takes
    some macros for faults: compare two states of a file.
    """
    if is_python(path):
        return int(parse_python(text) is None)
    if is_cpp(path) and (root := _cpp_tree(text)) is not None:
        return sum(node.is_error or node.is_missing for node in _walk(root))
    return None


def names_at(tree: ast.Module, line: int) -> BoundNames:
    """The names of the module, and of the functions around a line.

    `used` are those that are read in the innermost of them, or in the whole module outside any function.
    """
    around = [node for node in ast.walk(tree) if isinstance(node, Scope) and _holds(node, line)]
    around.sort(key=lambda node: node.lineno)
    bound = set(_BUILTIN) | {name for node in _module_level(tree) for name in bound_inside(node)}
    bound |= {name for scope in around for node in ast.walk(scope) for name in bound_inside(node)}
    starred = any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(tree))
    used = {name for node in ast.walk(around[-1] if around else tree) for name in _used_by(node)}
    return BoundNames(frozenset(bound), frozenset(used), starred)


def count_words(text: str, name: str) -> int:
    """Count the uses of a name in a C or C++ text, without comments and strings."""
    root = _cpp_tree(text)
    wanted = name.encode()
    return sum(node.type in _NAMING and node.text == wanted for node in _walk(root)) if root else 0


def _holds(node: ast.expr | ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _module_level(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes outside functions, the functions themselves, and every `global` statement."""
    for child in ast.iter_child_nodes(node):
        yield child
        if isinstance(child, Scope):
            yield from (each for each in ast.walk(child) if isinstance(each, ast.Global))
        else:
            yield from _module_level(child)


def _used_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            yield name
        case ast.Attribute(attr=name):
            yield name
        case ast.Constant(value=str() as text) if text.isidentifier():
            yield text  # `__all__`, and annotations in quotes
        case ast.Call(func=ast.Name(id="locals" | "vars")):
            yield "*"


def _cpp_tree(text: str) -> "Node | None":
    parser = cpp_parser()
    return parser.parse(text.encode("utf-8", "replace")).root_node if parser else None


def _walk(node: "Node") -> "Iterator[Node]":
    """Every node below, by a cursor: deep trees do not end the recursion."""
    cursor, up = node.walk(), False
    while True:
        if not up and cursor.node is not None:
            yield cursor.node
        if not up and cursor.goto_first_child():
            continue
        if cursor.goto_next_sibling():
            up = False
        elif not cursor.goto_parent():
            return
        else:
            up = True
