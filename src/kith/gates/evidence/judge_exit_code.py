"""Judge a change by the exit code and the output of a check that names no tests."""

from msgspec.structs import replace

from kith.core.evidence import NAMED, CheckEvidence, Names
from kith.core.values import Verdict
from kith.gates.evidence.affected_tests import Reach
from kith.gates.evidence.changed_tests import (
    find_altered,
    find_renames,
    mentions,
    run_by,
    without_tampering,
)
from kith.gates.evidence.compare import Comparison, fingerprint
from kith.gates.evidence.feedback import (
    first_fault,
    write_count,
    write_exit,
    write_goal,
    write_regressions,
    write_silent,
)
from kith.gates.evidence.inline_tests import text_of_tests
from kith.gates.evidence.judge_timed_out import judge_out_of_time
from kith.gates.evidence.judged_change import JudgedChange, replace_grade, words_of
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
        return await _judge_success(judged, told, after, reach)
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


async def _judge_success(
    judged: JudgedChange, told: CheckEvidence, after: SuiteReport, reach: Reach
) -> Verdict:
    """The verdict on a command that succeeds with the change: it may have been kept from testing."""
    was = judged.before.report.ran
    if judged.before.toolchain.runner.always_reports and after.problem and not judged.before.report.problem:
        return judged.no(replace_grade(told, "unproven", "broken"), write_silent(after), after)
    if verdict := await _judge_by_settings_alone(judged, told, after):
        return verdict
    if await _needs_edits(judged):
        return _judge_edits(judged, told, after, reach)
    if not was.code:
        if line := await _counts_more(judged, after):
            return judged.no(replace_grade(told, "unproven", "broken"), write_count(after, line), after)
    elif reach or judged.check.goal or await _fails_again(judged):
        return judged.yes(replace_grade(told, "proven", "fixed"), after)
    # Fewer prove something where no test was edited: it may not be asked any more.
    fewer = not judged.edited and find_more_failures(after.ran.output, was.output)
    if fewer and (reach or await _counts_again(judged, after)):
        return judged.yes(replace_grade(told, "proven", "fixed"), after)
    return judged.yes(replace_grade(told, "held", "reached") if reach else told, after)


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


async def _needs_edits(judged: JudgedChange) -> bool:
    """True if the command succeeds only with the change's edits of older tests."""
    if not judged.edited:
        return False
    stripped = without_tampering(judged.changes, judged.edited)
    report = await judged.run_with(stripped) if stripped else judged.before.report
    return not report.ok


def _judge_edits(judged: JudgedChange, told: CheckEvidence, after: SuiteReport, reach: Reach) -> Verdict:
    """The verdict on edits of tests without which the command fails: they prove nothing."""
    claims = judged.claims
    found = find_altered(judged.tests, find_renames(judged.code, claims.request))
    altered = frozenset(path for path in found if not _asked_for(judged, path))
    told = replace(told, adapted=Names.of({*judged.edited} - altered), broken=Names.of(altered))
    against = frozenset(path for path in altered if not claims.concede(path))
    if against:
        letter = write_regressions(after, Comparison(), (), against)
        return judged.no(replace_grade(told, "unproven", "broken"), letter, after)
    if altered:
        told = replace(told, claimed=claims.tests[:NAMED])
        return judged.yes(replace_grade(told, "unproven", "disputed"), after)
    return judged.yes(replace_grade(told, "held", "reached") if reach else told, after)


def _asked_for(judged: JudgedChange, path: str) -> bool:
    """True if the request asks for edits of this file of tests, or names a touched function that it tests."""
    words = words_of("\n".join(text_of_tests(each.path, each.before) for each in judged.tests.files))
    claims = judged.claims
    if claims.allow(f"{path}::"):
        return True
    return not judged.before.report.ran.code and claims.mention(judged.touched & words)


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
