"""Reports of test runners, as the tools write them and as somebody might forge them."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kith.core.values import Ran
from kith.gates.evidence.changed_tests import Claims
from kith.gates.reports import CaseResult, ProjectPaths, SuiteReport
from kith.gates.results.coverage import read_coverage
from kith.gates.results.junit import parse_xml, read_junit
from kith.gates.results.run import read_cases, repair_output, was_built, why_no_results
from kith.gates.runners.cpp import find_programs
from kith.gates.toolchain import Toolchain
from recorded import (
    CARGO,
    CATCH2,
    COVERAGE_PY,
    CTEST,
    DOCTEST,
    GCOV,
    GCOVR,
    GO,
    GO_PANIC,
    GOOGLETEST,
    JEST,
    LISTED,
    MOCHA,
    NODE,
    PYTEST,
    RUST_PANIC,
    VERBOSE,
    VITEST,
)
from runners import RUNNERS

FILES = frozenset(
    {
        "src/lib.rs",
        "half/half.go",
        "a.test.js",
        "tests/test_a.py",
        "tests/v1.2/test_b.py",
        "docs/use.rst",
        "unit.cpp",
    }
)
PLACE = ProjectPaths("/work tree/p", FILES)
FAILED = Ran("tests", 1, "", 1.0)


def read(runner: str, files: Mapping[str, str], output: str = "") -> tuple[CaseResult, ...]:
    ran = Ran("tests", 1, output, 1.0)
    contents = {name: text.encode() for name, text in files.items()}
    return read_cases(Toolchain("tests", "", "", "tests", RUNNERS[runner]), contents, PLACE, ran)


def brief(cases: tuple[CaseResult, ...]) -> list[tuple[str, str, str]]:
    return [(case.id, case.outcome, f"{case.path}:{case.line}" if case.path else "") for case in cases]


def test_pytest_ids_are_pytests_own() -> None:
    cases = read("pytest", {"pytest.xml": PYTEST})
    assert brief(cases) == [
        ("tests/test_a.py::TestX::test_p[x.y::z]", "passed", ""),
        ("tests/test_a.py::test_deep", "failed", "tests/test_a.py:7"),
        ("tests/v1.2/test_b.py::test_b", "passed", ""),
        ("tests/test_a.py::test_end", "error", ""),
        ("docs/use.rst::use.rst", "skipped", ""),
        ("tests/test_a.py", "error", "tests/test_a.py:1"),
    ]
    assert cases[1].message == "assert 2 == 3" and cases[1].frames == ("tests/test_a.py:7",)
    assert cases[5].message == "ModuleNotFoundError: No module named 'nothere'"


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (
            {"googletest/unit.xml": GOOGLETEST},
            [("unit::Math.Adds", "passed", ""), ("unit::Math.Breaks/0", "failed", "unit.cpp:3")],
        ),
        (
            {"catch2/unit.xml": CATCH2},
            [("unit::adds, well", "passed", ""), ("unit::breaks/inner", "failed", "unit.cpp:4")],
        ),
        # A report in which nothing fails does not explain a test that did: it crashed at its end.
        (
            {"googletest/unit.xml": GOOGLETEST.replace("failure", "properties")},
            [
                ("unit::Math.Adds", "passed", ""),
                ("unit::Math.Breaks/0", "passed", ""),
                ("unit", "failed", ""),
            ],
        ),
    ],
)
def test_the_cases_inside_a_ctest_test(report: dict[str, str], expected: list[tuple[str, str, str]]) -> None:
    cases = read("ctest", {"ctest.xml": CTEST, "ctest.json": LISTED, **report})
    assert brief(cases) == [
        *expected,
        ("alone", "passed", ""),
        ("crash", "failed", "unit.cpp:2"),
        ("gone", "failed", ""),
        ("later", "skipped", ""),
    ]
    assert cases[-3].message.endswith("Assertion `1 == 2' failed.")


def test_old_ctest_has_lines_only() -> None:
    output = """    Start 1: a b
