"""Read reports of googletest, Catch2, doctest and CTest; the cases inside one CTest test stay apart."""

import json
import posixpath
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kith.core.patterns import lazy_pattern
from kith.gates.failure_output import distil
from kith.gates.reports import CaseResult, Outcome, ProjectPaths
from kith.gates.results.junit import JUnitCase, read_junit
from kith.gates.runners.python import worst_of
from kith.gates.untouched import is_test_file

_TOLD: Final = 1_200  # characters of what a test printed
# CTest before 3.21 writes no report: `1/3 Test #1: name .....   Passed    0.00 sec`.
_LINE: Final = lazy_pattern(
    r"^ *\d+/\d+ Test +#\d+: (\S.*?) \.{3,}\s*(?:([^\n*]*)(\*{3}))?(\w[^\d\n]*?):? +([\d.]+) sec", re.M
)
# How a program's framework shows in what it prints, and the options by which it leaves a report in a file.
_FRAMEWORKS: Final = (
    (
        lazy_pattern(
            r" is a Catch2? v[\d.]+ host application"
            r"|^All tests passed \(\d+ assertions? in \d+ test cases?\)|^test cases: +\d+ \|.*\nassertions: ",
            re.M,
        ),
        ("-r", "junit", "-o"),
    ),
    (lazy_pattern(r"^\[doctest\] (?:doctest version is|test cases:) ", re.M), ("-r=junit", "-o=")),
)
_SIGNALS: Final = {
    "SEGFAULT": "SIGSEGV",
    "Subprocess aborted": "SIGABRT",
    "ILLEGAL": "SIGILL",
    "NUMERICAL": "SIGFPE",
    "BUS_ERROR": "SIGBUS",
    "Subprocess killed": "SIGKILL",
    "Timeout": "Timeout",
}
_THROWN: Final = lazy_pattern(
    r"C\+\+ exception with description|unexpected exception|test case THREW exception", re.I
)
# What assert() of the C library says: `program: path:line: function: Assertion ...`.
# Lines about the cases of a failing program that passed: Unity's.
_PASSING: Final = re.compile(r"^[^\n]*:PASS\n", re.M)
_ASSERT: Final = lazy_pattern(r"^[^\s:]+: ([^:\n]+:\d+): (?=.*Assertion )", re.M)


class Program(Struct, frozen=True):
    """One program that CTest starts for one test only, so that its cases are this test's.

    `reporting` are the options that make it leave a report: the last of them goes before the file's name.
    """

    test: str
    command: tuple[str, ...]
    folder: str
    reporting: tuple[str, ...] = ()

    @property
    def report(self) -> str:
        return f"{posixpath.basename(_plain(self.command[0]))}.xml"


def read_googletest(files: Mapping[str, bytes], place: ProjectPaths) -> tuple[CaseResult, ...]:
    """Ids are googletest's full names, `Suite.Case`, from all the reports there are."""
    reports = (data for name, data in sorted(files.items()) if name.startswith("googletest/"))
    return worst_of(case for data in reports for case in _googletest(data, place))


def _googletest(data: bytes, place: ProjectPaths) -> Iterator[CaseResult]:
    for entry in read_junit(data):
        name = f"{entry.group}.{entry.name}" if entry.group else entry.name
        # The first line of each failure is its place.
        message = re.sub(r"^\S[^\n]*:\d+\n", "", entry.text or entry.said, flags=re.M)
        error = _error_of(entry.text, "failure")
        yield place.case(name, entry.outcome, message, _located(entry.text), entry.seconds, error)


def _error_of(text: str, otherwise: str) -> str:
    return "exception" if _THROWN.search(text) else otherwise


def _located(text: str) -> str:
    """googletest's first line, Catch2's last one and doctest's, as frames."""
    text = re.sub(r"^(\S[^\n()]*)\((\d+)\):$", r"\1:\2", text, flags=re.M)
    return re.sub(r"^(?:at )?(\S[^\n]*:\d+)$", r"\1: ", text, flags=re.M)


