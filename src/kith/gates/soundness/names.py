"""Names that a Python file uses and nothing defines, by pyflakes."""

import ast
from collections.abc import Iterator
from typing import Final

from kith.gates.soundness.bindings import parse_python

# Put there by who runs the file: gettext, IPython, Jupyter, type checkers, line_profiler.
_GIVEN: Final = frozenset(
    {"_", "display", "get_config", "get_ipython", "ngettext", "profile", "reveal_locals", "reveal_type"}
)


def undefined_names(path: str, content: bytes) -> dict[str, int]:
    """Each name that is undefined in a file, with the first line that uses it.

    Empty where the file cannot be parsed. Names in quoted annotations do not count: some libraries write
    other things there. Nor does an annotation of what the file defines anywhere (Python 3.14 looks it up
    later), or a line with `noqa`.
    """
    tree = parse_python(content)
    if tree is None:
        return {}
    real = {(node.lineno, node.col_offset, node.id) for node in ast.walk(tree) if isinstance(node, ast.Name)}
    countable = real - _annotated(tree)
    lines = content.splitlines()
    found: dict[str, int] = {}
    for name, line, column in _reported(path, tree):
        excused = name in _GIVEN or b"noqa" in lines[line - 1 : line][0].lower()
        if (line, column, name) in countable and not excused:
            found.setdefault(name, line)
    return found


def _annotated(tree: ast.Module) -> set[tuple[int, int, str]]:
    """The places in annotations at which a name stands that is defined somewhere in the file."""
    defined, roots = set[str](), list[ast.expr | None]()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                defined.add(name)
                roots.append(node.returns)
            case ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                defined.add(name)
            case ast.arg(annotation=annotation) | ast.AnnAssign(annotation=annotation):
                roots.append(annotation)
    inside = (node for root in roots if root is not None for node in ast.walk(root))
    names = (node for node in inside if isinstance(node, ast.Name) and node.id in defined)
    return {(node.lineno, node.col_offset, node.id) for node in names}


def _reported(path: str, tree: ast.Module) -> Iterator[tuple[str, int, int]]:
    from pyflakes.checker import Checker
    from pyflakes.messages import UndefinedName

    try:
        messages = Checker(tree, path).messages
    except RecursionError:
        return
    for each in sorted(messages, key=lambda each: (each.lineno, each.col)):
        if isinstance(each, UndefinedName):
            yield str(each.message_args[0]), each.lineno, each.col
