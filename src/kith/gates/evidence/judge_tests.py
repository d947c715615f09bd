"""Judge a change test by test: what it breaks, weakens and fixes."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from kith.core.check_names import name_check
from kith.core.evidence import NAMED, Blocked, CheckEvidence, Names
from kith.core.values import Changes, Ran, Verdict
from kith.gates.evidence.affected_tests import Reach, holders_of, tests_in
from kith.gates.evidence.changed_tests import Older, compare_older, find_renames, mentions, without_tampering
from kith.gates.evidence.check_runs import may_be_flaky, pass_alone
from kith.gates.evidence.compare import Comparison, beside, compare, find_renewed
from kith.gates.evidence.feedback import first_fault, write_exit, write_goal, write_regressions
from kith.gates.evidence.judged_change import MISSING, JudgedChange, replace_grade, words_of
from kith.gates.reports import SuiteReport, file_of
from kith.gates.results.missing_needs import blocked_cases
from kith.gates.results.uninstalled import find_uninstalled
from kith.gates.toolchains.python import test_modules

_FEW: Final = 5  # altered tests that are run again
_PROOFS: Final = 20  # fixed tests that are run again on the untouched tree, to see that they were really red


async def judge_tests(judged: JudgedChange, after: SuiteReport, reach: Reach) -> Verdict:
    """Compare the results of all tests before and after, and hold the request against what is lost."""
    was = judged.before.report
    found = compare(was, after, judged.changes)
    tampering = judged.tampering
    away = found.lost | found.hidden
    renamed = frozenset(id for id in away if after.lacks(id) and judged.tests.is_renamed(id))
    allowed = frozenset(id for id in away - renamed if _may_change(judged, id, after))
    blocked = blocked_cases(after.cases, judged.before.toolchain)
    uninstalled = find_uninstalled(after, found.broken, await judged.required()) if found.broken else {}
    reworded = find_renewed(away - renamed - allowed, was, after)
    suspects = found.broken - renamed - allowed - reworded - (found.bad & _excused(judged, blocked))
    suspects -= frozenset(id for id in suspects if not uninstalled.keys().isdisjoint(holders_of(id)))
    replaced = await _replaced(judged, suspects, after, found)
    flaky = await _flaky(judged, suspects - replaced, after, judged.changes)
    broken = suspects - replaced - flaky
    older, weakened = Older(), frozenset[str]()
    if not broken:
        older = await _older(judged, after, reworded)
        weakened = _weakened(judged, tampering.weakened)
        broken = await _by_settings(judged, tampering.settings, found)
    altered = frozenset(id for id in older.altered if not _asked_for(judged, id))
    weakened |= altered | (frozenset() if broken else found.hidden - renamed - allowed - reworded)
    fixed, shaky = await _really_fixed(judged, found.fixed, (*tampering.edited, *tampering.settings))
    conceded = frozenset(id for id in broken | weakened if judged.claims.concede(id))
    told = replace(
        judged.told("unproven", "broken", after),
        fixed=Names.of(fixed),
        failing=Names.of(found.failing),
        broken=Names.of(broken | weakened),
        flaky=Names.of(flaky | shaky),
        added=Names.of(beside(found.added, reworded)),
        adapted=Names.of(
            renamed | allowed | replaced | reworded - altered | older.adapted | older.altered - altered
        ),
        blocked=Names.of({*blocked, *uninstalled}),
        missing=tuple(dict.fromkeys([*uninstalled.values(), *blocked.values()]))[:MISSING],
    )
    against = (broken | weakened) - conceded
    if against:
        letter = write_regressions(after, found, broken - conceded, weakened - conceded)
        return judged.no(told, letter, after)
    if conceded:
        told = replace(told, claimed=judged.claims.tests[:NAMED])
        return judged.yes(replace_grade(told, "unproven", "disputed"), after)
    if uninstalled:
        return judged.yes(replace_grade(told, "unproven", "uninstalled"), after)
    if worse := await _worse_part(judged, after):
        letter = write_exit(replace(after, ran=worse, cases=(), problem=""))
        return judged.no(told, f"`{name_check(worse.command)}` fails beside the tests: {letter}", after)
    if await _ends_badly(judged, after):
        return judged.no(told, write_exit(after), after)
    watching = [path for path in tampering.watching if not mentions(judged.claims.request, path)]
    if watching:
        return judged.yes(replace_grade(told, "unproven", "settings"), after)
    named = frozenset(id for id in found.failing if judged.claims.want(id))
    unmet = _unmet(judged, after, named)
    if unmet and judged.claims.tries == "more":
        return judged.no(replace_grade(told, "unproven", "unmet"), unmet, after)
    if unmet and not (fixed and found.failing):
        return judged.yes(replace_grade(told, "unproven", "unmet"), after, first_fault(after))
    return judged.yes(_graded(judged, told, after, fixed, reach), after)


def _graded(
    judged: JudgedChange, told: CheckEvidence, after: SuiteReport, fixed: Collection[str], reach: Reach
) -> CheckEvidence:
    runner = judged.before.toolchain.runner
    reaching = sum(reach.covers(id, runner) for id in after.passed) if reach else 0
    told = replace(told, reaching=reaching)
    if fixed:
        return replace_grade(told, "proven", "fixed")
    if reaching:
        return replace_grade(told, "held", "reached")
    if any(reach.covers(id, runner) for id in told.blocked.first):
        return replace_grade(told, "unproven", "blocked")
    failing = reach and any(reach.covers(case.id, runner) for case in after.failed)
    return replace_grade(told, "unproven", "failing" if failing else "not_reached")


def _unmet(judged: JudgedChange, after: SuiteReport, named: Collection[str]) -> str:
    """Explain to the model why a goal is not reached; "" when it is."""
    if named:
        only = tuple(case for case in after.cases if case.id in named or case.outcome == "passed")
        return write_goal(replace(after, cases=only), named)
    if judged.check.goal and not after.ok:
        return write_goal(after)
    return ""


def _may_change(judged: JudgedChange, id: str, after: SuiteReport) -> bool:
    """True if the request asks for the removal or edit of a test that is gone or edited."""
    if after.lacks(id):
        names = judged.removed & words_of(judged.tests.text_before(id))
        if judged.claims.speak_of(names) or file_of(id) in judged.without_module:
            return True
    elif not after.skips(id):
        return False
    return judged.claims.allow(id)


async def _worse_part(judged: JudgedChange, after: SuiteReport) -> Ran | None:
    """A command around the tests that succeeded before and does not now: a linter, a check of types."""
    well = {part.command for part in judged.before.report.parts if not part.code}
    if not any(part.code for part in after.parts if part.command in well):
        return None
    again = await judged.run_again(judged.changes)
    return next((part for part in again.parts if part.code and part.command in well), None)


async def _ends_badly(judged: JudgedChange, after: SuiteReport) -> bool:
    """True if the command fails now though no test does: a linter after them, a crash at the end."""
    was = judged.before.report.ran
    if was.code or not after.ran.code or after.failed or after.ran.timed_out:
        return False
    return bool((await judged.run_again(judged.changes)).ran.code)


def _excused(judged: JudgedChange, blocked: Mapping[str, Blocked]) -> frozenset[str]:
    """Tests that cannot run here; what only the change itself takes away is no excuse."""
    known = blocked_cases(judged.before.report.cases, judged.before.toolchain).values()
    return frozenset(id for id, what in blocked.items() if what.kind != "build" or what in known)


def _asked_for(judged: JudgedChange, id: str) -> bool:
    """True if the request asks for an altered test, or names a function that it tests and that is altered.

    A touched function alters its callers, too: for these the request must write the name as code.
    """
    claims, words = judged.claims, words_of(judged.tests.text_before(id))
    if id not in judged.before.report.passed:
        return claims.allow(id)  # a failure has no right to be edited away
    return (
        claims.allow(id) or claims.mention(judged.touched & words) or claims.spell_out(judged.callers & words)
    )


async def _flaky(
    judged: JudgedChange, suspects: frozenset[str], after: SuiteReport, changes: Changes
) -> frozenset[str]:
    """Those that pass with the change when they run once more."""
    was = judged.before.report
    again = [id for id in sorted(suspects) if after.fails(id)]
    if not may_be_flaky(len(again), len(was.cases)) or not after.built:
        return frozenset()
    passed = await _pass_alone(judged, again, changes)
    rest = [id for id in again if id not in passed and id in was.passed]
    if rest and (unfit := set(rest) - await _pass_alone(judged, rest, ())):
        # Alone they fail without the change, too: they depend on others, so all run once more.
        report = await judged.run_again(changes)
        passed |= unfit & report.passed
    return frozenset(passed)


async def _pass_alone(judged: JudgedChange, ids: Sequence[str], changes: Changes) -> set[str]:
    return await pass_alone(ids, lambda left: judged.run_again(changes, left))


async def _really_fixed(
    judged: JudgedChange, fixed: frozenset[str], edited: Sequence[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Tests that prove something, since they are older than the change; and those that are only flaky.

    `edited` are files of tests and settings: what passes only with their edits proves nothing.
    """
    old = fixed - tests_in(fixed, edited)
    if old and edited:
        stripped = without_tampering(judged.changes, edited)
        report = await judged.run_with(stripped) if stripped else None
        old &= report.passed if report else frozenset()
    if not old or len(old) > _PROOFS:
        return old, frozenset()
    lucky = frozenset(await _pass_alone(judged, sorted(old), ()))
    return old - lucky, lucky