def _catch2(data: bytes, place: ProjectPaths) -> Iterator[CaseResult]:
    """A section is a case of its own: `Case/section`."""
    for entry in read_junit(data):
        lines = r"^(?:FAILED:|at \S[^\n]*:\d+|\S[^\n()]*\(\d+\):)\n?"
        message = re.sub(lines, "", entry.text, flags=re.M) or entry.said
        error = _error_of(entry.text, entry.kind)
        yield place.case(entry.name, entry.outcome, message, _located(entry.text), entry.seconds, error)


def read_program(files: Mapping[str, bytes], place: ProjectPaths) -> tuple[CaseResult, ...]:
    """The cases of test programs that ran without CTest."""
    reports = (data for name, data in sorted(files.items()) if name.startswith("catch2/"))
    return read_googletest(files, place) or worst_of(
        case for data in reports for case in _catch2(data, place)
    )


def read_ctest(files: Mapping[str, bytes], place: ProjectPaths, output: str) -> tuple[CaseResult, ...]:
    """Ids are CTest's names, with `::case` for each case that is known inside a test."""
    entries = read_junit(files.get("ctest.xml", b"")) or tuple(_lines(output))
    programs = {program.test: program for program in find_programs(files)}
    known = {case.id: case for case in read_googletest(files, place)}
    endings = {entry.name: entry.said for entry in _lines(output)}
    cases: list[CaseResult] = []
    for entry in entries:
        inner = _cases_of(programs.get(entry.name), files, place)
        failing = any(case.outcome in ("failed", "error") for case in inner)
        # CTest's word counts: it may expect a failure, or see a crash that no report tells of.
        if inner and failing <= (entry.outcome == "failed"):
            cases += (replace(case, id=f"{entry.name}::{case.id}") for case in inner)
        if not inner or failing != (entry.outcome == "failed"):
            cases.append(_ctest_case(replace(entry, said=endings.get(entry.name, "")), known, place))
    return worst_of(cases)


def _lines(output: str) -> Iterator[JUnitCase]:
    for match in _LINE.finditer(output):
        name, first, bad, how, seconds = match.groups()
        skipped = how.startswith(("Skipped", "Not Run (Disabled)"))
        outcome: Outcome = "skipped" if skipped else "failed" if bad else "passed"
        yield JUnitCase(name, name, outcome, said=first or how if bad else "", seconds=float(seconds[:9]))


def _cases_of(
    program: Program | None, files: Mapping[str, bytes], place: ProjectPaths
) -> tuple[CaseResult, ...]:
    if program is None:
        return ()
    googletest = files.get(f"googletest/{program.report}")
    if googletest is not None:
        return worst_of(_googletest(googletest, place))
    return worst_of(_catch2(files.get(f"catch2/{program.report}", b""), place))


def _ctest_case(entry: JUnitCase, known: Mapping[str, CaseResult], place: ProjectPaths) -> CaseResult:
    """One test as CTest saw it; what googletest says of the same case is more exact than the output."""
    missing = entry.outcome == "skipped" and "Unable to find executable" in entry.output
    outcome: Outcome = "failed" if missing else entry.outcome
    case = known.get(entry.name)
    if case and case.outcome == outcome:
        return replace(case, id=entry.name)
    ending = entry.said if entry.said not in ("", "Failed") else ""
    output = _PASSING.sub("", entry.output)
    told = distil(output, "ctest", _TOLD).strip()
    message = "\n".join(filter(None, (ending, told))) or "It printed nothing."
    asserted = "assertion" if _ASSERT.search(output) else ""
    error = asserted or next((signal for word, signal in _SIGNALS.items() if word in ending), "")
    return place.case(entry.name, outcome, message, _ASSERT.sub(r"\1: ", output), entry.seconds, error)


def find_programs(files: Mapping[str, bytes]) -> tuple[Program, ...]:
    """The programs of a build that belong to one test each, by what `ctest --show-only` lists."""
    try:
        data = json.loads(files.get("ctest.json", b""))
        found = [program for test in data["tests"] if (program := _program(test))]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ()
    uses = Counter(program.report for program in found)
    return tuple(program for program in found if uses[program.report] == 1)


