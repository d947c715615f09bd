"""C++ tests before the code: which there are, which assert nothing, and why they fail to build."""

import re
from collections.abc import Collection, Iterator
from typing import Final

from kith.features.build.new_tests.names import KnownNames
from kith.gates.reports import CaseResult

# C++ tests by their text: which there are (googletest, Catch2, doctest, Boost), and which assert
# nothing.

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
    """Return the text between the braces that open after `at`, or the whole rest if they never close."""
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


_ERROR: Final = re.compile(
    r"^(?P<path>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$", re.M
)
_FORGOTTEN: Final = re.compile(
    r"^([^:\n]+):\d+:\d+: note: .*did you forget to [‘'`]#include (<[\w./]+>)", re.M
)
# What gcc and clang say where a name, a type or a file does not exist (yet).
_MISSING: Final = re.compile(
    r"was not declared|has not been declared|does not name a type|has no member|no member named|not a member|"
    r"undeclared identifier|unknown type name|no type named|no template named|not a class or namespace|"
    r"is not a class|is not a template|does not name a template|No such file or directory|file not found|"
    r"incomplete type|undefined template|no matching|no declaration matches|out-of-line definition|"
    r"expected (?:class[- ]name|type-specifier|template-name|namespace-name)"
)
_SYNTAX: Final = re.compile(
    r"^(?:expected|stray|missing terminating|unterminated|extraneous|invalid preprocessing directive|"
    r"unable to find numeric literal|extra tokens|'?#?endif|unmatched)|to match this|at end of input"
)
_HEADER: Final = re.compile(
    r"^[‘'\"]?(?P<header>[^‘’'\":]+)[’'\"]?:? (?:No such file or directory|file not found)"
)
_MACRO: Final = re.compile(
    r"[‘'](?:TEST|TEST_F|TEST_P|TEST_CASE|SCENARIO|SECTION|SUBCASE|CHECK\w*|REQUIRE\w*|EXPECT_\w+|ASSERT_\w+)[’']"
)
_UNDEFINED: Final = re.compile(r"undefined (?:reference to|symbol:?) [`‘'\"]?([^'’\"\n]+)")
_FRAMEWORK: Final = re.compile(r"\b(?:main|testing::|Catch::|doctest::|boost::unit_test)")
_CMAKE: Final = re.compile(r"^CMake Error(?: at \S+[^\n]*)?:[ \t]*(?P<text>(?:[^\n]*\n?){1,8})", re.M)
_NO_SOURCE: Final = re.compile(r"Cannot find source file:\s+(\S+)")


def is_of(case: CaseResult, path: str, text: str) -> bool:
    """True if a case is one of the file's tests; some runners name only the program, as the file."""
    ids, stem = tests_of(path, text), path.rpartition("/")[2].rpartition(".")[0]
    plain = re.sub(r"^\w+/(?=\w+\.)|/\w+$", "", case.id)  # parameters: Many/Suite.Name/0
    return bool({case.id, plain} & ids.keys()) or case.path == path or case.id == stem


def build_faults(output: str, tests: Collection[str], names: KnownNames) -> list[str]:
    """List the build errors that are the tests' own fault; [] when only the code is missing yet."""
    faults = [fault for path in tests for fault in _compile_faults(output, path, names)]
    return [*faults, *_link_faults(output), *_cmake_faults(output, names)]


def says_why(output: str) -> bool:
    """True if a failed build names any fault that `build_faults` can judge."""
    return any(pattern.search(output) for pattern in (_ERROR, _UNDEFINED, _CMAKE))


def _compile_faults(output: str, path: str, names: KnownNames) -> Iterator[str]:
    missing = set[int]()
    for match in _ERROR.finditer(output):
        if not _is_file(match["path"], path):
            continue
        line, text = int(match["line"]), match["text"]
        # Behind a name that does not exist, compilers stumble over the rest of the line.
        if why := _why_wrong(text, names, excused=line in missing):
            yield f"{path}:{line}: {why}"
            return
        if _MISSING.search(text):
            missing.add(line)
    headers = [header for told, header in _FORGOTTEN.findall(output) if _is_file(told, path)]
    if headers:
        yield f"{path} needs `#include {headers[0]}`"


def _why_wrong(text: str, names: KnownNames, *, excused: bool) -> str:
    """Explain why an error in a test file is the test's own fault; "" when it is not."""
    if header := _HEADER.search(text):
        return _header_fault(header["header"].strip(), names)
    if _MACRO.search(text) and _MISSING.search(text):
        return f"a macro of the test framework is not known, so its header is not included ({text})"
    if re.search(r"member (?:of|named .* in) (?:namespace )?[‘']std[’']", text):
        return f"a header of the standard library is not included ({text})"
    broken = _SYNTAX.search(text) and not _MISSING.search(text) and not excused
    return f"this is not valid C++ ({text})" if broken else ""


def _header_fault(header: str, names: KnownNames) -> str:
    if names.is_there(header):
        return (
            f"`{header}` exists, and the compiler does not find it from here: correct the path or the build"
        )
    if names.is_promised_file(header):
        return ""
    return f"there is no header `{header}`, and the task does not speak of one"


def _link_faults(output: str) -> Iterator[str]:
    wrong = next((symbol for symbol in _UNDEFINED.findall(output) if _FRAMEWORK.match(symbol)), "")
    if wrong:
        yield f"`{wrong}` is not linked: the tests' program needs the test framework, with its main"


def _cmake_faults(output: str, names: KnownNames) -> Iterator[str]:
    errors = list(_CMAKE.finditer(output))
    sources = _NO_SOURCE.findall(output)
    unknown = [source for source in sources if not names.is_promised_file(source)]
    if unknown:
        yield f"CMake finds no source file {', '.join(unknown)}, and the task does not speak of one"
    elif errors and not sources:
        yield f"CMake fails: {' '.join(errors[0]['text'].split())[:300]}"


def _is_file(told: str, path: str) -> bool:
    return told == path or told.endswith(f"/{path}")
