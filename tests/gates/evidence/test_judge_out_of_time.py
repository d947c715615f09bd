"""A check that does not end in its time says nothing of a change; what ran before that still counts."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from gating import make_repository
from kith.core.evidence import Grade, Reason, Tries
from kith.core.run import Run
from kith.core.values import Answer, Change, Changes, Question, Ran, Verdict
from kith.core.workspace import ExecLimits
from kith.gates.evidence.changed_tests import Claims
from kith.gates.evidence.check_runs import Before, Bench
from kith.gates.evidence.judge import evidence_gate
from kith.gates.evidence.judged_change import Check
from kith.gates.reports import CaseResult, SuiteReport
from kith.gates.toolchain import Toolchain
from kith.trees.local import open_tree
from runners import RUNNERS

PYTEST = Toolchain("pytest", "Python", "", "python3 -m pytest -q", RUNNERS["pytest"])
FILES = {
    "lib.py": "def f(a):\n    return a + 1\n",
    "test_lib.py": "from lib import f\n\n\ndef test_f():\n    assert f(1) == 2\n",
    "test_far.py": "def test_far():\n    assert True\n",
}
CODE = (Change("lib.py", FILES["lib.py"].encode(), b"def f(a):\n    return 1 + a\n"),)
MORE = (Change("lib.py", FILES["lib.py"].encode(), b"def f(a):\n    return -(-1 - a)\n"),)
NEAR, FAR = "test_lib.py::test_f", "test_far.py::test_far"


class Recorded(Bench):
    """A bench whose runs are known: of the untouched tree, and of any change."""

    was: SuiteReport
    now: SuiteReport
    of_code: SuiteReport | None = None  # of the code alone, without what runs the tests

    async def before(self, run: Run, group: Sequence[Toolchain]) -> Before:
        return Before(group[0], self.was)

    async def after(
        self, run: Run, before: Before, changes: Changes, only: Sequence[str] = (), seconds: float = 0.0
    ) -> SuiteReport:
        if self.of_code and {change.path for change in changes} == {"lib.py"}:
            return self.of_code
        return self.now if changes else self.was

    async def again(self, run: Run, before: Before, changes: Changes, ids: Sequence[str]) -> SuiteReport:
        return self.now if changes else self.was


def report(
    passed: Iterable[str] = (), failed: Iterable[str] = (), late: bool = False, code: int = 0
) -> SuiteReport:
    cases = (*(CaseResult(id, "passed") for id in passed), *(CaseResult(id, "failed", "no") for id in failed))
    seconds = 62.0 if late else 1.0
    return SuiteReport(Ran("run", 124 if late else code, "", seconds, timed_out=late), cases)


GREEN = report([NEAR, FAR])
LATE = report(late=True)


async def _nobody(question: Question) -> Answer:
    raise AssertionError(question.text)


def judge(
    tmp_path: Path,
    was: SuiteReport,
    now: SuiteReport,
    *changes: Changes,
    tries: Tries = "more",
    goal: bool = False,
    of_code: SuiteReport | None = None,
) -> list[Verdict]:
    """The verdict on each change in turn, of one task."""
    root = make_repository(tmp_path / "project", FILES)
    run = Run(lambda event, path: None, _nobody, open_tree(root, tmp_path / "state", tmp_path / "cache"))
    bench = Recorded(run.workspace, ExecLimits(1.0))
    bench.was, bench.now, bench.of_code = was, now, of_code
    gate = evidence_gate(bench, Check((PYTEST,), goal=goal, found=not goal), Claims("f()", tries=tries))

    async def all_of_them() -> list[Verdict]:
        return [await gate(run, each) for each in changes or [CODE]]

    return asyncio.run(all_of_them())


def told(verdict: Verdict) -> tuple[bool, Grade, Reason]:
    assert verdict.evidence is not None
    return verdict.ok, verdict.evidence.grade, verdict.evidence.reason


def test_the_model_hears_of_each_change_once(tmp_path: Path) -> None:
    first, again, other, both = judge(tmp_path, GREEN, LATE, CODE, CODE, MORE, CODE)
    assert told(first) == told(other) == (False, "unproven", "out_of_time")
    assert told(again) == told(both) == (True, "unproven", "out_of_time")
    assert "ended in 1 s before your change, and was stopped after 62 s" in first.feedback
    assert again.evidence is not None and again.evidence.held_back
    assert again.evidence.checks[0].not_run.first == (FAR, NEAR)


@pytest.mark.parametrize(("was", "tries"), [(GREEN, "none"), (LATE, "more"), (report(code=1), "none")])
def test_the_person_decides_where_the_model_cannot_help(
    was: SuiteReport, tries: Tries, tmp_path: Path
) -> None:
    assert [told(each) for each in judge(tmp_path, was, LATE, tries=tries)] == [
        (True, "unproven", "out_of_time")
    ]


@pytest.mark.parametrize("code", [0, 1])
def test_an_exit_code_alone_never_blames_a_late_check(code: int, tmp_path: Path) -> None:
    (first,) = judge(tmp_path, report(code=code), LATE)
    assert told(first) == (False, "unproven", "out_of_time")


def test_a_named_check_that_is_late_is_not_missed(tmp_path: Path) -> None:
    first, again = judge(tmp_path, GREEN, report([NEAR], late=True), CODE, CODE, goal=True)
    assert told(first)[2] == told(again)[2] == "out_of_time"


@pytest.mark.parametrize(
    ("was", "now", "end"),
    [
        (GREEN, report([NEAR], late=True), (False, "unproven", "out_of_time")),  # it may be why FAR hung
        (report([FAR], [NEAR]), report([NEAR], late=True), (False, "unproven", "out_of_time")),
        (GREEN, report([FAR], late=True), (False, "unproven", "out_of_time")),
        (GREEN, report([FAR], [NEAR], late=True), (False, "unproven", "broken")),
        (report([NEAR, FAR], late=True), report([NEAR], late=True), (True, "unproven", "out_of_time")),
    ],
)
def test_what_ran_before_the_limit_counts(
    was: SuiteReport, now: SuiteReport, end: tuple[bool, Grade, Reason], tmp_path: Path
) -> None:
    (verdict,) = judge(tmp_path, was, now)
    assert told(verdict) == end
    assert verdict.evidence is not None
    assert set(verdict.evidence.checks[0].not_run.first) == was.by_id.keys() - now.by_id.keys()


def test_what_is_blocked_says_nothing_of_what_was_not_run(tmp_path: Path) -> None:
    blocked = CaseResult(NEAR, "error", "No module named 'numpy'", "ModuleNotFoundError")
    was = replace(GREEN, cases=(blocked, CaseResult(FAR, "passed")))
    (verdict,) = judge(tmp_path, was, replace(LATE, cases=(blocked,)), tries="none")
    assert told(verdict) == (True, "unproven", "out_of_time")


def test_settings_that_hide_an_endless_loop_do_not_pass(tmp_path: Path) -> None:
    patch = Change("conftest.py", None, b"import lib\n\nlib.f = lambda a: a + 1\n")
    (verdict,) = judge(tmp_path, GREEN, GREEN, (*CODE, patch), of_code=report([FAR], late=True))
    assert told(verdict) == (False, "unproven", "broken")
