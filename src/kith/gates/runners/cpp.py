"""Read reports of googletest, Catch2, doctest and CTest; the cases inside one CTest test stay apart."""

import json
import posixpath
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from kith.core.patterns import lazy_pattern
from kith.core.values import Ran
from kith.gates.failure_output import distil
from kith.gates.reports import CaseResult, Outcome, ProjectPaths, worst_of
from kith.gates.results.junit import JUnitCase, read_junit
from kith.gates.results.report_commands import GOOGLETEST, REPORTS, reporting, steps
from kith.gates.toolchain import BUILD_FOLDER, Program, Reports, Runner, Toolchain, plain_program
from kith.gates.untouched import is_test_file

COVERAGE_FOLDER: Final = f"{BUILD_FOLDER}/coverage"  # built on its own: its objects count what runs
_MANY: Final = 200  # runs of one googletest program after which a file for each costs too much
_QUICK_S: Final = 5.0  # a program that took longer is not asked again for the names of its cases
_UNMEASURED: Final = "neither gcovr nor gcov could measure the coverage"
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
        started = {posixpath.basename(plain_program(test["command"][0])) for test in tests if _is_test(test)}
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
        target[1]: posixpath.basename(plain_program(program[1]))
        for line in links.splitlines()
        if (target := _TARGET.search(line)) and (program := _LINKED.search(line))
    }
    return {target for target, name in names.items() if name in programs} | programs - {*names.values()}


def _absolute(row: Mapping[str, Any]) -> str:
    return posixpath.join(_slashes(row["directory"]), _slashes(row["file"]))


def _slashes(path: str) -> str:
    return path.replace("\\", "/")


def _reporting(output: str) -> tuple[str, ...]:
    return next((options for sign, options in _FRAMEWORKS if sign.search(output)), ())


# The lines that leave reports, and measure coverage.


def _report_ctest(line: str) -> str:
    chdir = re.search(r"cmake -E chdir (\S+) ctest", line)
    folder = chdir[1] if chdir else BUILD_FOLDER
    junit = line.replace("ctest ", f'ctest --output-junit "$PWD/{REPORTS}/ctest.xml" ', 1)
    listed = f"{REPORTS}/ctest.json"
    return (
        f"cmake -E chdir {folder} ctest --show-only=json-v1 > {listed} 2>/dev/null\n"
        f"cp {folder}/{COMPILED} {REPORTS} 2>/dev/null\n"
        f"{{ find {folder} -path '*.dir/link.txt' -exec grep -Ho -e ' -o [^ ]*' {{}} +\n"
        f"grep -o '^build [^:|]*: C[A-Z]*_EXECUTABLE_LINKER_[^ ]* [^ ]*' {folder}/build.ninja\n"
        f"}} > {REPORTS}/{LINKED} 2>/dev/null\n"
        f'[ "$(grep -c gtest_filter {listed})" -gt {_MANY} ] || export {GOOGLETEST}\n{junit}'
    )


def _measured_cmake(toolchain: Toolchain) -> str:
    """A build of its own whose objects count; the compiler's own reader of these counts belongs to it."""
    folder, flags = COVERAGE_FOLDER, f'"$CXXFLAGS {toolchain.coverage}"'
    there = replace(
        toolchain,
        configure=toolchain.configure.replace(BUILD_FOLDER, folder),
        build=toolchain.build.replace(BUILD_FOLDER, folder),
        run=toolchain.run.replace(BUILD_FOLDER, folder),
    )
    configure = f"CFLAGS={flags} CXXFLAGS={flags} LDFLAGS={flags} {there.configure}"
    forget = f"find {folder} -name '*.gcda' -delete"
    lines = steps(configure, f"{there.build} && {forget}", reporting(there))
    gcov = f"$(grep -q 'COMPILER:.*clang' {folder}/CMakeCache.txt && echo 'llvm-cov gcov' || echo gcov)"
    gcovr = f'gcovr --json -o {REPORTS}/gcovr.json -r . --gcov-executable "{gcov}" {folder}'
    plain = (
        f"find \"$PWD/{folder}\" -name '*.gcda' -exec gcov --json-format --branch-probabilities --stdout"
        f" {{}} + > {REPORTS}/gcov.jsonl"
    )
    choice = f"if command -v gcovr >/dev/null; then {gcovr}; else {plain}; fi"
    return f"{lines}\ntests=$?\n({choice}) >/dev/null 2>&1\nexit $tests"


def _report_program(line: str) -> str:
    return f"export {GOOGLETEST}\n{line}"


# The lines for some tests only.


def _choose_ctest(line: str, only: tuple[str, ...]) -> str:
    """An id `test::case` names a googletest or Catch2 case inside a test; only googletest's can be chosen.

    A test may itself have such a name, so both readings are chosen.
    """
    if any("/" in test and re.search(r"\.(?:c|cc|cpp|cxx|h|hpp)$", test) for test in only):
        return line
    pairs = [test.partition("::") for test in only]
    read = [name for name, _, case in pairs for name in (name, f"{name}::{case}" if case else name)]
    names = "|".join(dict.fromkeys(map(_escape, read)))
    cases = [case for _, _, case in pairs if case]
    chosen = len(cases) == len(pairs) and all(re.fullmatch(r"[\w/]+\.[\w/]+", case) for case in cases)
    prefix = f"GTEST_FILTER={shlex.quote(':'.join(cases))} " if chosen else ""
    return f"{prefix}{line} -R {shlex.quote(f'^({names})$')}"


def _escape(text: str) -> str:
    """For the regular expressions of CMake, Go and Node, which agree on these characters."""
    return re.sub(r"([.^$*+?()\[\]{}|\\])", r"\\\1", text)


def _silent_in_ctest(toolchain: Toolchain, files: Reports, ran: Ran) -> Sequence[Program]:
    return find_silent(files, _QUICK_S)


def _silent_alone(toolchain: Toolchain, files: Reports, ran: Ran) -> Sequence[Program]:
    if any(name.startswith("googletest/") for name in files):
        return ()
    return name_programs(toolchain.run, ran.output)


CTEST: Final = Runner(
    "ctest",
    report=_report_ctest,
    read=lambda files, place, ran: read_ctest(files, place, ran.output),
    choose=_choose_ctest,
    measure=_measured_cmake,
    unmeasured=_UNMEASURED,
    again=_silent_in_ctest,
    sources=find_test_sources,
    compiles=True,
)
# One test program of C or C++.
PROGRAM: Final = Runner(
    "program",
    report=_report_program,
    read=lambda files, place, ran: read_program(files, place),
    measure=_measured_cmake,
    unmeasured=_UNMEASURED,
    again=_silent_alone,
)
