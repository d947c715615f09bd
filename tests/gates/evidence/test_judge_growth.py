"""The judge's work grows with the number of tests, and not with its square."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gating import make_repository
from kith.core.run import Run
from kith.core.values import Answer, Change, Changes, Question, Ran, Verdict
from kith.core.workspace import ExecLimits
from kith.gates.evidence.changed_tests import Claims
from kith.gates.evidence.check_runs import Before, Bench
from kith.gates.evidence.judge import evidence_gate
from kith.gates.evidence.judged_change import Check
from kith.gates.reports import CaseResult, Outcome, SuiteReport
from kith.gates.toolchain import Toolchain
from kith.trees.local import open_tree
from runners import RUNNERS

PYTEST = Toolchain("pytest", "Python", "", "python3 -m pytest -q", RUNNERS["pytest"])
LIB = "def f(a):\n    return a + 1\n"
CODE = Change("lib.py", LIB.encode(), f"import nowhere\n\n\n{LIB}".encode())
IN_ONE_FILE = 10
Told = tuple[SuiteReport, Changes]


class Recorded(Bench):
    """A bench whose runs are known: of the untouched tree, of a change, and without its edits of tests."""

    def __init__(self, run: Run, was: SuiteReport, now: SuiteReport, unedited: SuiteReport) -> None:
        super().__init__(run.workspace, ExecLimits(1.0))
        self._was, self._now, self._unedited = was, now, unedited

    async def before(self, run: Run, group: Sequence[Toolchain]) -> Before:
        return Before(PYTEST, self._was)

    async def after(
        self, run: Run, before: Before, changes: Changes, only: Sequence[str] = (), seconds: float = 0.0
    ) -> SuiteReport:
        return self._unedited if only else self._now

    async def again(self, run: Run, before: Before, changes: Changes, ids: Sequence[str]) -> SuiteReport:
        return self._now if changes else self._was


def files(number: int) -> dict[str, str]:
    """So many tests that resemble each other."""
    return {
        f"tests/test_{first}.py": "from lib import f\n"
        + "".join(
            f"\n\ndef test_{at}():\n    assert f({at}) == {at + 1}\n    assert f({at}) is not None\n"
            for at in range(first, first + IN_ONE_FILE)
        )
        for first in range(0, number, IN_ONE_FILE)
    }


def ids(tests: dict[str, str]) -> list[str]:
    lines = ((path, line) for path, text in tests.items() for line in text.splitlines())
    return [f"{path}::{line[4:-3]}" for path, line in lines if line.startswith("def ")]


def report(names: Sequence[str], outcome: Outcome = "passed", message: str = "") -> SuiteReport:
    cases = tuple(CaseResult(name, outcome, message) for name in names)
    return SuiteReport(Ran("run", int(outcome != "passed"), "", 1.0), cases)


def edit(tests: dict[str, str], old: str, new: str) -> Changes:
    """The change of the code, with an edit of each test."""
    return CODE, *(
        Change(path, text.encode(), text.replace(old, new).encode()) for path, text in tests.items()
    )


def lose_all(tests: dict[str, str]) -> Told:
    """No file of tests can be loaded any more, and each was edited."""
    return report([*tests], "error", "ImportError: no nowhere"), edit(tests, "f(", "g(")


def rename_all(tests: dict[str, str]) -> Told:
    return report([name.replace("::test", "::test_new") for name in ids(tests)]), edit(
        tests, "def test", "def test_new"
    )


def adapt_all(tests: dict[str, str]) -> Told:
    return report(ids(tests)), edit(tests, "f(", "g(")


def fail_all(tests: dict[str, str]) -> Told:
    return report(ids(tests), "failed", "assert 1 == 2"), (CODE,)


async def _nobody(question: Question) -> Answer:
    raise AssertionError(question.text)


def judge(number: int, end: Callable[[dict[str, str]], Told], root: Path) -> tuple[int, Verdict]:
    """The calls of functions that a verdict on so many tests takes, and the verdict."""
    tests = files(number)
    now, changes = end(tests)
    run = Run(
        lambda event, path: None, _nobody, open_tree(root, root.parent / "state", root.parent / "cache")
    )
    bench = Recorded(run, report(ids(tests)), now, report(ids(tests), "failed", "assert 1 == 2"))
    gate = evidence_gate(bench, Check((PYTEST,), found=True), Claims("make f() quicker"))
    calls = 0

    def count(frame: object, event: str, what: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    async def decide() -> Verdict:
        sys.setprofile(count)
        try:
            return await gate(run, changes)
        finally:
            sys.setprofile(None)

    verdict = asyncio.run(decide())
    return calls, verdict


@pytest.mark.parametrize("end", [lose_all, rename_all, adapt_all, fail_all])
def test_twice_the_tests_take_twice_the_work(end: Callable[[dict[str, str]], Told], tmp_path: Path) -> None:
    root = make_repository(tmp_path / "project", {"lib.py": LIB})
    judge(10, end, root)  # what is loaded once
    (few, _), (many, verdict) = (judge(number, end, root) for number in (40, 80))
    assert many < 2.4 * few, f"{few} calls, then {many}"
    assert verdict.ok is (end in (rename_all, adapt_all))
