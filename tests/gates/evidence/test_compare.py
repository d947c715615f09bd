"""Two runs held against each other: what each pair of outcomes says of a change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.values import Change, Ran
from kith.gates.evidence.compare import compare, find_callers, is_in, removed_names, touched_names
from kith.gates.reports import CaseResult, Outcome, SuiteReport

CODE = b"def f():\n    return 1\n\n\ndef g():\n    return 2\n"
IN_F = Change("a.py", CODE, CODE.replace(b"1", b"3"))
OUTCOMES: tuple[Outcome, ...] = ("passed", "failed", "error", "skipped")


def report(*cases: CaseResult) -> SuiteReport:
    return SuiteReport(Ran("run", 0, "", 1.0), cases)


def one(outcome: Outcome, message: str = "assert 1 == 2", line: int = 0, path: str = "") -> CaseResult:
    return CaseResult("t.py::t", outcome, message, path, line, (f"{path}:{line} in f",) if path else ())


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("passed", "passed", ""),
        ("passed", "failed", "lost"),
        ("passed", "error", "lost"),
        ("passed", "skipped", "lost"),
        ("passed", None, "lost"),
        ("failed", "passed", "fixed"),
        ("error", "passed", "fixed"),
        ("failed", "failed", "failing"),
        ("failed", "skipped", ""),
        ("failed", None, ""),
        ("skipped", "passed", ""),
        ("skipped", "failed", "bad"),
        ("skipped", None, ""),
        (None, "passed", "added"),
        (None, "failed", "bad"),
        (None, "skipped", ""),
    ],
)
def test_each_pair_of_outcomes(before: Outcome | None, after: Outcome | None, kind: str) -> None:
    sides = [report(*([one(side)] if side else [])) for side in (before, after)]
    found = compare(sides[0], sides[1], ())
    kinds = ("fixed", "failing", "lost", "worse", "added", "bad")
    assert [name for name in kinds if getattr(found, name)] == ([kind] if kind else [])


@pytest.mark.parametrize(
    ("now", "worse"),
    [
        (one("failed", "assert 1 == 3", 2, "a.py"), False),  # numbers do not count
        (one("failed", "TypeError: x", 2, "a.py"), True),
        (one("failed", "TypeError: x", 6, "a.py"), False),  # in the function that is not touched
        (one("failed", "TypeError: x", 2, "b.py"), False),
        (one("error", "ImportError: x", 2, "a.py"), True),
        (one("failed", "assert 'a' == 'b'", 2, "a.py"), True),
    ],
)
def test_another_failure_counts_only_where_the_change_is(now: CaseResult, worse: bool) -> None:
    found = compare(report(one("failed", "assert 1 == 2", 2, "a.py")), report(now), (IN_F,))
    assert bool(found.worse) is worse and bool(found.failing) is not worse


def test_progress_is_not_worse() -> None:
    before = report(one("error", "ImportError: no f", 2, "a.py"))
    assert not compare(before, report(one("failed", "assert 1 == 2", 2, "a.py")), (IN_F,)).broken
    frames = [("t.py:2 in t", "a.py:2 in f"), ("t.py:9 in t", "a.py:2 in f")]
    near, far = (
        CaseResult("t", "failed", f"{n}Error: x", "a.py", 2, f) for n, f in zip("AB", frames, strict=True)
    )
    assert not compare(report(near), report(far), (IN_F,)).broken
    assert compare(report(far), report(near), (IN_F,)).worse == {"t"}


def test_a_file_that_could_not_be_loaded() -> None:
    before = report(CaseResult("t.py", "error", "ImportError: no f"))
    after = report(CaseResult("t.py::a", "passed"), CaseResult("t.py::b", "failed", "assert 1"))
    found = compare(before, after, (IN_F,))
    assert (found.fixed, found.failing, found.broken) == ({"t.py::a"}, {"t.py::b"}, set())
    assert compare(before, after, (Change("t.py", b"", b"x"),)).bad == {"t.py::b"}


@given(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(OUTCOMES)))
def test_two_equal_runs_say_nothing(outcomes: dict[str, Outcome]) -> None:
    same = report(*(CaseResult(id, outcome, "assert 1") for id, outcome in outcomes.items()))
    found = compare(same, same, (IN_F,))
    assert not (found.broken or found.fixed or found.added)


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(OUTCOMES)),
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(OUTCOMES)),
)
def test_no_loss_is_missed(before: dict[str, Outcome], after: dict[str, Outcome]) -> None:
    sides = [report(*(CaseResult(id, how) for id, how in each.items())) for each in (before, after)]
    found = compare(sides[0], sides[1], ())
    lost = {id for id, how in before.items() if how == "passed" and after.get(id) != "passed"}
    assert found.lost == lost and not found.fixed & lost and not found.added & before.keys()


def test_touched_functions_by_their_lines() -> None:
    at_line = {line: is_in(one("failed", "x", line, "a.py"), {"a.py": IN_F}) for line in (2, 6)}
    assert at_line == {2: True, 6: False}
    broken = Change("a.py", CODE, b"def (\n")
    assert is_in(one("failed", "x", 6, "a.py"), {"a.py": broken})


def test_names_of_what_is_touched_and_of_what_is_gone() -> None:
    assert touched_names((IN_F,)) == {"f"}
    gone = Change("a.py", CODE, CODE.replace(b"def f():\n    return 1\n", b""))
    assert removed_names((gone,)) == {"f"}
    assert "area" in touched_names((Change("a.cpp", b"int area(int a) {}", b""),))


CALLERS = b"""
def f(): return g()
class C:
    def h(self): return self.k()
    def k(self): return f()
def other(x): return x.g()
def g(): return 1
"""


def test_callers_of_what_is_touched() -> None:
    change = Change("a.py", CALLERS, CALLERS.replace(b"1", b"2"))
    assert find_callers((change,), {"g"}) == {"f", "h", "k"}
