"""Which lines of a source run only when somebody calls them: the bodies of functions."""

import ast
from typing import Final

_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def body_lines(path: str, source: bytes) -> frozenset[int] | None:
    """The lines inside functions, from 1; None for every line, where a file does nothing by being read.

    Python runs the rest of a file when it is imported, which says nothing of the tests that import it.
    """
    if not path.endswith(".py"):
        return None
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    lines = set[int]()
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            lines.update(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
    return frozenset(lines)
