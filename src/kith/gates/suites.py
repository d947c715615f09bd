"""Files of tests taken apart: which tests they hold, without some of them, or with those of another file."""

import ast
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
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


def part_of(id: str, parts: Sequence[Part]) -> Part | None:
    """The test that a runner means by `id`, whatever it puts around the name: path, parameters, instance."""
    return find_part(id, {part.name: part for part in reversed(parts)})


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
_MAIN: Final = re.compile(r"^[ \t]*int\s+main\s*\(", re.M)
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
    for name, first, last in _blocks(text):
        if first < done:  # a block inside another one
            done = end = 0
        start = end + len(text[done:first].encode("utf-8", "surrogateescape"))
        said = text[first:last]
        done, end = last, start + len(said.encode("utf-8", "surrogateescape"))
        found.append(Part(name, start, end, bool(_ASSERTING.search(said)), said))
    return tuple(found)


def drop_cpp(source: bytes, names: Collection[str]) -> bytes:
    """The file without these tests and the comments right above them."""
    for part in reversed(find_cpp(source)):
        if part.name in names:
            head = re.sub(rb"(?:^[ \t]*//[^\n]*\n)+\Z", b"", source[: part.start], flags=re.M)
            source = head.rstrip() + b"\n\n" + source[part.end :].lstrip()
    return source.rstrip() + b"\n"


def merge_cpp(kept: bytes, written: bytes) -> bytes:
    """New includes go below the includes, new helpers and tests to the end."""
    old, new = (text.decode("utf-8", "surrogateescape") for text in (kept, written))
    known = {part.name for part in find_cpp(kept)}
    present = {line.strip() for line in old.split("\n")}
    parts = [part for part in find_cpp(written) if part.name not in known]
    beside = _without_blocks(new)
    heads = [line for line in beside.split("\n") if _is_include(line) and line.strip() not in present]
    rest = "\n".join("" if _is_include(line) else line for line in beside.split("\n"))
    helpers = [chunk.strip("\n") for chunk in re.split(r"\n\s*\n", rest) if chunk.strip()]
    added = [chunk for chunk in helpers if chunk not in old] + [part.text for part in parts]
    rows = old.rstrip("\n").split("\n")
    top = max((row for row, line in enumerate(rows, 1) if line.startswith("#include")), default=0)
    rows[top:top] = heads
    return ("\n".join(rows) + "".join(f"\n\n{each}" for each in added) + "\n").encode(
        "utf-8", "surrogateescape"
    )


def _is_include(line: str) -> bool:
    return line.startswith(("#include", "using "))


def _blocks(text: str) -> Iterator[tuple[str, int, int]]:
    for macro in _openings(text, _OPENING):
        inner = _matching(text, macro.end() - 1)
        body = text.find("{", inner)
        if inner < 0 or body < 0 or text[inner:body].strip():
            continue
        end = _matching(text, body)
        if end >= 0:
            yield _name(macro[1], text[macro.end() : inner - 1]), macro.start(), end


