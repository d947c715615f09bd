"""C++'s tests: the blocks of googletest's and Catch2's macros, found by matching their brackets."""

import re
from collections.abc import Collection, Iterator
from typing import Final

from kith.gates.suites.part import Part

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
    for name, first, last in _blocks(text):
        start = len(text[:first].encode("utf-8", "surrogateescape"))
        said = text[first:last]
        end = start + len(said.encode("utf-8", "surrogateescape"))
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
    heads = [line for line in beside.split("\n") if _is_head(line) and line.strip() not in present]
    rest = "\n".join("" if _is_head(line) else line for line in beside.split("\n"))
    helpers = [chunk.strip("\n") for chunk in re.split(r"\n\s*\n", rest) if chunk.strip()]
    added = [chunk for chunk in helpers if chunk not in old] + [part.text for part in parts]
    rows = old.rstrip("\n").split("\n")
    top = max((row for row, line in enumerate(rows, 1) if line.startswith("#include")), default=0)
    rows[top:top] = heads
    return ("\n".join(rows) + "".join(f"\n\n{each}" for each in added) + "\n").encode(
        "utf-8", "surrogateescape"
    )


def _is_head(line: str) -> bool:
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
    for match in pattern.finditer(text):
        if not any(start <= match.start(match.lastindex or 0) < end for start, end in quiet):
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
    """What stands beside the tests, without a `main` of its own."""
    spans = [(first, last) for _, first, last in _blocks(text)]
    for match in _openings(text, _MAIN):
        body = text.find("{", match.end())
        end = _matching(text, body) if body >= 0 else -1
        spans += [(match.start(), end)] if end >= 0 else []
    for first, last in sorted(spans, reverse=True):
        text = text[:first] + text[last:]
    return text
