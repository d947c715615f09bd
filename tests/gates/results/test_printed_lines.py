"""Tests that only the output names: each form is read, and ordinary words are none."""

import pytest

from kith.gates.reports import ProjectPaths
from kith.gates.results.printed_lines import read_printed

AUTOMAKE = """PASS: tests/one
XFAIL: tests/known
FAIL: tests/two.sh 3 - a part
SKIP: tests/three
ERROR: tests/four
============================================================================
Testsuite summary for a 1
============================================================================
# TOTAL: 5
"""
TAP = """TAP version 13
1..5
ok 1 - adds
not ok 2 - breaks
ok 3 - later # SKIP no disk
not ok 4 - wanted # TODO not yet
ok 5
"""
TAPE = """TAP version 13
# parses numbers
ok 1 should be equal
ok 2 should be equal
# keeps words
ok 3 should be equal
not ok 4 should be equal
  ---
    operator: equal
    expected: 'a'
  ...
# SKIP on Windows
# keeps words
ok 5 should be truthy

1..5
# tests 5
# pass  4
# fail  1
"""
BATS = """1..2
not ok 1 adds
# (in test file a.bats, line 3)
ok 2 takes away
"""
PROVE = """t/a.t ....... ok
t/sub/b.t ... Failed 1/3 subtests
t/c.t ....... skipped: no network
t/d.t ....... Dubious, test returned 2 (wstat 512, 0x200)
Result: FAIL
"""
MINITEST = """TestHalf#test_good = 0.00 s = .
TestHalf#test_bad = 0.01 s = F
Deep::TestOther#test_error = 0.00 s = E

3 runs, 3 assertions, 1 failures, 1 errors, 0 skips
"""


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (
            AUTOMAKE,
            {
                "tests/one": "passed",
                "tests/known": "passed",
                "tests/two.sh 3 - a part": "failed",
                "tests/three": "skipped",
                "tests/four": "error",
            },
        ),
        (TAP, {"adds": "passed", "breaks": "failed", "later": "skipped", "wanted": "passed", "5": "passed"}),
        (
            TAPE,
            {
                "parses numbers": "passed",
                "keeps words": "failed",
                "on Windows": "skipped",
                "keeps words (2)": "passed",
            },
        ),
        (BATS, {"adds": "failed", "takes away": "passed"}),
        (PROVE, {"t/a.t": "passed", "t/sub/b.t": "failed", "t/c.t": "skipped", "t/d.t": "failed"}),
        (
            MINITEST,
            {
                "TestHalf#test_good": "passed",
                "TestHalf#test_bad": "failed",
                "Deep::TestOther#test_error": "error",
            },
        ),
        # Programs that print one after the other: their tests are told apart.
        ("1..1\nok 1\n1..2\nnot ok 1\nok 2\n", {"1": "passed", "1 (2)": "failed", "2": "passed"}),
        ("t/a.t .. \nok 1 - one\nok\nResult: PASS\n", {}),
        (
            "t/a.t .. \nDubious, test returned 1\nt/b.t .. ok\nResult: FAIL\n",
            {"t/a.t": "failed", "t/b.t": "passed"},
        ),
        ("ok 1 - adds\nPASS: one\nall is ok\n", {}),
    ],
)
def test_each_form_is_read(output: str, expected: dict[str, str]) -> None:
    cases = read_printed(output, ProjectPaths("", frozenset()))
    assert {case.id: case.outcome for case in cases} == expected


def test_files_of_node_tap_have_a_time() -> None:
    inner = "    # Subtest: clean\n        ok 1 - clean(1) = 1\n        1..1\n    ok 1 - clean # time=4ms\n"
    told = f"TAP version 13\n# Subtest: test/a.js\n{inner}    1..1\nok 1 - test/a.js # time=31.4ms\n"
    told += "not ok 2 - test/b.js # time=2s\n1..2\n# failed 1 of 2 tests\n# time=2101.9ms\n"
    found = {case.id: case.outcome for case in read_printed(told, ProjectPaths("", frozenset()))}
    assert found == {"test/a.js": "passed", "test/b.js": "failed"}


def test_comments_of_tape_are_no_tests() -> None:
    told = TAPE.replace("ok 1", "# took 12 ms\nok 1").replace("ok 2", "# outer\n# keeps numbers\nok 2")
    found = [case.id for case in read_printed(told, ProjectPaths("", frozenset()))]
    assert found == ["parses numbers", "keeps numbers", "keeps words", "on Windows", "keeps words (2)"]


def test_tap_of_several_programs() -> None:
    found = read_printed(f"{TAPE}\n> tape b.js\n{TAPE}{TAP}", ProjectPaths("", frozenset()))
    assert len(found) == 4 + 4 + 5
    assert [case.id for case in found if case.outcome == "failed"] == [
        "keeps words",
        "keeps words (3)",
        "breaks",
    ]


def test_a_line_of_spaces_takes_no_time() -> None:
    output = f"1..1\nok 1{' ' * 100_000}#x\n"
    assert read_printed(output, ProjectPaths("", frozenset())) == ()


def test_what_follows_a_failure_tells_it() -> None:
    (failed,) = (
        case for case in read_printed(TAPE, ProjectPaths("", frozenset())) if case.outcome == "failed"
    )
    assert failed.message.splitlines()[0] == "should be equal" and "operator: equal" in failed.message
    (failed,) = (
        case for case in read_printed(BATS, ProjectPaths("", frozenset())) if case.outcome == "failed"
    )
    assert failed.message == "# (in test file a.bats, line 3)"
