"""Judge a change by the exit code and the output of a check that names no tests."""

from msgspec.structs import replace

from kith.core.evidence import CheckEvidence, Names
from kith.core.values import Verdict
from kith.gates.evidence.affected_tests import Reach
from kith.gates.evidence.changed_tests import mentions, run_by, without_tampering
from kith.gates.evidence.compare import fingerprint
from kith.gates.evidence.feedback import first_fault, write_count, write_exit, write_goal
from kith.gates.evidence.judge_timed_out import judge_out_of_time
from kith.gates.evidence.judged_change import JudgedChange, replace_grade
from kith.gates.evidence.printed_failures import find_blame, find_more_failures
from kith.gates.reports import SuiteReport
from kith.gates.results.missing_needs import why_blocked


async def judge_exit_code(judged: JudgedChange, after: SuiteReport, reach: Reach) -> Verdict:
    """Compare exit codes, and where both fail, what was printed."""
    was = judged.before.report.ran
    told = judged.told("unproven", "not_reached", after)
    if after.ran.timed_out:
        return judge_out_of_time(judged, told, after)
    if after.ran.code == 0:
        if verdict := await _judge_by_settings_alone(judged, told, after):
            return verdict
        if not was.code and (line := await _counts_more(judged, after)):
            return judged.no(replace_grade(told, "unproven", "broken"), write_count(after, line), after)
        if was.code and (reach or judged.check.goal or await _fails_again(judged)):
            return judged.yes(replace_grade(told, "proven", "fixed"), after)
        # Fewer prove something where no test was edited: it may not be asked any more.
        fewer = not judged.edited and find_more_failures(after.ran.output, was.output)
        if fewer and (reach or await _counts_again(judged, after)):
            return judged.yes(replace_grade(told, "proven", "fixed"), after)
        return judged.yes(replace_grade(told, "held", "reached") if reach else told, after)
    if was.code == 0:
        if (await judged.run_again(judged.changes)).ok:
            return judged.yes(replace(told, flaky=Names.of([judged.command])), after)
        return await judge_worse(judged, told, after)
    print_now = fingerprint(after.ran.output)
    if print_now != fingerprint(was.output) and find_blame(was.output, after.ran.output, judged.changes):
        return await judge_worse(judged, told, after)
    if missing := why_blocked(judged.before.toolchain, was, ()):
        told = replace(told, missing=(missing,))  # no model can mend that
    elif judged.check.goal and judged.claims.tries == "more":
        return judged.no(replace_grade(told, "unproven", "unmet"), write_goal(after), after)
    return judged.yes(replace_grade(told, "unproven", "same_failure"), after, first_fault(after))


async def _judge_by_settings_alone(
    judged: JudgedChange, told: CheckEvidence, after: SuiteReport
) -> Verdict | None:
    """The verdict on a command that succeeds only because of what the change does to it."""
    if not (settings := _unasked_settings(judged)):
        return None
    stripped = without_tampering(judged.changes, settings)
    report = await judged.run_with(stripped) if stripped else None
    if report and report.ran.code and not judged.before.report.ran.code:
        return judged.no(replace_grade(told, "unproven", "broken"), write_exit(report), report)
    if report is None or report.ran.code:
        return judged.yes(replace_grade(told, "unproven", "settings"), after)
    return None


async def _fails_again(judged: JudgedChange) -> bool:
    """True if the untouched tree fails once more: not every language tells which tests reach a change."""
    return not (await judged.run_again(())).ok


async def _counts_more(judged: JudgedChange, after: SuiteReport) -> str:
    """The line by which the output counts more failures than before, also when it runs again."""
    was = judged.before.report.ran.output
    line = find_more_failures(was, after.ran.output)
    again = await judged.run_again(judged.changes) if line else after
    return find_more_failures(was, again.ran.output)


async def _counts_again(judged: JudgedChange, after: SuiteReport) -> bool:
    """True if the untouched tree counts more failures once more."""
    again = await judged.run_again(())
    return bool(find_more_failures(after.ran.output, again.ran.output))


async def judge_worse(judged: JudgedChange, told: CheckEvidence, after: SuiteReport) -> Verdict:
    """The change's fault, or that of a package that nobody installed."""
    if missing := (await judged.required()).lacks(after.ran.output):
        told = replace(told, missing=(missing,))
        return judged.yes(replace_grade(told, "unproven", "uninstalled"), after, first_fault(after))
    return judged.no(replace_grade(told, "unproven", "broken"), write_exit(after), after)


def _unasked_settings(judged: JudgedChange) -> list[str]:
    """Files by which the change alters what is run, though the request does not speak of them."""
    altered = run_by(judged.command, judged.changes) | {*judged.tampering.settings}
    return sorted(path for path in altered if not mentions(judged.claims.request, path.rpartition("/")[2]))