1/4 Test #1: a b ..............................   Passed    0.00 sec
2/4 Test #2: plain ............................Subprocess aborted***Exception:   0.30 sec
3/4 Test #3: slow .............................***Timeout   1.00 sec
4/4 Test #4: later ............................***Skipped   0.00 sec
"""
    cases = read("ctest", {}, output)
    assert brief(cases) == [
        ("a b", "passed", ""),
        ("plain", "failed", ""),
        ("slow", "failed", ""),
        ("later", "skipped", ""),
    ]
    assert [case.message.split("\n")[0] for case in cases[1:3]] == ["Subprocess aborted", "Timeout"]


def test_a_failing_program_of_unity_is_told_without_its_passing_cases() -> None:
    said = "/r/t/a.c:19:one:PASS\n/r/t/a.c:15:two:FAIL: Expected 1 Was 2\n/r/t/a.c:20:three:PASS\n"
    report = (
        f"<testsuite><testcase name='a' status='fail'><system-out>{said}</system-out></testcase></testsuite>"
    )
    (case,) = read("ctest", {"ctest.xml": report})
    assert case.message == "/r/t/a.c:15:two:FAIL: Expected 1 Was 2"


def test_cargo() -> None:
    cases = read("cargo", {"cargo.txt": CARGO})
    assert brief(cases) == [
        ("tests::bad", "failed", "src/lib.rs:8"),
        ("tests::later", "skipped", ""),
        ("tests::good", "passed", ""),
        ("tests::panics", "failed", ""),
    ]
    assert cases[0].message == "assertion `left == right` failed: halves\n  left: 2\n right: 3"


def test_programs_of_rust_with_tests_of_one_name() -> None:
    texts = [
        "\nrunning 1 test\ntest test_new ... ok\n\ntest result: ok. 1 passed\n",
        "\nrunning 2 tests\ntest test_new ... FAILED\ntest other ... ok\n\nfailures:\n\n"
        "---- test_new stdout ----\nthread 'test_new' panicked at src/lib.rs:3:5:\nboom\n\nfailures:\n",
    ]
    first = read("cargo", {"cargo.txt": "".join(texts)})
    assert brief(first) == [
        ("test_new", "passed", ""),
        ("test_new (2)", "failed", "src/lib.rs:3"),
        ("other", "passed", ""),
    ]
    assert Claims("make test_new pass").want("test_new (2)")


def test_go() -> None:
    cases = read("go", {"go.jsonl": GO})
    assert brief(cases) == [
        ("example.org/n/half.TestHalf", "failed", "half/half.go:6"),
        ("example.org/n/half.TestAll/one case", "passed", ""),
        ("example.org/n/half.TestLater", "skipped", ""),
    ]
    assert cases[0].message == "half/half.go:6: got 2, want 3" and cases[0].seconds == 0.25
    go = Toolchain("go test", "Go", "go.mod", "go test ./...", RUNNERS["go"])
    assert "--- FAIL: TestHalf" in repair_output(go, {"go.jsonl": GO.encode()}, FAILED).output


NAMES = ("adds", "breaks", "later")


@pytest.mark.parametrize(
    ("runner", "files", "ids"),
    [
        ("node", {"tests.jsonl": NODE}, [f"a.test.js::outer > {name}" for name in NAMES]),
        ("jest", {"jest.json": JEST}, [f"a.test.js::outer {name}" for name in NAMES]),
    ],
)
def test_node_and_jest(runner: str, files: dict[str, str], ids: list[str]) -> None:
    toolchain = Toolchain("npm test", "JavaScript", "", "npm test", RUNNERS[runner])
    contents = {name: text.encode() for name, text in files.items()}
    cases = read_cases(toolchain, contents, PLACE, FAILED)
    assert [(case.id, case.outcome) for case in cases[3:]] == [("b.test.js", "error")] * (runner == "node")
    cases = cases[:3]
    assert [case.id for case in cases] == ids
    assert [case.outcome for case in cases] == ["passed", "failed", "skipped"]
    assert (cases[1].path, cases[1].line) == ("a.test.js", 3) and "1 !== 2" in cases[1].message


def test_vitest_and_mocha() -> None:
    broken, *vitest = read("vitest", {"vitest.json": VITEST})
    assert (broken.id, broken.outcome, broken.message) == (
        "broken.test.js",
        "error",
        "Failed to load url ./nowhere.js",
    )
    for cases in (vitest, read("mocha", {"tests.jsonl": MOCHA})):
        suite = "a.test.js::half" if cases is vitest else "a.test.js::half >"
        assert brief(tuple(cases)) == [
            (f"{suite} halves", "passed", ""),
            (f"{suite} breaks", "failed", "a.test.js:6" if cases is vitest else "a.test.js:2"),
            (f"{suite} later", "skipped", ""),
        ]
        assert cases[1].error == "AssertionError" and "2" in cases[1].message


def test_doctest_by_itself() -> None:
    adds, breaks, throws = read("program", {"catch2/tests.xml": DOCTEST})
    assert (adds.id, adds.outcome) == ("adds", "passed")
    assert (breaks.id, breaks.path, breaks.line, breaks.error) == ("breaks/inner", "unit.cpp", 9, "CHECK")
    assert breaks.message.startswith("CHECK( half(4) == 3 ) is NOT correct!")
    assert (throws.outcome, throws.message) == ("error", "negative")
    assert read("program", {"googletest/unit.xml": GOOGLETEST})[0].id == "Math.Adds"


@pytest.mark.parametrize(
    ("runner", "files", "frames"),
    [
        (
            "cargo",
            {"cargo.txt": RUST_PANIC},
            ("src/lib.rs:8 in sample::deep::{{closure}}", "src/lib.rs:3 in sample::inner"),
        ),
        (
            "go",
            {"go.jsonl": GO_PANIC},
            ("half/half.go:9 in example.org/n/half.TestDeep", "half/half.go:3 in example.org/n/half.inner"),
        ),
    ],
)
def test_a_panic_names_its_functions(runner: str, files: dict[str, str], frames: tuple[str, ...]) -> None:
    (case,) = read(runner, files)
    assert (case.outcome, case.error, case.frames) == ("failed", "panic", frames)
    assert "stack backtrace" not in case.message


def test_errors_have_their_types() -> None:
    pytests = {case.id: case.error for case in read("pytest", {"pytest.xml": PYTEST})}
    assert pytests["tests/test_a.py::test_deep"] == "AssertionError"
    assert pytests["tests/test_a.py"] == "ModuleNotFoundError"
    ctest = read("ctest", {"ctest.xml": CTEST, "ctest.json": LISTED, "googletest/unit.xml": GOOGLETEST})
    assert [case.error for case in ctest if case.outcome == "failed"] == ["failure", "assertion", ""]
    crash = (
        "1/1 Test #1: a ...***Exception: SegFault  0.10 sec\n2/2 Test #2: b ...***Exception: SEGFAULT  1 sec"
    )
    assert "SIGSEGV" in {case.error for case in read("ctest", {}, crash)}


def test_unittest_that_somebody_else_started() -> None:
    two, zero, later = read("command", {}, VERBOSE)
    assert (two.id, two.outcome, later.outcome) == ("app.tests.Half.test_two", "passed", "skipped")
    assert (zero.id, zero.error, zero.message) == ("app.tests.Half.test_zero", "ValueError", "ValueError: 0")
    assert zero.frames == ("tests/test_a.py:9 in test_zero",)


def test_without_a_report_the_output_names_what_failed() -> None:
    assert brief(read("command", {}, "FAILED tests/test_a.py::test_x - assert 0")) == [
        ("tests/test_a.py::test_x", "failed", "")
    ]


# --- what nobody vouches for -----------------------------------------------------------------

ENTITIES = b"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "x"><!ENTITY b "&a;&a;">]>
<testsuites><testcase classname="a" name="&b;"/></testsuites>"""
FOREIGN = b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><testsuites/>'


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<testsuites>",
        b"<testsuites><testcase name='a'/>",
        ENTITIES,
        ENTITIES.decode().encode("utf-16"),
        FOREIGN,
        b"<testsuite>" * 5_000 + b"</testsuite>" * 5_000,
        b"\xff\xfe\x00" * 20,
    ],
)
def test_broken_and_hostile_xml_is_no_report(data: bytes) -> None:
    assert parse_xml(data) is None
    assert read_junit(data) == ()


