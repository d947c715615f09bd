"""What must pass, held against what did: by ids, by names, and by an exit code alone."""

import pytest

from kith.core.events import Judged, Locked
from kith.core.values import Ran
from kith.features.build.suite import cut_test, hold, is_of
from kith.gates.reports import CaseResult, SuiteReport

FAILED = Ran("pytest", 1, "", 0.1)
PASSED = Ran("pytest", 0, "", 0.1)
RED, GREEN = (Judged("tests", ok, 0, when="before") for ok in (False, True))


def report(*cases: str, ran: Ran | None = None) -> SuiteReport:
    """Cases by their ids; those that end with ! failed, with ? were skipped."""
    outcomes = {"!": "failed", "?": "skipped"}
    results = tuple(CaseResult(id.rstrip("!?"), outcomes.get(id[-1], "passed"), "no") for id in cases)  # type: ignore[arg-type]
    return SuiteReport(ran or (FAILED if any(id.endswith("!") for id in cases) else PASSED), results)


@pytest.mark.parametrize(
    ("id", "test"),
    [
        ("tests/test_a.py::test_x", "tests/test_a.py::test_x"),
        ("tests/test_a.py::TestX::test_x[1-a]", "tests/test_a.py::TestX::test_x"),
        ("tests.test_a.TestX.test_x", "tests/test_a.py::TestX::test_x"),
        ("test_a.TestX.test_x", "tests/test_a.py::TestX::test_x"),
        ("All/Primes.AreOdd/3", "Primes.AreOdd"),
    ],
)
def test_an_id_is_a_test_s(id: str, test: str) -> None:
    assert is_of(id, test)


@pytest.mark.parametrize(
    ("id", "test"),
    [
        ("tests/test_a.py::test_xy", "tests/test_a.py::test_x"),
        ("my_tests/test_a.py::test_x", "tests/test_a.py::test_x"),
        ("my/tests/test_a.py::test_x", "tests/test_a.py::test_x"),
        ("other_a.TestX.test_x", "tests/test_a.py::TestX::test_x"),
        ("Primes.AreOdder", "Primes.AreOdd"),
    ],
)
def test_an_id_is_another_test_s(id: str, test: str) -> None:
    assert not is_of(id, test)


def test_locked_tests_must_pass_and_what_passed_before_must_pass_still() -> None:
    baseline = Locked("", tests=("old", "gone"))
    standing = hold(report("old!", "new!", "ill!"), [Locked("1", tests=("new",))], baseline, RED)
    assert not standing.ok
    assert (standing.missing, standing.broken) == (("new",), ("gone", "old"))
    assert standing.figures["wanted"] == 1 and standing.figures["reached"] == 0
    assert "ill" not in standing.letter().split("These passed")[0]
    assert "These passed before your change: gone, old." in standing.letter()


def test_what_failed_before_may_fail_still() -> None:
    locked = [Locked("1", tests=("new",))]
    assert hold(report("old", "new", "ill!"), locked, Locked("", tests=("old",)), RED).ok
    assert not hold(report("old", "new", "ill!"), locked, Locked("", tests=("old",)), GREEN).ok


def test_a_locked_test_that_did_not_run_is_named() -> None:
    standing = hold(report("old"), [Locked("1", tests=("new",))], None, GREEN)
    assert not standing.ok and "These tests must pass and did not run: new." in standing.letter()


def test_a_name_stands_for_all_its_cases() -> None:
    locked = [Locked("1", tests=("test_a.py::test_x",))]
    assert hold(report("test_a.py::test_x[1]", "test_a.py::test_x[2]?"), locked, None, GREEN).ok
    assert not hold(report("test_a.py::test_x[1]", "test_a.py::test_x[2]!"), locked, None, RED).ok
    assert not hold(report("test_a.py::test_x[1]?"), locked, None, GREEN).ok


def test_an_exit_code_decides_where_nothing_else_is_known() -> None:
    locked = [Locked("1", tests=("new",))]
    assert hold(report(ran=PASSED), locked, None, GREEN).ok
    assert not hold(report(ran=FAILED), locked, None, GREEN).ok


def test_one_test_is_cut_out_of_its_file() -> None:
    body = "    def test_x(self):\n        a = 1\n\n        assert a"
    python = f"class TestX:\n{body}\n\n    def test_y(self): ...\n"
    assert cut_test(python, "t.py::TestX::test_x") == body
    cpp = "TEST(Sum, Adds) {\n  EXPECT_EQ(3, 1 + 2);\n}\n\nTEST(Sum, Other) {}\n"
    assert cut_test(cpp, "Sum.Adds") == "TEST(Sum, Adds) {\n  EXPECT_EQ(3, 1 + 2);\n}"
    assert cut_test(cpp, "Sum.None") == ""
