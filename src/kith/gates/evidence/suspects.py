"""Tests that speak against a change run again, alone: one pass says that they are only flaky."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from kith.gates.reports import SuiteReport

_FEW: Final = 5  # suspects that are always run again; above that up to a tenth of the suite
_AGAIN: Final = 2  # times that a suspect runs alone

# Runs the named tests alone.
RunAlone = Callable[[Sequence[str]], Awaitable[SuiteReport]]


def may_be_flaky(suspects: int, tests: int) -> bool:
    """True if so few of so many tests fail that chance may have done it."""
    return 0 < suspects <= max(_FEW, tests // 10)


async def pass_alone(ids: Sequence[str], run: RunAlone) -> set[str]:
    """Those of the tests that pass at least once when they run alone."""
    passed, left = set[str](), list(ids)
    for _ in range(_AGAIN):
        report = await run(left)
        passed |= report.passed.intersection(left)
        left = [id for id in left if id not in passed]
        if not left or not report.cases:
            break
    return passed
