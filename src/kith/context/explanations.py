"""Find what explains a source text at length: docstrings and comments, without their first line."""

from collections.abc import Iterator, Sequence
from posixpath import splitext
from typing import Final

from kith.context.symbols import PYTHON_ENDINGS
from kith.core.patterns import lazy_pattern

_LONG: Final = 4  # lines of comment; fewer are read at a glance
# A line of comment in any language: a lone `*` continues a block, `#include` is none.
_COMMENT: Final = lazy_pattern(
    r"\s*(?:#(?!\s*(?:define|elif|else|endif|error|if|ifdef|ifndef|include|pragma|undef|!?\[)\b)"
    r"|//|/\*|\*(?=[\s/]|$)|--\s|;;)"
)
_DOCSTRING: Final = lazy_pattern(r"\s*[rRuU]?(\"{3}|'{3})")
_HEAD: Final = lazy_pattern(r"^\s*(?:(?:async\s+)?def\b|class\b|\)).*:(?:\s*#.*)?$|^:$")
_WORD: Final = lazy_pattern(r"\w")


def find_explanations(path: str, lines: Sequence[str]) -> frozenset[int]:
    """The numbers of these lines, from 1. The first line with words of each explanation is not among them."""
    runs = [*_comments(lines)]
    if splitext(path)[1].lower() in PYTHON_ENDINGS:
        runs += _docstrings(lines)
    return frozenset(number for first, last in runs for number in _after_first(lines, first, last))


def count_leading_comment(lines: Sequence[str]) -> int:
    """The number of lines with which a file begins that are comment or blank: mostly its licence."""
    return next(
        (at for at, line in enumerate(lines) if line.strip() and not _COMMENT.match(line)), len(lines)
    )


def _comments(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The first and the last line of each long comment: lines of comment in a row, or a block."""
    first, in_block = 0, False
    for number, line in enumerate((*lines, ""), 1):
        if in_block or _COMMENT.match(line):
            first = first or number
            in_block = (in_block or line.lstrip().startswith("/*")) and "*/" not in line
        else:
            if first and number - first >= _LONG:
                yield first, number - 1
            first = 0


def _docstrings(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The first and the last line of each docstring in Python lines, told by the line before it."""
    first, before, end = 0, ":", ""  # a module's docstring is its first line of code
    for number, line in enumerate(lines, 1):
        if end:
            if end in line:
                yield first, number
                before, end = line, ""
        elif line.strip() and not _COMMENT.match(line):
            if (begun := _DOCSTRING.match(line)) and _HEAD.search(before):
                first = number
                if begun[1] not in line[begun.end() :]:
                    end = begun[1]
            before = line


def _after_first(lines: Sequence[str], first: int, last: int) -> range:
    while first < last and not _WORD.search(lines[first - 1]):
        first += 1
    return range(first + 1, last + 1)
