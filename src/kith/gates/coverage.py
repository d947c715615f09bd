"""The gate for coverage: enough of the code, and of what the change wrote, is run by the tests."""

import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from kith.core.run import Gate, Run
from kith.core.values import Changes, Verdict
from kith.edits.rows import changed_lines, show_lines
from kith.gates.reports import Coverage, SuiteReport
from kith.gates.untouched import is_test_file

# Runs all tests in the run's trial and says which lines they ran.
Measure = Callable[[Run], Awaitable[SuiteReport]]
_TOLD: Final = 20  # files in one letter


def coverage_gate(measure: Measure, threshold: float, before: float | None = None) -> Gate:
    """Refuses a change when under `threshold` percent of its own lines, or of all lines, are run by tests.

    `before`: the share of all lines, from 0 to 1, that the tests ran before the change. Where that was too
    low already, the whole is not this change's fault, as long as it does not fall. Tests are no part of the
    change's own lines. The figures are shares from 0 to 1. Skipped where nothing can be measured.
    """

    async def judge(run: Run, changes: Changes) -> Verdict:
        report = await measure(run)
        if report.coverage is None:
            why = report.unmeasured or report.problem or "the tests wrote no coverage report"
            return Verdict(True, f"Coverage was not measured: {why}.", "coverage", (report.ran,))
        whole = report.coverage.share
        uncovered, own = _own_lines(report.coverage, changes)
        figures = {"coverage": whole, "changed": own} | ({} if before is None else {"before": before})
        fault = _fault(whole, own, threshold / 100, before)
        text = _letter(fault, uncovered) if fault else ""
        return Verdict(not fault, text, "coverage", (report.ran,), figures=figures)

    return judge


def _own_lines(coverage: Coverage, changes: Changes) -> tuple[dict[str, frozenset[int]], float]:
    """The changed lines that no test ran, by file, and the share that some test did."""
    uncovered, ran = dict[str, frozenset[int]](), 0
    for change in changes:
        if is_test_file(change.path):
            continue
        lines = changed_lines(change)
        ran += len(lines & coverage.ran.get(change.path, frozenset()))
        if missed := lines & coverage.missed.get(change.path, frozenset()):
            uncovered[change.path] = missed
    count = sum(map(len, uncovered.values()))
    return uncovered, ran / (ran + count) if ran + count else 1.0


def _fault(whole: float, own: float, wanted: float, before: float | None) -> str:
    """Describe the coverage that is too low; "" when it is high enough."""
    if own < wanted:
        return f"the tests run {_percent(own)} of the lines that you wrote, and {_percent(wanted)} are wanted"
    if whole >= wanted or (before is not None and before < wanted and whole >= before):
        return ""
    fallen = f", {_percent(before)} before your change" if before is not None else ""
    return f"the tests run {_percent(whole)} of all lines{fallen}, and {_percent(wanted)} are wanted"


def _percent(share: float) -> str:
    """Rounded down, so that what is under a threshold never looks as if it had reached it."""
    return f"{math.floor(share * 1000 + 1e-9) / 10:g} %"


def _letter(fault: str, uncovered: Mapping[str, frozenset[int]]) -> str:
    largest = sorted(uncovered, key=lambda path: (-len(uncovered[path]), path))
    rows = [f"{path}: {show_lines(uncovered[path])}" for path in largest[:_TOLD]]
    if len(largest) > _TOLD:
        rows.append(f"and {len(largest) - _TOLD} more files")
    told = f" No test runs these lines:\n\n{chr(10).join(rows)}\n\n" if rows else " "
    return (
        f"Coverage is too low: {fault}.{told}Add tests that run what is missing, or remove code nobody needs."
    )
