"""The letter about a failed run: short, and the important things in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.values import Ran
from kith.gates.evidence.compare import Comparison
from kith.gates.evidence.feedback import (
    build_errors,
    explain_report,
    first_fault,
    names,
    write_exit,
    write_regressions,
)
from kith.gates.reports import CaseResult, SuiteReport

GOOD = CaseResult("t::good", "passed")
BAD = CaseResult(
    "tests/test_a.py::test_b",
    "failed",
    "assert 2.0 == 3\n +  where 2.0 = mean([2, 4])",
    "lib.py",
    4,
    ("tests/test_a.py:8 in test_b", "lib.py:4 in mean"),
)
OTHER = CaseResult("tests/test_a.py::test_c", "error", "ValueError: no")
COMPILER = """\
[ 50%] Building CXX object a.o
/p/src/a.cpp: In function 'int main()':
src/a.cpp:4:15: error: expected ';' before '}' token
    4 |   return n / 2
/usr/include/c++/12/vector:9:1: error: in a library
CMake Error at CMakeLists.txt:7 (add_executable):
  Cannot find source file

a.cpp:(.text+0x5): undefined reference to `half(int)'
collect2: error: ld returned 1 exit status
"""


def report(*cases: CaseResult, output: str = "", built: bool = True) -> SuiteReport:
    return SuiteReport(Ran("run tests", 1, output, 3.0), cases, built=built)


def test_a_failure_is_its_test_its_assertion_and_the_projects_frames() -> None:
    assert (
        explain_report(report(GOOD, BAD, OTHER), 1_000)
        == """\
2 of 3 tests fail: tests/test_a.py::test_b: assert 2.0 == 3 + where 2.0 = mean([2, 4])

tests/test_a.py::test_b  (lib.py:4)
    assert 2.0 == 3
     +  where 2.0 = mean([2, 4])
    at tests/test_a.py:8 in test_b
    at lib.py:4 in mean

tests/test_a.py::test_c
    ValueError: no"""
    )


def test_a_small_model_gets_one_failure() -> None:
    told = explain_report(report(GOOD, BAD, OTHER), 1_000, first_only=True)
    assert "test_b" in told and "test_c" not in told


def test_what_does_not_fit_is_named_or_counted() -> None:
    many = tuple(CaseResult(f"t::{n}", "failed", "assert " + "x" * 100) for n in range(50))
    told = explain_report(report(*many), 600)
    assert (
        len(told) <= 600
        and told.startswith("50 tests fail: t::0")
        and told.rstrip().endswith("more tests fail.")
    )


def test_a_build_that_fails_is_told_by_file_and_line() -> None:
    assert list(build_errors(COMPILER)) == [
        "src/a.cpp:4:15: expected ';' before '}' token",
        "CMakeLists.txt:7: Cannot find source file",
        "undefined reference to `half(int)'",
    ]
    told = explain_report(report(output=COMPILER, built=False), 1_000)
    assert told.startswith("The build fails: src/a.cpp:4:15: expected ';' before '}' token\n\n")


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("a\nERROR: no such thing\nb\n", "ERROR: no such thing"),
        ("a\n\nb\n", "b"),
        ("", "It printed nothing."),
    ],
)
def test_without_a_report_one_line_of_the_output_speaks(output: str, line: str) -> None:
    assert first_fault(report(output=output)) == line


def test_nothing_is_said_of_what_is_good_and_a_time_out_is_said() -> None:
    good = SuiteReport(Ran("t", 0, "", 1.0), (GOOD,))
    assert explain_report(good, 100) == ""
    late = SuiteReport(Ran("t", 124, "", 120.0, timed_out=True))
    assert first_fault(late) == "The tests were stopped after 120 s."


NEW = CaseResult("tests/test_b.py::test_new", "failed", "assert half(4) == 3", "lib.py", 9)


def letter(*failing: CaseResult, bad: frozenset[str], lost: frozenset[str] = frozenset()) -> str:
    return write_regressions(report(GOOD, *failing), Comparison(bad=bad, lost=lost), bad | lost, ())


def test_new_tests_that_fail_are_named_with_the_first_output() -> None:
    also = CaseResult("tests/test_b.py::test_too", "failed", "assert 0")
    told = letter(NEW, also, bad=frozenset({NEW.id, also.id}))
    assert f"{NEW.id}, {also.id}." in told
    assert "assert half(4) == 3" in told
    assert "before your" not in told  # there were no such tests


def test_broken_tests_stand_before_new_ones_that_fail() -> None:
    told = letter(NEW, BAD, bad=frozenset({NEW.id}), lost=frozenset({BAD.id}))
    assert told.startswith(f"2 of 3 tests fail: {BAD.id}")
    assert f": {NEW.id}." in told and "before your" in told


@pytest.mark.parametrize(
    ("file", "test"), [("test_a.py", "test_a.py::test_a"), ("test_a", "test_a.TestA.test_a")]
)
def test_a_file_that_no_longer_loads_is_not_new(file: str, test: str) -> None:
    told = letter(
        CaseResult(file, "error", "ImportError: no x"), bad=frozenset({file}), lost=frozenset({test})
    )
    assert "ImportError: no x" in told and "enables" not in told


def test_tests_that_a_silent_end_lost_are_named_with_it() -> None:
    ended = SuiteReport(Ran("run tests", 0, "", 3.0), problem="it ended without a test report")
    told = write_regressions(ended, Comparison(lost=frozenset({GOOD.id})), [GOOD.id], [])
    assert ended.problem in told and GOOD.id in told


CASES = st.builds(
    CaseResult, st.text(max_size=30), st.sampled_from(["passed", "failed", "error"]), st.text(max_size=300)
)


@given(st.lists(CASES, max_size=6), st.text(max_size=500), st.integers(300, 2_000), st.booleans())
def test_a_letter_keeps_its_limit(cases: list[CaseResult], output: str, chars: int, built: bool) -> None:
    told = explain_report(report(*cases, output=output, built=built), chars)
    assert told and len(told) <= chars


def test_a_letter_names_a_long_command_by_what_runs_the_tests() -> None:
    line = "cmake -S . -B build -DCMAKE_BUILD_TYPE=Debug && cmake --build build && cmake -E chdir build ctest"
    told = write_exit(SuiteReport(Ran(line, 8, "boom", 1.0)))
    assert "`ctest` (exit code 8) passed this before your change" in told and "cmake" not in told


def test_cases_of_a_table_are_one_name() -> None:
    many = [*(f"t.py::test_a[{each}-x]" for each in range(9)), "t.py::test_b[1]", "t.py::test_c"]
    assert names(many) == "t.py::test_a (9 cases), t.py::test_b[1], t.py::test_c"
    assert names([*(f"t.py::{each}" for each in "abcdefgh"), *many[:3]]).endswith("t.py::h and 3 more")
    assert names(["a/[id]/b.test.ts::one", "a/[id]/b.test.ts::two"]).count("::") == 2
