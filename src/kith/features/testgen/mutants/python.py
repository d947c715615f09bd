"""Faults in Python source: what to change is found in the syntax tree, where it stands in the bytes."""

import ast
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kith.features.testgen.mutants.mutant import Mutant, keep_apart
from kith.features.testgen.mutants.python_rules import edits_of
from kith.features.testgen.mutants.python_source import Source, read_source
from kith.features.testgen.mutants.python_worth import children_of, is_noise


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the tree we are: the statement, and the function or class around it."""

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


def _mutant(path: str, source: Source, place: _Place, edit: tuple[int, int, str, str]) -> Mutant:
    start, end, after, operator = edit
    after = keep_apart(source.data, start, end, after)
    before, line = source.data[start:end].decode(), source.data.count(b"\n", 0, start) + 1
    return Mutant(path, line, before, after, operator, start, min(place.statement, line), place.within)


def _faults(source: Source) -> Iterator[tuple[_Place, tuple[int, int, str, str]]]:
    pending: list[tuple[ast.AST, _Place]] = [(source.tree, _Place())]
    while pending:
        node, place = pending.pop()
        if is_noise(node):
            continue
        if isinstance(node, ast.stmt):
            place = _Place(node.lineno, place.within)
        yield from ((place, edit) for edit in edits_of(node, source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            place = _Place(node.lineno, f"{place.within}.{node.name}".lstrip("."))
        pending += [(child, place) for child in children_of(node)]
