"""Files of tests taken apart: which tests they hold, without some of them, or with those of another file."""

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from posixpath import splitext
from typing import Final

from msgspec import Struct

# One test of a file as a value, and the way from a runner's name of it back to the file.


class Part(Struct, frozen=True):
    """One test: its name (`test_f`, `TestF.test_g`, `Suite.Name`), its bytes, and what it belongs to.

    `asserts`: it holds an assertion of any kind. `text` is the text between `start` and `end`.
    """

    name: str
    start: int
    end: int
    asserts: bool
    text: str


def find_part(id: str, by_name: Mapping[str, Part]) -> Part | None:
    """The same among tests by their names."""
    return next((by_name[name] for name in possible_names(id) if name in by_name), None)


def possible_names(id: str) -> list[str]:
    """The names that a test of this id may have in its file, the longest first."""
    bare = re.sub(r"\[.*\]$", "", id, flags=re.S).replace("::", ".")
    instance = re.search(r"/\w+$", bare)  # googletest's parameters
    ends = [bare, bare[: instance.start()]] if instance else [bare]
    names = {end[start:] for end in ends for start in (0, *(at.end() for at in re.finditer(r"[./]", end)))}
    return sorted(names, key=len, reverse=True)


# C++'s tests: the blocks of googletest's and Catch2's macros, found by matching their brackets.

_MACROS: Final = (
    "TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P|TEST_CASE|TEST_CASE_METHOD|SCENARIO|TEMPLATE_TEST_CASE"
)
_OPENING: Final = re.compile(rf"^[ \t]*({_MACROS})[ \t\n]*\(", re.M)
MAIN: Final = re.compile(r"^[ \t]*int\s+main\s*\(", re.M)
# What brackets must not be counted in, then the brackets.
_TOKEN: Final = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[(){}]""",
    re.S,
)
_ASSERTING: Final = re.compile(r"\b(?:EXPECT|ASSERT|REQUIRE|CHECK|FAIL|ADD_FAILURE)\w*\s*\(|\bassert\s*\(")
_STRING: Final = re.compile(r'"((?:\\.|[^"\\])*)"')


def find_cpp(source: bytes) -> tuple[Part, ...]:
    """Every whole block of a test macro; what is commented out is none."""
    text = source.decode("utf-8", "surrogateescape")
    found = []
    done = end = 0
    for name, first, last in blocks(text):
        if first < done:  # a block inside another one
            done = end = 0
        start = end + len(text[done:first].encode("utf-8", "surrogateescape"))
        said = text[first:last]
        done, end = last, start + len(said.encode("utf-8", "surrogateescape"))
        found.append(Part(name, start, end, bool(_ASSERTING.search(said)), said))
    return tuple(found)


def blocks(text: str) -> Iterator[tuple[str, int, int]]:
    for macro in openings(text, _OPENING):
        inner = end_of_bracket(text, macro.end() - 1)
        body = text.find("{", inner)
        if inner < 0 or body < 0 or text[inner:body].strip():
            continue
        end = end_of_bracket(text, body)
        if end >= 0:
            yield _name(macro[1], text[macro.end() : inner - 1]), macro.start(), end


def openings(text: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    quiet = [match.span() for match in _TOKEN.finditer(text) if match[0] not in "(){}"]
    starts = [start for start, _ in quiet]
    for match in pattern.finditer(text):
        place = match.start(match.lastindex or 0)
        before = bisect_right(starts, place) - 1
        if before < 0 or place >= quiet[before][1]:
            yield match


def end_of_bracket(text: str, opening: int) -> int:
    """The place behind the bracket that closes the one at `opening`; -1 when none does."""
    depth = 0
    for token in _TOKEN.finditer(text, opening):
        depth += (token[0] in "({") - (token[0] in ")}")
        if depth == 0 and token[0] in "(){}":
            return token.end()
    return -1


def _name(macro: str, arguments: str) -> str:
    """`Suite.Name` of googletest, the quoted words of Catch2."""
    if quoted := _STRING.search(arguments):
        return ("Scenario: " if macro == "SCENARIO" else "") + quoted[1]
    return ".".join(part.strip() for part in arguments.split(",")[:2])


# Python's tests: functions and methods whose names begin with `test`, by the syntax tree.

Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_python(source: bytes) -> tuple[Part, ...]:
    """Raises SyntaxError."""
    lines = source.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    found = []
    for name, node, _ in python_tests(ast.parse(source)):
        first, last = rows_of(node, lines)
        start, text = starts[first], b"".join(lines[first:last])
        part = Part(name, start, start + len(text), _asserts(node), text.decode("utf-8", "replace"))
        found.append(part)
    return tuple({part.name: part for part in found}.values())  # of two with one name, Python runs the last


def python_tests(tree: ast.Module) -> Iterator[tuple[str, Function, ast.ClassDef | None]]:
    """Name, function, and the class that holds it."""
    for node in tree.body:
        if isinstance(node, Function) and node.name.startswith("test"):
            yield node.name, node, None
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, Function) and inner.name.startswith("test"):
                    yield f"{node.name}.{inner.name}", inner, node


_IMPORTS: Final = (ast.Import, ast.ImportFrom)
_DEFINES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


def is_inert(source: bytes) -> bool:
    """True for a module that imports and defines, and does no more when it is started as a script."""
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(
        isinstance(each, (*_IMPORTS, *_DEFINES))
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        for each in statements
    )


def _asserts(node: ast.AST) -> bool:
    """True if anything below asserts: the statement, unittest's methods, pytest's `raises` and the like."""
    for each in ast.walk(node):
        if isinstance(each, ast.Assert):
            return True
        if isinstance(each, ast.Call):
            called = each.func.attr if isinstance(each.func, ast.Attribute) else ast.unparse(each.func)
            if called.startswith(("assert", "fail", "raises", "warns")):
                return True
    return False


def rows_of(node: ast.stmt, lines: Sequence[bytes]) -> tuple[int, int]:
    """The lines of a definition, from 0: with its decorators and the comments right above."""
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)]) - 1
    while first and lines[first - 1].strip().startswith(b"#"):
        first -= 1
    return first, node.end_lineno or node.lineno


# What a file of tests holds, by language; elsewhere a file is one whole.

PYTHON: Final = frozenset({".py"})
_CPP: Final = frozenset({".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx"})


def can_split(path: str) -> bool:
    """True if the tests of such a file can be told apart."""
    return splitext(path)[1].lower() in PYTHON | _CPP


def is_program(path: str, source: bytes) -> bool:
    """True if a file of C or C++ has a `main` of its own."""
    return splitext(path)[1].lower() in _CPP and bool(MAIN.search(source.decode("utf-8", "replace")))


def find_parts(path: str, source: bytes) -> tuple[Part, ...]:
    """The tests of a file in their order. Raises SyntaxError for Python that cannot be parsed."""
    if splitext(path)[1].lower() in PYTHON:
        return find_python(source)
    return find_cpp(source) if can_split(path) else ()
