"""The assertions in the text of a test: an adapted test is told from one that asserts something else."""

import ast
import re
from collections.abc import Iterator, Sequence
from textwrap import dedent
from typing import Final

from msgspec import Struct

from kith.core.patterns import lazy_pattern

# What a test claims: values, comparisons, assertions, kinds of errors. Names may change as the code's do.
_CLAIMS: Final = lazy_pattern(
    r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|\b\d[\w.]*|[=!<>]=|(?<![-=<])[<>](?![=<>])"
    r"|\b(?:not|in|is|None|True|False|true|false|null|nullptr)\b"
    r"|(?:(?<=\)\.)|(?<=\bnot\.)|(?<=\bresolves\.)|(?<=\brejects\.))to[A-Z]\w*|(?<=\bassert\.)\w+"
    r"|\b(?:assert\w*|(?:EXPECT|ASSERT|REQUIRE|CHECK)\w*|\w+(?:Error|Exception|Warning))\b"
)
SKIP: Final = lazy_pattern(
    r"\bskip\w*\b|\bxfail\b|\bexpectedFailure\b|\bDISABLED_|\bGTEST_SKIP\b|\[!?\.?(?:hide|mayfail|shouldfail)\]|"
    r"\b(?:xit|xdescribe|xtest)\s*\(|#\[(?:ignore|should_panic)\b|\bt\.Skip",
    re.I,
)
# Where a test may end early, bear what went wrong, or claim the opposite.
_WAYS_OUT: Final = lazy_pattern(
    r"\b(?:return|if|except|catch|suppress|_?exit|not|or|while|lambda|def|pass)\b|!(?!=)|\|\||/\*", re.I
)
_COMMENT: Final = lazy_pattern(
    r"(?:(?<=\s)|^)(?:#(?!\[|\s*(?:if|el|endif|define|undef|include|pragma)\w*)|//)[^\n]*", re.M
)


class Asserted(Struct, frozen=True):
    """The text of a test without its comments, read once for many comparisons.

    `statements` are the assertions of each statement, None for other languages than Python. `skips` and
    `exits` count how it may be left out, or end early.
    """

    text: str
    skips: int
    exits: int
    statements: Sequence[Sequence[str]] | None


def read_asserted(text: str) -> Asserted:
    """Read the assertions of a test."""
    bare = _COMMENT.sub("", text)
    return Asserted(bare, len(SKIP.findall(bare)), len(_WAYS_OUT.findall(bare)), _statements(bare))


def keeps_claims(old: str, new: str) -> bool:
    """True if a test still asserts everything, in the same order and without new skips."""
    return keeps_asserted(read_asserted(old), read_asserted(new))


def keeps_asserted(old: Asserted, new: Asserted) -> bool:
    """`keeps_claims` for texts that were read already."""
    if new.skips > old.skips or new.exits > old.exits:
        return False
    then, now = old.statements, new.statements
    if then is None or now is None:
        then, now = ([[claim] for claim in _claims(each.text)] for each in (old, new))
    rest = iter(now)
    return all(statement in rest for statement in then)


def _statements(text: str) -> list[list[str]] | None:
    """List the assertions of each statement of a Python test, in order; None for other languages."""
    try:
        tree = ast.parse(dedent(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    told = (_claims(ast.unparse(part)) for node in _in_order(tree) for part in _parts(node))
    return [each for each in told if each]


def _parts(node: ast.stmt) -> Sequence[ast.AST]:
    """Return a statement's own expressions, without the statements inside it."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return [*node.decorator_list, node.args]
        case ast.ClassDef():
            return node.decorator_list
        case ast.For() | ast.AsyncFor():
            return [node.iter]
        case ast.While() | ast.If():
            return [node.test]
        case ast.With() | ast.AsyncWith():
            return node.items
        case ast.Try():
            return []
        case _:
            return [node]


def _in_order(tree: ast.AST) -> Iterator[ast.stmt]:
    """Every statement, each before those inside it."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.stmt):
            yield child
        yield from _in_order(child)


def _claims(text: str) -> list[str]:
    return [re.sub(r"^'(.*)'$", r'"\1"', claim) for claim in _CLAIMS.findall(text)]
