"""The gates of a build, asked in their order: the first no wins."""

import math
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Final

from kith.agent.verdicts import told
from kith.core.evidence import CheckEvidence, Evidence, Names, combine
from kith.core.run import Gate, Run
from kith.core.values import Changes, Verdict
from kith.edits.rows import changed_lines
from kith.features.build.gates import command_gate, secrets_gate, size_gate
from kith.features.build.suite import GATE, SuiteStanding, excuse_flaky, hold, run_tests
from kith.features.build.work import Work, alone, beside, between
from kith.gates.evidence.check_runs import standing_of
from kith.gates.limits import limits_gate
from kith.gates.linters import lint_gate, types_gate
from kith.gates.reports import Coverage, SuiteReport
from kith.gates.soundness import soundness_gate
from kith.gates.toolchain import Toolchain
from kith.gates.untouched import find_unlocked, is_test_file, untouched_gate

# The gate for coverage: enough of the code, and of what the change wrote, is run by the tests.


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
            return Verdict(True, f"Coverage was not measured: {why}.", "coverage")
        whole = report.coverage.share
        uncovered, own = _own_lines(report.coverage, changes)
        figures = {"coverage": whole, "changed": own} | ({} if before is None else {"before": before})
        fault = _fault(whole, own, threshold / 100, before)
        text = _letter(fault, uncovered) if fault else ""
        return Verdict(not fault, text, "coverage", figures=figures)

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


# The gates of a build, asked in their order: the first no wins.


# What is there for the model and not for the tests.
_MISSES: Final = re.compile(r"No module named|cannot import name|No such file|not found", re.I)
_REWRITTEN: Final = "While the tests ran, your code changed {}: code may not touch its own tests."
_IGNORED: Final = "The tests run on your change alone: files that git ignores are not part of it."


async def judge_task(work: Work) -> tuple[Verdict, SuiteStanding | None]:
    """Judge the present task by all gates; also return the state of its tests, if they ran."""
    since = await work.changes_at(work.build.piece.specified)
    base = await work.changes_at(work.build.piece.base)
    now = await work.changes()
    untouched = await _ask(work, untouched_gate(work.build.locked_files, since), now)
    if not untouched.ok:
        return untouched, None
    async with beside(work, now) as fresh:
        verdict, standing = await _ask_tests(fresh)
    if not verdict.ok:
        return verdict, standing
    own = _own(work, between(base, now))
    return await _ask_all(work, [size_gate(work.options.max_files, work.options.max_lines)], own), standing


async def judge_whole(work: Work) -> Verdict:
    """Judge the whole change by all gates, including coverage, in a trial of its own."""
    async with alone(work, await work.changes()) as fresh:
        return await _judge_whole(fresh)


async def _judge_whole(work: Work) -> Verdict:
    now = await work.changes()
    untouched = await _ask(work, untouched_gate(work.build.locked_files, now), now)
    if not untouched.ok:
        return untouched
    verdict, standing = await _ask_tests(work, coverage=await measures(work))
    if not verdict.ok or standing is None:
        return verdict
    own = _own(work, now)
    work.tools.uncovered = _own_lines(standing.report.coverage, own)[0] if standing.report.coverage else {}
    return await _ask_all(work, list(_coverage(work, standing)), own)


async def judge_kept(work: Work) -> Verdict:
    """Judge the part that a person kept: they may have left tests out."""
    kept = await work.trial.changes()
    async with alone(work, kept) as fresh:
        verdict, _ = await _ask_tests(fresh)
        return await _ask_all(fresh, [], kept) if verdict.ok else verdict


async def _ask_tests(work: Work, coverage: bool = False) -> tuple[Verdict, SuiteStanding | None]:
    build, toolchains = work.build, await work.toolchains()
    report = await run_tests(work.run, toolchains, work.options.suite, coverage=coverage)
    standing = hold(report, build.locks, build.baseline, build.before)
    standing = await excuse_flaky(work.run, toolchains, work.options.suite, standing)
    rewritten = await find_unlocked(work.run, build.locked_files) if standing.ok else []
    if rewritten:
        said = _REWRITTEN.format(", ".join(rewritten))
        return _tell(work, Verdict(False, said, GATE, (report.ran,))), None
    work.tools.evidence = evidence = _evidence(toolchains, standing)
    said = standing.letter()
    if _MISSES.search(said):
        said += f"\n\n{_IGNORED}"
    verdict = Verdict(standing.ok, said, GATE, (report.ran,), figures=standing.figures, evidence=evidence)
    return _tell(work, verdict), standing


def _evidence(toolchains: Sequence[Toolchain], standing: SuiteStanding) -> Evidence:
    """Convert a build's tests to evidence; they came with it, so they prove nothing about old code."""
    report, against = standing.report, {*standing.missing, *standing.broken}
    held = standing.ok and bool(report.passed)
    seen = CheckEvidence(
        " && ".join(each.test for each in toolchains),
        "held" if held else "unproven",
        "reached" if held else "broken" if against else "no_tests",
        after=standing_of(report),
        broken=Names.of(against),
        failing=Names.of({case.id for case in report.failed}.difference(against, standing.flaky)),
        flaky=Names.of(standing.flaky),
    )
    return combine([seen])


async def _ask_all(work: Work, gates: Sequence[Gate], changes: Changes) -> Verdict:
    """The gates that every change meets, with some more of the moment."""
    options, limits = work.options, work.options.suite
    linters = await work.linters()
    # Named by the person, they judge with the change's size; else the tests above are what they would run.
    named = (
        await work.judges.gates(changes)
        if work.judges.must_check
        else [limits_gate(options.sizes), soundness_gate()]
    )
    chosen = [
        *named,
        *gates,
        secrets_gate(),
        lint_gate(linters, limits, work.home),
        types_gate(linters, limits, work.home),
        *(command_gate(name, line, limits) for name, line in options.commands.items()),
    ]
    for gate in chosen:
        verdict = await _ask(work, gate, changes)
        if not verdict.ok:
            return verdict
    return Verdict(True, by="gates")


async def _ask(work: Work, gate: Gate, changes: Changes) -> Verdict:
    return _tell(work, await gate(work.run, changes))


def _tell(work: Work, verdict: Verdict) -> Verdict:
    work.tell(told(verdict, work.build.attempt))
    return verdict


def _own(work: Work, changes: Changes) -> Changes:
    """Leave out the locked tests: the author of the code cannot fix those."""
    return tuple(change for change in changes if change.path not in work.build.locked_files)


async def measures(work: Work) -> bool:
    """True if coverage is measured: a threshold needs it, or it costs no second build."""
    wanted = work.options.coverage
    return bool(wanted) if wanted is not None else not any(each.build for each in await work.toolchains())


def _coverage(work: Work, standing: SuiteStanding) -> Iterator[Gate]:
    threshold = work.options.coverage
    if not threshold:
        return

    async def measured(run: Run) -> SuiteReport:
        return standing.report

    before = work.build.before.figures.get("coverage") if work.build.before else None
    yield coverage_gate(measured, threshold, before)


def show_lines(numbers: frozenset[int]) -> str:
    """Line numbers as ranges: `3, 7-9`."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ", ".join(str(begin) if begin == end else f"{begin}-{end}" for begin, end in ranges)