async def _unedited(judged: JudgedChange) -> SuiteReport | None:
    """The change without its edits of older tests; None where there are none, or nothing else."""
    edited = judged.edited
    stripped = without_tampering(judged.changes, edited)
    if not edited:
        return None
    if not stripped:
        return judged.before.report
    return await judged.run_with(stripped, only=test_modules(edited))


async def _older(judged: JudgedChange, after: SuiteReport, reworded: frozenset[str]) -> Older:
    """The older tests that pass only as the change has edited them, those with other parameters, too."""
    unedited = await _unedited(judged)
    if unedited is None or unedited.ran.timed_out:
        return Older()
    renames = find_renames(judged.code, judged.claims.request)
    found = compare_older(judged.before.report, after, unedited, judged.tests, renames, reworded)
    if len(found.altered) > _FEW or not unedited.cases:
        return found
    again = without_tampering(judged.changes, judged.edited)
    flaky = await _pass_alone(judged, sorted(found.altered), again) if found.altered else set()
    return replace(found, altered=found.altered - flaky)


async def _replaced(
    judged: JudgedChange, suspects: frozenset[str], after: SuiteReport, found: Comparison
) -> frozenset[str]:
    """Tests that are gone, and pass as they were, where at least as many others came in their place."""
    gone = frozenset(id for id in suspects if after.lacks(id))
    if not gone or len(found.added) < len(gone) or gone != suspects:
        return frozenset()
    unedited = await _unedited(judged)
    return gone & unedited.passed if unedited else frozenset()