def _program(test: Any) -> Program | None:
    command, name = test.get("command"), test["name"]
    if not command or not all(isinstance(word, str) for word in (name, *command)):
        return None
    properties = {each["name"]: each.get("value") for each in test.get("properties", ())}
    chosen = any(word.startswith("--gtest_filter") for word in command)
    folder = str(properties.get("WORKING_DIRECTORY") or "")
    return None if chosen else Program(name, tuple(command), folder)


def find_silent(files: Mapping[str, bytes], seconds: float) -> tuple[Program, ...]:
    """The programs that name their cases in a report only, as what they printed says, and that took no longer
    than `seconds`."""
    programs = {program.test: program for program in find_programs(files)}
    return tuple(
        replace(programs[entry.name], reporting=reporting)
        for entry in read_junit(files.get("ctest.xml", b""))
        if entry.name in programs and entry.seconds <= seconds and (reporting := _reporting(entry.output))
    )


def name_programs(line: str, output: str) -> tuple[Program, ...]:
    """The programs of a line that starts them one after the other, if they are of such a framework."""
    reporting = _reporting(output)
    if not reporting:
        return ()
    commands = [tuple(shlex.split(part)) for part in line.split(" && ")]
    return tuple(Program(command[0], command, "", reporting) for command in commands if command)


# Which sources are tests, by what CMake says it compiles and CTest says it starts.

COMPILED: Final = "compile_commands.json"
LINKED: Final = "linked"  # lines of the build's own files that name a program and its target
_TARGET: Final = lazy_pattern(r"CMakeFiles[/\\]([^/\\\s]+)\.dir[/\\]")
_LINKED: Final = lazy_pattern(r"(?: -o |^build )(\S+?):?(?: |$)")  # of make, of ninja


def find_test_sources(files: Mapping[str, bytes], place: ProjectPaths) -> frozenset[str]:
    """The sources of programs that CTest starts to test, but for those that other targets compile as well.

    A program that it starts with arguments of its own may be the one that is tested. Where a program
    has sources that are named like tests, those in other folders are what they test.
    """
    try:
        tests = json.loads(files.get("ctest.json", b""))["tests"]
        rows = json.loads(files.get(COMPILED, b""))
        started = {posixpath.basename(_plain(test["command"][0])) for test in tests if _is_test(test)}
        started = _targets_of(started, files.get(LINKED, b"").decode("utf-8", "replace"))
        sources = [(_target(row), place.locate(_absolute(row))) for row in rows]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return frozenset()
    tested = {path for target, path in sources if target not in started}
    for name in started:
        own = [path for target, path in sources if path and target == name]
        folders = {posixpath.dirname(path) for path in own if is_test_file(path)}
        tested |= {path for path in own if folders and posixpath.dirname(path) not in folders}
    return frozenset(path for target, path in sources if path and target in started and path not in tested)


def _is_test(test: Any) -> bool:
    """True for a program that is told nothing but which of its cases to run."""
    command = test.get("command") or [""]
    words = ("--gtest_", "--test-case")  # gtest_discover_tests, doctest_discover_tests
    case = command[1].replace("\\", "") if len(command) > 1 else ""  # catch_discover_tests
    return not case or case in test["name"] or any(word.startswith(words) for word in command)


def _target(row: Mapping[str, Any]) -> str:
    found = _TARGET.search(row.get("output") or row.get("command") or " ".join(row.get("arguments", ())))
    return found[1] if found else ""


def _targets_of(programs: set[str], links: str) -> set[str]:
    """The targets of these programs, which may have other names; an unknown program is its target's."""
    names = {
        target[1]: posixpath.basename(_plain(program[1]))
        for line in links.splitlines()
        if (target := _TARGET.search(line)) and (program := _LINKED.search(line))
    }
    return {target for target, name in names.items() if name in programs} | programs - {*names.values()}


def _absolute(row: Mapping[str, Any]) -> str:
    return posixpath.join(_slashes(row["directory"]), _slashes(row["file"]))


def _plain(program: str) -> str:
    return _slashes(program).removesuffix(".exe")


def _slashes(path: str) -> str:
    return path.replace("\\", "/")


def _reporting(output: str) -> tuple[str, ...]:
    return next((options for sign, options in _FRAMEWORKS if sign.search(output)), ())
