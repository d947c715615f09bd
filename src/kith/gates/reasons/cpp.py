"""How C++ tests fail to build: because something is not written yet, or because the test itself is wrong."""

import re
from collections.abc import Collection, Iterator
from typing import Final

from kith.gates.reasons.cpp_source import tests_of
from kith.gates.reasons.names import Names
from kith.gates.reports import CaseResult

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
    """Whether a case is one of the file's tests; a runner that knows programs only names those like files."""
    ids, stem = tests_of(path, text), path.rpartition("/")[2].rpartition(".")[0]
    plain = re.sub(r"^\w+/(?=\w+\.)|/\w+$", "", case.id)  # parameters: Many/Suite.Name/0
    return bool({case.id, plain} & ids.keys()) or case.path == path or case.id == stem


def build_faults(output: str, tests: Collection[str], names: Names) -> list[str]:
    """What kept the tests from being built and is their own fault; [] when only something is missing yet."""
    faults = [fault for path in tests for fault in _compile_faults(output, path, names)]
    return [*faults, *_link_faults(output), *_cmake_faults(output, names)]


def says_why(output: str) -> bool:
    """Whether a failed build names any fault that `build_faults` can judge."""
    return any(pattern.search(output) for pattern in (_ERROR, _UNDEFINED, _CMAKE))


def _compile_faults(output: str, path: str, names: Names) -> Iterator[str]:
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


def _why_wrong(text: str, names: Names, *, excused: bool) -> str:
    """Why an error in a test file is the test's own fault; "" when it is not."""
    if header := _HEADER.search(text):
        return _header_fault(header["header"].strip(), names)
    if _MACRO.search(text) and _MISSING.search(text):
        return f"a macro of the test framework is not known, so its header is not included ({text})"
    if re.search(r"member (?:of|named .* in) (?:namespace )?[‘']std[’']", text):
        return f"a header of the standard library is not included ({text})"
    broken = _SYNTAX.search(text) and not _MISSING.search(text) and not excused
    return f"this is not valid C++ ({text})" if broken else ""


def _header_fault(header: str, names: Names) -> str:
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


def _cmake_faults(output: str, names: Names) -> Iterator[str]:
    errors = list(_CMAKE.finditer(output))
    sources = _NO_SOURCE.findall(output)
    unknown = [source for source in sources if not names.is_promised_file(source)]
    if unknown:
        yield f"CMake finds no source file {', '.join(unknown)}, and the task does not speak of one"
    elif errors and not sources:
        yield f"CMake fails: {' '.join(errors[0]['text'].split())[:300]}"


def _is_file(told: str, path: str) -> bool:
    return told == path or told.endswith(f"/{path}")
