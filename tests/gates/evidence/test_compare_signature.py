"""Signatures of failures: the same failure is known again, another one is told apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.gates.evidence.compare import error_of, fingerprint, signature_of, stage_of, steady
from kith.gates.reports import CaseResult


def failed(message: str, error: str = "", frames: tuple[str, ...] = (), path: str = "a.py") -> CaseResult:
    return CaseResult("test_a.py::test_a", "failed", message, path, 3, frames, error=error)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("<A object at 0x7fda79f379c0> is not 3", "<A object at 0x7f1e8943ba60> is not 3"),
        ("took 1.23 s", "took 0.8 s"),
        ("no file /tmp/pytest-of-a/pytest-1/x.txt", "no file /tmp/pytest-of-b/pytest-22/x.txt"),
        ("key 6f1ed002ab5595859014ebf0951522d9", "key 0cc175b9c0f1b6a831c399e269772661"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-0000-0000-0000-000000000000"),
        ("2026-11-22 10:11:12,345", "2025-01-02 03:04:05,006"),
    ],
)
def test_what_varies_from_run_to_run_does_not_count(first: str, second: str) -> None:
    assert steady(first) == steady(second)
    assert signature_of(failed(first)) == signature_of(failed(second))


def test_line_numbers_do_not_count_and_functions_do() -> None:
    first, moved = (failed("x", frames=(f"a.py:{line} in f",)) for line in (3, 30))
    assert signature_of(first) == signature_of(moved)
    assert signature_of(first) != signature_of(failed("x", frames=("a.py:3 in g",)))


@pytest.mark.parametrize(
    ("case", "error", "stage"),
    [
        (failed("ImportError: no a"), "ImportError", 0),
        (failed("E   requests.exceptions.ConnectionError: x"), "ConnectionError", 1),
        (failed("assert 1 == 2"), "AssertionError", 2),
        (failed("x", "package.errors.ParseError"), "ParseError", 1),
        (failed("Expected equality of these values", "failure"), "failure", 2),
        (CaseResult("test_a.py", "error", "something"), "", 0),
        (CaseResult("test_a.py::a", "error", "OSError: fixture"), "OSError", 1),
    ],
)
def test_how_far_a_test_got(case: CaseResult, error: str, stage: int) -> None:
    assert (error_of(case), stage_of(case)) == (error, stage)


@given(st.lists(st.sampled_from(["a.c:1: error: x", "failed: y", "ok 1", "12 passed in 3 s"]), min_size=1))
def test_the_order_of_lines_does_not_count(lines: list[str]) -> None:
    assert fingerprint("\n".join(lines)) == fingerprint("\n".join(reversed(lines)))


def test_only_lines_of_trouble_count_where_there_are_any() -> None:
    assert fingerprint("compiling a\nerror: x") == fingerprint("compiling b\nerror: x")
    assert fingerprint("error: x") != fingerprint("error: y")
    assert fingerprint("one") != fingerprint("two")


@given(st.text(max_size=200))
def test_steady_text_stays_as_it_is(text: str) -> None:
    assert steady(steady(text)) == steady(text)
