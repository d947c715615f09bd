"""What a model is told of the checks before its change, and of their results."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from kith.agent.judges import Judges, Stands
from kith.agent.task_prompt import ToldChecks, word_stands
from kith.core.evidence import Tries
from kith.core.run import Gate
from kith.core.values import Ran
from kith.gates.evidence.check_runs import Before
from kith.gates.reports import CaseResult, SuiteReport
from kith.gates.toolchain import Toolchain
from runners import RUNNERS

PYTEST = Toolchain("pytest", "Python", "", "python3 -m pytest -q", RUNNERS["pytest"])
UNITTEST = Toolchain("unittest", "Python", "", "python3 -m unittest", RUNNERS["unittest"])
MAKE = Toolchain("make", "", "", "make check")
GOOD = CaseResult("tests/test_a.py::test_a", "passed")
BAD = CaseResult("tests/test_a.py::test_b", "failed")
UNLOADED = CaseResult("tests/test_c.py", "error")
CHECKS = "kith checks your whole change with `python3 -m pytest -q` when you end."


async def nothing(claimed: Sequence[str] = (), tries: Tries = "none") -> Sequence[Gate]:
    return ()


async def unused(*args: object) -> Any:
    raise AssertionError(args)


def ended(toolchain: Toolchain, *cases: CaseResult, code: int = 0) -> Stands:
    return Stands(toolchain, Before(toolchain, SuiteReport(Ran("", code, "", 1.0), cases)))


@pytest.mark.parametrize(
    ("stands", "words"),
    [
        (Stands(PYTEST), f"{CHECKS} It runs on the unchanged files now; the result follows."),
        (ended(PYTEST, GOOD), f"{CHECKS} Before it: 1 test passes."),
        (ended(PYTEST, GOOD, BAD), f"{CHECKS} Before it: 1 test passes, 1 fail (not yours)."),
        # Without the option pytest would run no test at all.
        (
            ended(PYTEST, GOOD, UNLOADED),
            "kith checks your whole change with `python3 -m pytest -q --continue-on-collection-errors`"
            " when you end. Before it: 1 test passes, 1 fail (not yours).",
        ),
        (ended(MAKE), "kith checks your whole change with `make check` when you end. Before it: succeeds."),
        (
            ended(MAKE, code=2),
            "kith checks your whole change with `make check` when you end."
            " Before it: fails with exit code 2 (not yours).",
        ),
    ],
)
def test_a_check_and_its_result(stands: Stands, words: str) -> None:
    assert word_stands(stands) == words


@pytest.mark.parametrize(
    ("later", "words"),
    [
        (
            ended(PYTEST, GOOD, BAD),
            "Before your change `python3 -m pytest -q`: 1 test passes, 1 fail (not yours).",
        ),
        # Another command served better: the first one named is not what checks the change.
        (
            ended(UNITTEST, GOOD),
            "kith checks your whole change with `python3 -m unittest` when you end."
            " Before it: 1 test passes.",
        ),
    ],
)
def test_the_result_follows_once(later: Stands, words: str) -> None:
    now = [Stands(PYTEST)]

    async def stands() -> Sequence[Stands]:
        return now

    async def story() -> list[str]:
        told = ToldChecks(Judges(nothing, unused, unused, unused, stands=stands))
        first = await told.first_words()
        early = await told.news()
        now[:] = [later]
        return [first, early, await told.news(), await told.news()]

    first, *later_ones = asyncio.run(story())
    assert first.startswith(CHECKS) and later_ones == ["", words, ""]
