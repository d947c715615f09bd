"""Judge a change whose check ran out of time: only what failed in it is certain."""

from msgspec.structs import replace

from kith.core.evidence import CheckEvidence, Names, combine
from kith.core.values import Verdict
from kith.gates.evidence.affected_tests import Reach
from kith.gates.evidence.check_runs import standing_of
from kith.gates.evidence.feedback import write_late
from kith.gates.evidence.judge_tests import judge_tests
from kith.gates.evidence.judged_change import JudgedChange, replace_grade
from kith.gates.reports import SuiteReport


async def judge_timed_out(judged: JudgedChange, after: SuiteReport, reach: Reach) -> Verdict:
    """A run that was stopped, perhaps because of the change: only what failed in it is certain."""
    was = judged.before.report
    left = frozenset(was.by_id.keys() - after.by_id.keys())
    if not after.cases:
        told = replace(judged.told("unproven", "out_of_time", after), not_run=Names.of(left))
        return judge_out_of_time(judged, told, after)
    kept = replace(was, cases=tuple(case for case in was.cases if case.id not in left))
    judged = replace(judged, before=replace(judged.before, report=kept))
    verdict = await judge_tests(judged, after, reach)
    assert verdict.evidence is not None
    told = replace(verdict.evidence.checks[0], before=standing_of(was), not_run=Names.of(left))
    certain = told.grade == "unproven" and told.reason not in ("not_reached", "failing", "blocked", "unmet")
    if certain or (told.reason == "unmet" and after.failed):
        return replace(verdict, evidence=combine([told]))
    return judge_out_of_time(judged, told, after)


def judge_out_of_time(judged: JudgedChange, told: CheckEvidence, after: SuiteReport) -> Verdict:
    """Nothing is known of the change: the model hears of it once, then it waits for a person."""
    told, was = replace_grade(told, "unproven", "out_of_time"), judged.before.report
    if not was.ran.timed_out and judged.claims.tries == "more" and judged.bench.is_new(judged.changes):
        return judged.no(told, write_late(after, was), after)
    return judged.yes(told, after)


async def before_affected(judged: JudgedChange, reach: Reach) -> JudgedChange | None:
    """The same change on the affected tests alone, where all of them take longer than there is time for."""
    affected = judged.affected(reach)
    if not affected or not judged.before.report.ran.timed_out:
        return None
    report = await judged.run_with((), only=affected)
    return replace(judged, before=replace(judged.before, report=report)) if report.cases else None
