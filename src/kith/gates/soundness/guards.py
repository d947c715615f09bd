"""The imports of a Python file, and which of them may fail without harm."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_CATCHING: Final = frozenset(
    {"ImportError", "ModuleNotFoundError", "Exception", "BaseException", "AttributeError", "raises"}
)


@dataclass(frozen=True, slots=True)
class Import:
    """An import. `guarded`: its failure is caught, or a condition leads to it. `late`: in a function."""

    node: ast.Import | ast.ImportFrom
    guarded: bool
    late: bool


def find_imports(tree: ast.Module) -> Iterator[Import]:
    """Every import of a file; those of modules that `importorskip` names are guarded."""
    skipped = frozenset(_named_to_skip(tree))
    for each in _in_block(tree.body, guarded=False, late=False):
        top = _tops(each.node)
        yield Import(each.node, each.guarded or bool(skipped & top), each.late)


def _in_block(body: list[ast.stmt], guarded: bool, late: bool) -> Iterator[Import]:
    for node in body:
        match node:
            case ast.Import() | ast.ImportFrom():
                yield Import(node, guarded, late)
            case ast.Try() | ast.TryStar():
                inner = guarded or bool(node.handlers)
                blocks = [node.body, *(each.body for each in node.handlers), node.orelse, node.finalbody]
                for block in blocks:
                    yield from _in_block(block, inner, late)
            case ast.If():
                inner = guarded or not _is_main(node.test)
                yield from _in_block([*node.body, *node.orelse], inner, late)
            case ast.With() | ast.AsyncWith():
                inner = guarded or any(_names(item.context_expr) & _CATCHING for item in node.items)
                yield from _in_block(node.body, inner, late)
            case ast.For() | ast.AsyncFor() | ast.While():
                yield from _in_block([*node.body, *node.orelse], guarded, late)
            case ast.Match():
                for case in node.cases:
                    yield from _in_block(case.body, True, late)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _in_block(node.body, guarded, True)
            case ast.ClassDef():
                yield from _in_block(node.body, guarded, late)


def _is_main(test: ast.expr) -> bool:
    return "__name__" in _names(test)


def _names(node: ast.AST) -> set[str]:
    plain = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return plain | {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}


def _tops(node: ast.Import | ast.ImportFrom) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    return set() if node.level else {(node.module or "").partition(".")[0]}


def _named_to_skip(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and "importorskip" in _names(node.func) and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value.partition(".")[0]
