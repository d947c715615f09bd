"""C++ tests by their text: which there are (googletest, Catch2, doctest, Boost), and which assert nothing."""

import re
from collections.abc import Iterator
from typing import Final

_COMMENT_OR_TEXT: Final = re.compile(
    r"//[^\n]*|/\*.*?\*/|R\"(?P<end>[^()\\\s]{0,16})\(.*?\)(?P=end)\"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)+'",
    re.S,
)
_STRING: Final = r'"((?:[^"\\\n]|\\.)*)"'
_GOOGLE: Final = re.compile(r"^[ \t]*(?:TYPED_)?TEST(?:_F|_P)?\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.M)
_CATCH: Final = re.compile(
    r"^[ \t]*(?:TEMPLATE_)?(TEST_CASE|SCENARIO|TEST_CASE_METHOD|SCENARIO_METHOD|TEST_CASE_FIXTURE)\s*\(\s*"
    rf"(?:\w[\w:]*\s*,\s*)?{_STRING}",
    re.M,
)
_BOOST: Final = re.compile(r"^[ \t]*BOOST_(?:AUTO|FIXTURE)_TEST_CASE\s*\(\s*(\w+)", re.M)
_ASSERTION: Final = re.compile(
    r"\b(?:\w*(?:EXPECT|ASSERT|CHECK|REQUIRE|VERIFY|MATCH)\w*|(?:ADD_)?FAIL\w*|BOOST_\w+|"
    r"\w*(?:[Aa]ssert|[Ee]xpect|[Cc]heck|[Vv]erify)\w*|throw|abort|STATIC_\w+)\b"
)
_TRIVIAL: Final = re.compile(
    r"\b(?:(?:EXPECT|ASSERT)_TRUE\s*\(\s*(?:true|1)\s*\)|(?:EXPECT|ASSERT)_FALSE\s*\(\s*(?:false|0)\s*\)|"
    r"(?:EXPECT|ASSERT)_EQ\s*\(\s*([\w.]+)\s*,\s*\1\s*\)|"
    r"(?:CHECK|REQUIRE)\s*\(\s*(?:true|1|([\w.]+)\s*==\s*\2)\s*\)|(?:static_)?assert\s*\(\s*true\s*\))"
)


def tests_of(path: str, text: str) -> dict[str, str]:
    """The tests of a file by their runners' names, each with its body."""
    code = _without_comments(text)
    return {id: " ".join(_body(code, at).split()) for id, at in _tests(code)}


def vacuous_tests(path: str, text: str) -> dict[str, str]:
    """Tests that cannot fail for what the code does, and why."""
    code = _without_comments(text)
    reasons = ((id, _why_vacuous(_body(code, at))) for id, at in _tests(code))
    return {id: why for id, why in reasons if why}


def _tests(code: str) -> Iterator[tuple[str, int]]:
    """Each test's name, and where its macro ends."""
    for match in _GOOGLE.finditer(code):
        yield f"{match[1]}.{match[2]}", match.end()
    for match in _CATCH.finditer(code):
        yield f"Scenario: {match[2]}" if match[1].startswith("SCENARIO") else match[2], match.end()
    for match in _BOOST.finditer(code):
        yield match[1], match.end()


def _why_vacuous(body: str) -> str:
    code = _without_texts(body)
    if not _ASSERTION.search(code):
        return "asserts nothing"
    if trivial := _TRIVIAL.search(code):
        return (
            ""
            if _ASSERTION.search(_TRIVIAL.sub("", code))
            else f"only asserts what always holds: `{trivial[0]}`"
        )
    return ""


def _body(code: str, at: int) -> str:
    """What stands between the braces that open after `at`, the whole rest where they never close."""
    opened = code.find("{", at)
    if opened < 0:
        return ""
    depth, blank = 0, _without_texts(code[opened:])
    for brace in re.finditer("[{}]", blank):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return code[opened + 1 : opened + brace.start()]
    return code[opened + 1 :]


def _without_comments(text: str) -> str:
    return _COMMENT_OR_TEXT.sub(lambda match: " " if match[0].startswith(("//", "/*")) else match[0], text)


def _without_texts(code: str) -> str:
    """The same length, with nothing in strings and characters."""
    return _COMMENT_OR_TEXT.sub(lambda match: f'"{" " * (len(match[0]) - 2)}"', code)
