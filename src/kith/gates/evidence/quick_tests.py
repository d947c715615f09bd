"""Run the tests that reach a change while its model still works on it, where that is quick."""

from collections.abc import Sequence
from typing import Final

from kith.core.run import Run
from kith.core.values import Changes
from kith.gates.evidence.affected_tests import affected_files, read_reach, seconds_in
from kith.gates.evidence.check_runs import Bench
from kith.gates.evidence.compare import compare
from kith.gates.reports import CaseResult
from kith.gates.results.uninstalled import find_uninstalled, read_required
from kith.gates.toolchain import Toolchain

_MOST_AGAIN: Final = 5  # failures that are run again, as they may be flaky


async def find_new_failures(
    bench: Bench, group: Sequence[Toolchain], run: Run, changes: Changes, seconds: float
) -> tuple[CaseResult, ...]:
    """The tests that fail because of the change; none where they would take longer than `seconds`.

    The whole suite runs where it is as quick as that, since its result also serves the judge. The checks of
    the untouched tree are not waited for.
    """
    before = bench.known(group)
    if before is None or not before.report.cases or before.report.ran.timed_out or not changes:
        return ()
    was = before.report
    only: Sequence[str] = ()
    if was.ran.seconds > seconds:
        only = affected_files(
            before.toolchain, was, await read_reach(bench.home, changes, bench.sources), changes
        )
        if not only or seconds_in(was, only) > seconds:
            return ()
    after = await bench.after(run, before, changes, only=only)
    broken = compare(was, after, changes).broken
    if broken:
        broken -= find_uninstalled(after, broken, await read_required(bench.home, changes)).keys()
    failed = tuple(case for case in after.failed if case.id in broken)
    if 0 < len(failed) <= _MOST_AGAIN:
        again = await bench.again(run, before, changes, [case.id for case in failed])
        failed = tuple(case for case in failed if case.id not in again.passed)
    return failed