def test_control_characters_do_not_break_a_report() -> None:
    (entry,) = read_junit(
        b"<testsuites><testcase name='a\x1b[31m\xff'><failure>\x00</failure></testcase></testsuites>"
    )
    assert (entry.name, entry.outcome, entry.text) == ("a\N{REPLACEMENT CHARACTER}", "failed", "?")


def test_a_failure_of_meson_is_told_by_what_the_test_printed() -> None:
    (entry,) = read_junit(
        b"<testsuites><testsuite><testcase name='multi' classname='inih'><failure/>"
        b"<system-out>--- want\n+++ got</system-out><system-err>exit 1</system-err>"
        b"</testcase></testsuite></testsuites>"
    )
    assert (entry.outcome, entry.text) == ("failed", "--- want\n+++ got\n\nexit 1")


def test_a_forged_report_makes_no_failure_good() -> None:
    forged = "<testsuites><testcase classname='tests.test_a' name='test_x'/></testsuites>"
    report = SuiteReport(FAILED, read("pytest", {"pytest.xml": forged}))
    assert report.passed and not report.ok


def test_a_report_does_not_contradict_the_exit_code_of_a_command() -> None:
    make = Toolchain("make test", "", "", "make test")
    files = {"googletest/unit.xml": GOOGLETEST.encode()}
    assert len(read_cases(make, files, PLACE, FAILED)) == 2
    assert read_cases(make, files, PLACE, Ran("make test", 0, "", 1.0)) == ()


