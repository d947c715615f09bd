"""Failures that a program counts itself: more of them are found, other numbers are not taken for them."""

import pytest

from kith.gates.evidence.printed_failures import find_more_failures


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("Tests failed: 0", "Tests failed: 1"),
        ("Passed: 9 Failed: 0", "Passed: 8 Failed: 1"),
        ("passed=9 failed=0", "passed=9 failed=1"),
        ("9 passed, 0 failed", "8 passed, 1 failed"),
        ("9 passed 0 failed", "8 passed 1 failed"),
        ("12 Tests 0 Failures 0 Ignored", "12 Tests 1 Failures 0 Ignored"),
        ("in total 9 failed 0", "in total 9 failed 2"),
        ("Failed 0 of 9", "Failed 1 of 9"),
        ("0 of 40 checks failed", "3 of 40 checks failed"),
        ("Ran 9 tests with 0 failures (1 s)", "Ran 9 tests with 1 failures (1 s)"),
        ("Passed 9 Failed 0 Skipped 2", "Passed 8 Failed 1 Skipped 2"),
        ("Failed tests:   0", "Failed tests:   2"),
        ("0/40 failed", "3/40 failed"),
        ("  0 failing", "  2 failing"),
        ("a: 1 failed\na: 0 failed", "a: 1 failed\na: 1 failed"),
    ],
)
def test_more_failures_are_found(before: str, now: str) -> None:
    assert find_more_failures(before, now) == " ".join(now.splitlines()[-1].split())
    assert not find_more_failures(now, before) and not find_more_failures(before, before)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("Passed: 9 Failed: 0", "Passed: 10 Failed: 0"),
        ("passed=9 failed=0", "passed=10 failed=0"),
        ("9 passed 0 failed", "10 passed 0 failed"),
        ("12 Tests 0 Failures 0 Ignored", "13 Tests 0 Failures 1 Ignored"),
        ("in total 9 failed 0", "in total 10 failed 0"),
        ("Passed 9 Failed 0 Skipped 2", "Passed 10 Failed 0 Skipped 3"),
        ("1/40 failed", "1/41 failed"),
        ("9 of 9 checks: 0 failed", "10 of 10 checks: 0 failed"),
        ("errors: 1.25 %", "errors: 2.50 %"),
        ("checks 3 failing inputs: ok", "checks 4 failing inputs: ok"),
        ("9 tests, 1 expected failures", "10 tests, 2 expected failures"),
        ("attempt 1 failed", "attempt 2 failed"),
        ("case 12 failed as it should", "case 13 failed as it should"),
    ],
)
def test_other_numbers_are_no_failures(before: str, now: str) -> None:
    assert not find_more_failures(before, now)
