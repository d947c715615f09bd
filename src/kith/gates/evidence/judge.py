"""The gate that matters most: a change is good when it loses nothing, and says how surely that was seen."""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from kith.core.evidence import Blocked, combine
from kith.core.run import Gate, Run
from kith.core.values import Change, Changes, Verdict
from kith.gates.evidence.affected_tests import Reach, read_reach, seconds_in, tests_in
from kith.gates.evidence.changed_tests import Claims, mentions
from kith.gates.evidence.check_runs import Bench
from kith.gates.evidence.compare import compare
from kith.gates.evidence.feedback import tell_blocked, write_goal
from kith.gates.evidence.judge_exit_code import judge_exit_code
from kith.gates.evidence.judge_tests import judge_tests
from kith.gates.evidence.judge_timed_out import before_affected, judge_timed_out
from kith.gates.evidence.judged_change import MISSING, Check, JudgedChange, replace_grade
from kith.gates.evidence.smoke import look_without_tests
from kith.gates.reports import SuiteReport, file_of, join_reports
from kith.gates.results.missing_needs import why_blocked
from kith.gates.runners.python import PYTEST


def evidence_gate(bench: Bench, check: Check, claims: Claims) -> Gate:
    """A gate that holds the untouched tree against the change alone."""

    async def judge(run: Run, changes: Changes) -> Verdict:
        before = await bench.before(run, check.group)
        return await _decide(JudgedChange(bench, check, claims, run, changes, before))

    return judge


async def _decide(judged: JudgedChange) -> Verdict:
    was = judged.before.report
    if not judged.changes:
        return _of_nothing(judged)
    missing = why_blocked(judged.before.toolchain, was.ran, was.cases)
    nothing_ran = bool(missing) or was.ran.code in (126, 127)
    without_tests = judged.check.found and bool(was.problem) and not was.passed
    if (judged.check.found and not was.passed and nothing_ran) or (
        # What ends well may still have built everything: that counts if it fails now.
        without_tests and not was.ok and not _tests_of_change(judged)
    ):
        return await _blocked(judged, missing)
    bench = judged.bench
    reach = await read_reach(bench.home, judged.changes, bench.sources, judged.is_test)
    reach = reach.inside(judged.before.toolchain, judged.changes)
    if (affected := await before_affected(judged, reach)) is not None:
        return await _judge_tests(
            affected, await affected.run_with(affected.changes, affected.affected(reach)), reach
        )
    after = await _after(judged, reach)
    if paths := _uncollected(judged, after):
        collected, more = await _collect(judged, paths, after)
        if more.cases:
            return await _judge_tests(collected, more, reach)
    if not was.cases and not after.cases:
        if without_tests and after.ok:
            return await _blocked(judged, missing)
        return await judge_exit_code(judged, after, reach)
    return await _judge_tests(judged, after, reach)


async def _judge_tests(judged: JudgedChange, after: SuiteReport, reach: Reach) -> Verdict:
    judge = judge_timed_out if after.ran.timed_out else judge_tests
    return await judge(judged, after, reach)


def _of_nothing(judged: JudgedChange) -> Verdict:
    """A named check where nothing was changed: it decides about the tree as it is."""
    report = judged.before.report
    told = judged.told("unproven", "not_reached", report)
    return judged.yes(told, report) if report.ok else judged.no(told, write_goal(report), report)


async def _blocked(judged: JudgedChange, missing: Blocked | None) -> Verdict:
    was = judged.before.report
    told = replace(judged.told("unproven", "blocked", None), missing=(missing,) if missing else ())
    own = tuple(each for each in judged.changes if judged.before.toolchain.holds(each.path))
    look = await look_without_tests(judged.bench.home, own)
    if look.letter:
        return Verdict(False, look.letter, judged.command, evidence=combine([told]))
    if look.missing:
        found = tuple(dict.fromkeys([*look.missing, *told.missing]))
        told = replace(replace_grade(told, "unproven", "uninstalled"), missing=found[:MISSING])
    text = tell_blocked(judged.command, told.missing, was.problem)
    return Verdict(True, text, judged.command, evidence=combine([told]))


async def _after(judged: JudgedChange, reach: Reach) -> SuiteReport:
    """All tests. Where that takes long, those that reach the change run first, then the others."""
    was = judged.before.report
    affected = judged.affected(reach) if was.ran.seconds > judged.bench.long_s else []
    if not affected or seconds_in(was, affected) > was.ran.seconds / 2:
        return await judged.run_with(judged.changes)
    first = await judged.run_with(judged.changes, only=affected)
    inside = tests_in(was.by_id, affected)
    mine = tuple(case for case in was.cases if case.id in inside)
    rest = tuple(case for case in was.cases if case.id not in inside)
    if first.ran.timed_out:
        return first
    if not first.cases:  # pytest loads more for files that are named, and that may fail
        return await judged.run_with(judged.changes)
    if compare(replace(was, cases=mine), first, judged.changes).broken:
        return replace(first, cases=(*first.cases, *rest))  # the others are taken to be as they were
    deleted = {change.path for change in judged.changes if change.after is None}
    others = sorted({file_of(case.id) for case in rest} - deleted)
    if judged.before.toolchain.runner is PYTEST and others:
        second = await judged.run_with(judged.changes, only=others)
        if second.cases or second.ran.timed_out:
            return join_reports(first, second)
    return await judged.run_with(judged.changes)


def _tests_of_change(judged: JudgedChange) -> tuple[Change, ...]:
    """The files of Python that the change leaves with tests in them."""
    if judged.before.toolchain.runner.direct is None:
        return ()
    request = judged.claims.request
    python = (each for each in judged.changes if each.after is not None and each.path.endswith(".py"))
    meant = (each for each in python if judged.is_test(each.path) or mentions(request, each.path))
    toolchain = judged.before.toolchain
    return tuple(
        each for each in meant if toolchain.holds(each.path) and judged.tests.parts(each.path, each.after)
    )


def _uncollected(judged: JudgedChange, after: SuiteReport) -> list[str]:
    """The files with tests of the change that the command did not collect."""
    if after.ran.timed_out:
        return []
    return [each.path for each in _tests_of_change(judged) if not tests_in(after.by_id, [each.path])]


async def _collect(
    judged: JudgedChange, paths: Sequence[str], after: SuiteReport
) -> tuple[JudgedChange, SuiteReport]:
    """The same case and report with these files, which are started by their paths.

    Where the request does not speak of tests they may be data: then only those that pass count.
    """
    start = judged.before.toolchain.runner.direct
    assert start is not None
    direct = replace(judged.before, toolchain=start(judged.before.toolchain, paths))
    now = await judged.bench.after(judged.run, direct, judged.changes)
    fresh = [case for case in now.cases if case.id not in after.by_id]
    if not re.search(r"\btests?\b", judged.claims.request, re.I) and not any(
        mentions(judged.claims.request, path) for path in paths
    ):
        fresh = [case for case in fresh if case.outcome == "passed"]
    was = judged.before.report
    if old := [each.path for each in judged.tests.files if each.path in paths]:
        then = replace(judged.before, toolchain=start(judged.before.toolchain, old))
        known = await judged.bench.after(judged.run, then, ())
        was = replace(was, cases=(*was.cases, *(case for case in known.cases if case.id not in was.by_id)))
    judged = replace(judged, before=replace(judged.before, report=was))
    return judged, replace(after, cases=(*after.cases, *fresh))