_NAMES = [
    "pytest.xml",
    "unittest.xml",
    "ctest.xml",
    "ctest.json",
    "googletest/a.xml",
    "cargo.txt",
    "go.jsonl",
    "tests.jsonl",
    "vitest.json",
]
_WORDS = st.sampled_from(
    [
        b"<testsuites>",
        b"</testsuites>",
        b"<testcase name='a' time='1e999' line='x'>",
        b"</testcase>",
        b"<failure>",
        b"</failure>",
        b'{"Action": "fail", "Test": 3, "Elapsed": []}\n',
        b'{"tests": [{"name": 1, "command": [2]}]}',
        b'{"files": {"unit.cpp": {"executed_lines": ["x"]}}}',
        b'{"files": [{"file": 1, "lines": [1]}]}',
        b"test a ... FAILED\n---- a stdout ----\npanicked at a:99999999999999999999:1:\n",
        b"[[[[",
        b"tests/test_a.py:9999999999999: x",
    ]
)
REPORT = st.one_of(st.binary(max_size=200), st.lists(_WORDS, max_size=8).map(b"".join))
NAMES = st.sampled_from(
    [*_NAMES, "jest.json", "catch2/a.xml", "coverage.json", "gcovr.json", "gcov.jsonl", "built"]
)


@given(
    st.sampled_from(sorted(RUNNERS)),
    st.dictionaries(NAMES, REPORT, max_size=5),
    st.text(max_size=100),
    st.sampled_from([0, 1]),
)
def test_no_report_can_crash_the_reader(runner: str, files: dict[str, bytes], output: str, code: int) -> None:
    toolchain = Toolchain("t", "", "", "t", RUNNERS[runner], build="b", coverage="--branch")
    ran = repair_output(toolchain, files, Ran("t", code, output, 1.0))
    cases = read_cases(toolchain, files, PLACE, ran)
    read_coverage(files, PLACE)
    find_programs(files)
    report = SuiteReport(ran, cases, built=was_built(toolchain, files, ran, cases))
    assert isinstance(why_no_results(toolchain, ran, cases), str)
    assert not (code and report.ok)
    assert all(case.path in FILES | {""} for case in cases)


# --- coverage --------------------------------------------------------------------------------


def test_coverage_of_the_projects_own_files() -> None:
    measured = read_coverage({"coverage.json": json.dumps(COVERAGE_PY).encode()}, PLACE)
    assert measured and dict(measured.ran) == {"tests/test_a.py": {1, 2}}
    assert measured.branches == {"tests/test_a.py": (1, 4)} and measured.share == pytest.approx(2 / 3)
    for name, told, missed in (("gcovr.json", GCOVR, {2}), ("gcov.jsonl", GCOV, {2, 3})):
        measured = read_coverage({name: json.dumps(told).encode()}, PLACE)
        assert measured and dict(measured.ran) == {"unit.cpp": {1}} and measured.missed["unit.cpp"] >= {2}
        assert measured.branches == {"unit.cpp": (1, 2)}
        assert missed >= measured.missed["unit.cpp"]
    assert read_coverage({"coverage.json": b"{"}, PLACE) is None


def test_a_long_output_without_its_middle_names_no_tests() -> None:
    ran = Ran("sh check.sh", 0, "1..2\nok 1 - one\nok 2 - two\n", 1.0, cut=90_000)
    toolchain = Toolchain("check", "", "", "sh check.sh")
    assert read_cases(toolchain, {}, PLACE, ran) == ()
    assert len(read_cases(toolchain, {}, PLACE, replace(ran, cut=0))) == 2
