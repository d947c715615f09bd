"""What the text of a test claims, so that an adapted test can be told from one that claims something else."""

import ast
import re
from collections.abc import Iterator, Sequence
from textwrap import dedent
from typing import Final

# What a test claims: values, comparisons, assertions, kinds of errors. Names may change as the code's do.
_CLAIMS: Final = re.compile(
    r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|\b\d[\w.]*|[=!<>]=|(?<![-=<])[<>](?![=<>])"
    r"|\b(?:not|in|is|None|True|False|true|false|null|nullptr)\b"
    r"|\b(?:assert\w*|(?:EXPECT|ASSERT|REQUIRE|CHECK)\w*|\w+(?:Error|Exception|Warning))\b"
)
SKIP: Final = re.compile(
    r"\bskip\w*\b|\bxfail\b|\bexpectedFailure\b|\bDISABLED_|\bGTEST_SKIP\b|\[!?\.?(?:hide|mayfail|shouldfail)\]|"
    r"\b(?:xit|xdescribe|xtest)\s*\(|#\[ignore\b|\bt\.Skip",
    re.I,
)
# Where a test may end early, bear what went wrong, or claim the opposite.
_WAYS_OUT: Final = re.compile(
    r"\b(?:return|if|except|catch|suppress|exit|not|or|while|lambda|def|pass)\b|!(?!=)|\|\|", re.I
)
_COMMENT: Final = re.compile(
    r"(?:(?<=\s)|^)(?:#(?!\s*(?:if|el|endif|define|undef|include|pragma)\w*)|//)[^\n]*", re.M
)


def keeps_claims(old: str, new: str) -> bool:
    """Whether all that a test claims is still claimed, in the same order and without new ways out of it."""
    old, new = (_COMMENT.sub("", text) for text in (old, new))
    if any(len(out.findall(new)) > len(out.findall(old)) for out in (SKIP, _WAYS_OUT)):
        return False
    then, now = _statements(old), _statements(new)
    if then is None or now is None:
        then, now = ([[claim] for claim in _claims(text)] for text in (old, new))
    rest = iter(now)
    return all(statement in rest for statement in then)


def _statements(text: str) -> list[list[str]] | None:
    """What each statement of a Python test claims, in their order; None for other languages."""
    try:
        tree = ast.parse(dedent(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    told = (_claims(ast.unparse(part)) for node in _in_order(tree) for part in _parts(node))
    return [each for each in told if each]


def _parts(node: ast.stmt) -> Sequence[ast.AST]:
    """What a statement says itself, without the statements inside it."""
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
