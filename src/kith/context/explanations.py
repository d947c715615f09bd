"""Find what explains a source text at length: docstrings and comments, without their first line."""

import ast
from collections.abc import Iterator, Sequence
from posixpath import splitext
from typing import Final

from kith.context.symbols import PYTHON_ENDINGS, parse_python
from kith.core.patterns import lazy_pattern

_LONG: Final = 4  # lines of comment; fewer are read at a glance
# A line of comment in any language: a lone `*` continues a block, `#include` is none.
_COMMENT: Final = lazy_pattern(
    r"\s*(?:#(?!\s*(?:define|elif|else|endif|error|if|ifdef|ifndef|include|pragma|undef|!?\[)\b)"
    r"|//|/\*|\*(?=[\s/]|$)|--\s|;;)"
)
_WORD: Final = lazy_pattern(r"\w")


def find_explanations(path: str, lines: Sequence[str]) -> frozenset[int]:
    """The numbers of these lines, from 1. The first line with words of each explanation is not among them."""
    runs = [*_comments(lines)]
    if splitext(path)[1].lower() in PYTHON_ENDINGS:
        runs += _docstrings("\n".join(lines))
    return frozenset(number for first, last in runs for number in _after_first(lines, first, last))


def _comments(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    first = 0
    for number, line in enumerate((*lines, ""), 1):
        if not _COMMENT.match(line):
            if first and number - first >= _LONG:
                yield first, number - 1
            first = 0
        elif not first:
            first = number


def _docstrings(text: str) -> Iterator[tuple[int, int]]:
    """The first and the last line of each docstring in a Python text."""
    tree = parse_python(text)
    within: list[ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef] = [tree] if tree else []
    while within:
        body = within.pop().body
        within += [
            each for each in body if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        match body[:1]:
            case [ast.Expr(value=ast.Constant(value=str()) as said)]:
                yield said.lineno, said.end_lineno or said.lineno


def _after_first(lines: Sequence[str], first: int, last: int) -> range:
    while first < last and not _WORD.search(lines[first - 1]):
        first += 1
    return range(first + 1, last + 1)