def _openings(text: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    quiet = [match.span() for match in _TOKEN.finditer(text) if match[0] not in "(){}"]
    starts = [start for start, _ in quiet]
    for match in pattern.finditer(text):
        place = match.start(match.lastindex or 0)
        before = bisect_right(starts, place) - 1
        if before < 0 or place >= quiet[before][1]:
            yield match


def _matching(text: str, opening: int) -> int:
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


def _without_blocks(text: str) -> str:
    """Return the text beside the tests, without a `main` of its own."""
    spans = [(first, last) for _, first, last in _blocks(text)]
    for match in _openings(text, _MAIN):
        body = text.find("{", match.end())
        end = _matching(text, body) if body >= 0 else -1
        spans += [(match.start(), end)] if end >= 0 else []
    for first, last in sorted(spans, reverse=True):
        text = text[:first] + text[last:]
    return text


# Python's tests: functions and methods whose names begin with `test`, by the syntax tree.

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_python(source: bytes) -> tuple[Part, ...]:
    """Raises SyntaxError."""
    lines = source.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    found = []
    for name, node, _ in _tests(ast.parse(source)):
        first, last = _rows(node, lines)
        start, text = starts[first], b"".join(lines[first:last])
        part = Part(name, start, start + len(text), _asserts(node), text.decode("utf-8", "replace"))
        found.append(part)
    return tuple({part.name: part for part in found}.values())  # of two with one name, Python runs the last


def drop_python(source: bytes, names: Collection[str]) -> bytes:
    """The file without these tests, classes that held no others, and imports that only they used."""
    tree, lines = ast.parse(source), source.splitlines(keepends=True)
    gone: set[int] = set()
    left: dict[ast.ClassDef, int] = {}
    for name, node, owner in _tests(tree):
        if name in names:
            gone.update(range(*_rows(node, lines)))
        if owner is not None:
            left[owner] = left.get(owner, 0) + (name not in names)
    for owner, number in left.items():
        if not number:
            gone.update(range(*_rows(owner, lines)))
    left_over = ast.parse(_without(lines, gone))
    idle = _used(tree) - _used(left_over)
    for each in tree.body:
        if isinstance(each, ast.Import | ast.ImportFrom) and idle.issuperset(_bound(each)):
            gone.update(range(each.lineno - 1, each.end_lineno or each.lineno))
    return _without(lines, gone)


def merge_python(kept: bytes, written: bytes) -> bytes:
    """Imports go below the imports, new methods into their class, everything else to the end."""
    old, new = ast.parse(kept), ast.parse(written)
    known = {name for name, _, _ in _tests(old)}
    present = {ast.unparse(node) for node in old.body}
    classes = {node.name: node for node in old.body if isinstance(node, ast.ClassDef)}
    imports, inside, behind = list[bytes](), dict[int, bytes](), list[bytes]()
    lines, their = kept.splitlines(keepends=True), written.splitlines(keepends=True)
    for node in new.body:
        if ast.unparse(node) in present or _is_docstring(node) or _is_main(node):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(_text(node, their))
        elif isinstance(node, ast.ClassDef) and node.name in classes:
            row = classes[node.name].end_lineno or 0
            methods = [
                _text(each, their) for name, each, owner in _tests(new) if owner is node and name not in known
            ]
            inside[row] = b"".join(b"\n" + method for method in methods)
        elif not (isinstance(node, _Function) and node.name in known):
            behind.append(_text(node, their))
    top = max((node.end_lineno or 0 for node in old.body if _is_head(node)), default=0)
    rows = [line if line.endswith(b"\n") else line + b"\n" for line in lines]
    for row in sorted({top, *inside}, reverse=True):
        rows[row:row] = [inside.get(row, b""), *(imports if row == top else ())]
    return b"".join(rows).rstrip(b"\n") + b"\n" + b"".join(b"\n\n" + text for text in behind)


def _tests(tree: ast.Module) -> Iterator[tuple[str, _Function, ast.ClassDef | None]]:
    """Name, function, and the class that holds it."""
    for node in tree.body:
        if isinstance(node, _Function) and node.name.startswith("test"):
            yield node.name, node, None
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, _Function) and inner.name.startswith("test"):
                    yield f"{node.name}.{inner.name}", inner, node


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


def _used(tree: ast.Module) -> set[str]:
    """Every name that is read; a parameter may be the name of an imported fixture."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def _bound(node: ast.Import | ast.ImportFrom) -> set[str]:
    return {alias.asname or alias.name.partition(".")[0] for alias in node.names}


def _rows(node: ast.stmt, lines: Sequence[bytes]) -> tuple[int, int]:
    """The lines of a definition, from 0: with its decorators and the comments right above."""
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)]) - 1
    while first and lines[first - 1].strip().startswith(b"#"):
        first -= 1
    return first, node.end_lineno or node.lineno


def _text(node: ast.stmt, lines: Sequence[bytes]) -> bytes:
    first, last = _rows(node, lines)
    return b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines[first:last])


def _without(lines: Sequence[bytes], gone: Collection[int]) -> bytes:
    """The other lines; the gap above what was taken out goes with it."""
    out: list[bytes] = []
    for row, line in enumerate(lines):
        if row not in gone:
            out.append(line)
        while row in gone and out and not out[-1].strip():
            out.pop()
    return b"".join(out).rstrip() + b"\n"


def _is_head(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom) or _is_docstring(node)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


# What a file of tests holds, by language; elsewhere a file is one whole.

_PYTHON: Final = frozenset({".py"})
_CPP: Final = frozenset({".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx"})


def can_split(path: str) -> bool:
    """True if the tests of such a file can be told apart."""
    return splitext(path)[1].lower() in _PYTHON | _CPP


def is_program(path: str, source: bytes) -> bool:
    """True if a file of C or C++ has a `main` of its own."""
    return splitext(path)[1].lower() in _CPP and bool(_MAIN.search(source.decode("utf-8", "replace")))


def find_parts(path: str, source: bytes) -> tuple[Part, ...]:
    """The tests of a file in their order. Raises SyntaxError for Python that cannot be parsed."""
    if splitext(path)[1].lower() in _PYTHON:
        return find_python(source)
    return find_cpp(source) if can_split(path) else ()


def drop_parts(path: str, source: bytes, names: Collection[str]) -> bytes:
    """The file without these tests; b"" when no other is left."""
    kept = [part for part in find_parts(path, source) if part.name not in names]
    if not kept:
        return b""
    if len(kept) == len(find_parts(path, source)):
        return source
    return drop_python(source, names) if splitext(path)[1].lower() in _PYTHON else drop_cpp(source, names)


def merge_tests(path: str, kept: bytes, written: bytes) -> bytes:
    """`kept`, with the tests of `written` that it lacks and what they need. Where names meet, `kept` wins."""
    if not kept.strip() or not can_split(path):
        return written
    if splitext(path)[1].lower() in _PYTHON:
        return merge_python(kept, written)
    return merge_cpp(kept, written)