def _weakened(judged: JudgedChange, tests: Sequence[str]) -> frozenset[str]:
    """Weakened tests of a change that does nothing else, but for those the request asks for.

    Where code changes, too, it is run with the tests as they were (`_older`).
    """
    return frozenset(test for test in tests if not judged.code and not judged.claims.allow(test))


async def _by_settings(judged: JudgedChange, settings: Sequence[str], found: Comparison) -> frozenset[str]:
    """Tests that only pass because the change alters how they are run."""
    asked = [path for path in settings if not mentions(judged.claims.request, path.rpartition("/")[2])]
    lost = await _lost_without(judged, asked, found)
    if lost and judged.edited:  # what the edited tests need may stand in the settings
        lost &= await _lost_without(judged, [*asked, *judged.edited], found)
    return lost


async def _lost_without(judged: JudgedChange, paths: Sequence[str], found: Comparison) -> frozenset[str]:
    """The tests that are lost in addition when the change leaves these files alone."""
    stripped = without_tampering(judged.changes, paths)
    if not paths or not stripped:
        return frozenset()
    was, report = judged.before.report, await judged.run_with(stripped)
    if report.ran.timed_out and not was.ran.timed_out:
        return was.passed - report.passed - found.lost
    if not report.cases or report.ran.timed_out:
        return frozenset()
    lost = compare(was, report, stripped).lost - found.lost
    return lost - await _flaky(judged, lost, report, stripped)
