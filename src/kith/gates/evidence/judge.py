"""The gate that matters most: a change is good when it loses nothing, and says how surely that was seen."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.core.evidence import NAMED, Blocked, CheckEvidence, Grade, Names, Reason, combine
from kith.core.run import Gate, Run
from kith.core.values import Change, Changes, Verdict
from kith.gates.evidence.affected_tests import (
    Reach,
    affected_files,
    holders_of,
    read_reach,
    seconds_in,
    tests_in,
)
from kith.gates.evidence.changed_tests import (
    Claims,
    Older,
    Tampering,
    compare_older,
    find_renames,
    find_tampering,
    mentions,
    run_by,
    without_tampering,
)
from kith.gates.evidence.check_runs import Before, Bench, may_be_flaky, pass_alone, standing_of
from kith.gates.evidence.compare import (
    Comparison,
    beside,
    compare,
    find_renewed,
    fingerprint,
    removed_names,
    touched_names,
)
from kith.gates.evidence.edited_tests import EditedTests
from kith.gates.evidence.feedback import (
    first_fault,
    tell_blocked,
    write_count,
    write_exit,
    write_goal,
    write_late,
    write_regressions,
)
from kith.gates.evidence.printed_failures import find_blame, find_more_failures
from kith.gates.evidence.smoke import look_without_tests
from kith.gates.reports import SuiteReport, file_of, join_reports
from kith.gates.results.missing_needs import blocked_cases, why_blocked
from kith.gates.results.uninstalled import Required, find_uninstalled, read_required
from kith.gates.toolchains import Toolchain
from kith.gates.toolchains.python import test_modules
from kith.gates.toolchains.toolchain import directly
from kith.gates.untouched import is_test_file

_FEW: Final = 5  # altered tests that are run again
_MISSING: Final = 5  # things that are missing here, in one receipt
_PROOFS: Final = 20  # fixed tests that are run again on the untouched tree, to see that they were really red


class Check(Struct, frozen=True):
    """One thing to check: alternatives of which the best serves.

    `goal`: the person named it as what must succeed. `found`: kith found it in the project, so it may be
    unable to run.
    """

    group: tuple[Toolchain, ...]
    goal: bool = False
    found: bool = False


def evidence_gate(bench: Bench, check: Check, claims: Claims) -> Gate:
    """A gate that holds the untouched tree against the change alone."""

    async def judge(run: Run, changes: Changes) -> Verdict:
        before = await bench.before(run, check.group)
        return await _Case(bench, check, claims, run, changes, before).decide()

    return judge


class _Case(Struct, frozen=True, dict=True):
    """One change before one check."""

    bench: Bench
    check: Check
    claims: Claims
    run: Run
    changes: Changes
    before: Before

    @cached_property
    def _tests(self) -> EditedTests:
        return EditedTests(self.changes, self._is_test)

    def _is_test(self, path: str) -> bool:
        return is_test_file(path) or path in self.before.report.sources

    @cached_property
    def _tampering(self) -> Tampering:
        return find_tampering(self._tests)

    @cached_property
    def _code(self) -> Changes:
        return tuple(change for change in self.changes if not self._tests.is_test(change.path))

    @cached_property
    def _edited(self) -> list[str]:
        return [change.path for change in self._tests.files]

    async def decide(self) -> Verdict:
        was = self.before.report
        if not self.changes:
            return self._of_nothing()
        missing = why_blocked(self.before.toolchain, was.ran, was.cases)
        nothing_ran = bool(missing) or was.ran.code in (126, 127)
        if (
            self.check.found
            and not was.passed
            and (nothing_ran or (was.problem and not self._tests_of_change))
        ):
            return await self._blocked(missing)
        reach = await self._reach()
        if (affected := await self._beside_time(reach)) is not None:
            return await affected._by_tests(await affected._alone(reach), reach)
        after = await self._after(reach)
        if paths := self._uncollected(after):
            case, more = await self._collect(paths, after)
            if more.cases:
                return await case._by_tests(more, reach)
        if not was.cases and not after.cases:
            return await self._by_exit(after, reach)
        return await self._by_tests(after, reach)

    # --- results per test --------------------------------------------------------------------

    async def _by_tests(self, after: SuiteReport, reach: Reach) -> Verdict:
        judge = self._by_some_tests if after.ran.timed_out else self._by_all_tests
        return await judge(after, reach)

    async def _by_some_tests(self, after: SuiteReport, reach: Reach) -> Verdict:
        """A run that was stopped, perhaps because of the change: only what failed in it is certain."""
        was = self.before.report
        left = frozenset(was.by_id.keys() - after.by_id.keys())
        if not after.cases:
            told = replace(self._told("unproven", "out_of_time", after), not_run=Names.of(left))
            return self._out_of_time(told, after)
        kept = replace(was, cases=tuple(case for case in was.cases if case.id not in left))
        case = replace(self, before=replace(self.before, report=kept))
        verdict = await case._by_all_tests(after, reach)
        assert verdict.evidence is not None
        told = replace(verdict.evidence.checks[0], before=standing_of(was), not_run=Names.of(left))
        certain = told.grade == "unproven" and told.reason not in ("not_reached", "unmet")
        if certain or (told.reason == "unmet" and after.failed):
            return replace(verdict, evidence=combine([told]))
        return self._out_of_time(told, after)

    async def _by_all_tests(self, after: SuiteReport, reach: Reach) -> Verdict:
        was = self.before.report
        found = compare(was, after, self.changes)
        tampering = self._tampering
        away = found.lost | found.hidden
        renamed = frozenset(id for id in away if after.lacks(id) and self._tests.is_renamed(id))
        allowed = frozenset(id for id in away - renamed if self._may_change(id, after))
        blocked = blocked_cases(after.cases, self.before.toolchain)
        uninstalled = find_uninstalled(after, found.broken, await self._required()) if found.broken else {}
        reworded = find_renewed(away - renamed - allowed, was, after)
        suspects = found.broken - renamed - allowed - reworded - (found.bad & self._excused(blocked))
        suspects -= frozenset(id for id in suspects if not uninstalled.keys().isdisjoint(holders_of(id)))
        replaced = await self._replaced(suspects, after, found)
        flaky = await self._flaky(suspects - replaced, after, self.changes)
        broken = suspects - replaced - flaky
        older, weakened = Older(), frozenset[str]()
        if not broken:
            older = await self._older(after, reworded)
            weakened = await self._weakened(tampering.weakened)
            broken = await self._by_settings(tampering.settings, found)
        altered = frozenset(id for id in older.altered if not self._asked_for(id))
        weakened |= altered | (frozenset() if broken else found.hidden - renamed - allowed - reworded)
        fixed, shaky = await self._really_fixed(found.fixed, (*tampering.edited, *tampering.settings))
        conceded = frozenset(id for id in broken | weakened if self.claims.concede(id))
        told = replace(
            self._told("unproven", "broken", after),
            fixed=Names.of(fixed),
            failing=Names.of(found.failing),
            broken=Names.of(broken | weakened),
            flaky=Names.of(flaky | shaky),
            added=Names.of(beside(found.added, reworded)),
            adapted=Names.of(
                renamed | allowed | replaced | reworded - altered | older.adapted | older.altered - altered
            ),
            blocked=Names.of({*blocked, *uninstalled}),
            missing=tuple(dict.fromkeys([*uninstalled.values(), *blocked.values()]))[:_MISSING],
        )
        against = (broken | weakened) - conceded
        if against:
            letter = write_regressions(after, found, broken - conceded, weakened - conceded)
            return self._no(told, letter, after)
        if conceded:
            told = replace(told, claimed=self.claims.tests[:NAMED])
            return self._yes(replace_grade(told, "unproven", "disputed"), after)
        if uninstalled:
            return self._yes(replace_grade(told, "unproven", "uninstalled"), after)
        if await self._ends_badly(after):
            return self._no(told, write_exit(after), after)
        watching = [path for path in tampering.watching if not mentions(self.claims.request, path)]
        if watching:
            return self._yes(replace_grade(told, "unproven", "settings"), after)
        named = frozenset(id for id in found.failing if self.claims.want(id))
        unmet = self._unmet(after, found, named)
        if unmet and self.claims.tries == "more":
            return self._no(replace_grade(told, "unproven", "unmet"), unmet, after)
        if unmet and not (fixed and found.failing):
            return self._yes(replace_grade(told, "unproven", "unmet"), after, first_fault(after))
        return self._yes(self._graded(told, after, fixed, reach), after)

    def _graded(
        self, told: CheckEvidence, after: SuiteReport, fixed: Collection[str], reach: Reach
    ) -> CheckEvidence:
        runner = self.before.toolchain.runner
        reaching = sum(reach.covers(id, runner) for id in after.passed) if reach else 0
        told = replace(told, reaching=reaching)
        if fixed:
            return replace_grade(told, "proven", "fixed")
        if reaching:
            return replace_grade(told, "held", "reached")
        stopped = any(reach.covers(id, runner) for id in told.blocked.first)
        return replace_grade(told, "unproven", "blocked" if stopped else "not_reached")

    def _unmet(self, after: SuiteReport, found: Comparison, named: Collection[str]) -> str:
        """Explain to the model why a goal is not reached; "" when it is."""
        if named:
            only = tuple(case for case in after.cases if case.id in named or case.outcome == "passed")
            return write_goal(replace(after, cases=only), named)
        if self.check.goal and not after.ok:
            return write_goal(after)
        return ""

    def _may_change(self, id: str, after: SuiteReport) -> bool:
        """True if the request asks for the removal or edit of a test that is gone or edited."""
        if after.lacks(id):
            names = self._removed & _words(self._tests.text_before(id))
            return self.claims.allow(id) or self.claims.speak_of(names) or self._loses_its_module(id)
        return after.skips(id) and self.claims.allow(id)

    @cached_property
    def _removed(self) -> frozenset[str]:
        return removed_names(self._code)

    @cached_property
    def _touched(self) -> frozenset[str]:
        return touched_names(self._code)

    async def _ends_badly(self, after: SuiteReport) -> bool:
        """True if the command fails now though no test does: a linter after them, a crash at the end."""
        was = self.before.report.ran
        if was.code or not after.ran.code or after.failed or after.ran.timed_out:
            return False
        return bool((await self.bench.again(self.run, self.before, self.changes, ())).ran.code)

    def _loses_its_module(self, id: str) -> bool:
        """True if the test uses a module that the change deletes at the request."""
        return file_of(id) in self._without_module

    @cached_property
    def _without_module(self) -> frozenset[str]:
        """The edited test files that use a module which the change deletes at the request."""
        gone = (change.path for change in self._code if change.after is None)
        asked = {
            path.rpartition("/")[2].partition(".")[0]
            for path in gone
            if self.claims.allow(f"{path}::") or mentions(self.claims.request, path)
        }
        texts = {each.path: (each.before or b"").decode("utf-8", "replace") for each in self._tests.files}
        return frozenset(path for path, text in texts.items() if not asked.isdisjoint(_words(text)))

    def _excused(self, blocked: Mapping[str, Blocked]) -> frozenset[str]:
        """Tests that cannot run here; what only the change itself takes away is no excuse."""
        known = blocked_cases(self.before.report.cases, self.before.toolchain).values()
        return frozenset(id for id, what in blocked.items() if what.kind != "build" or what in known)

    def _asked_for(self, id: str) -> bool:
        """True if the request asks for an altered test, or names a touched function that it tests."""
        if id not in self.before.report.passed:
            return self.claims.allow(id)  # a failure has no right to be edited away
        names = self._touched & _words(self._tests.text_before(id))
        return self.claims.allow(id) or self.claims.mention(names)

    async def _flaky(self, suspects: frozenset[str], after: SuiteReport, changes: Changes) -> frozenset[str]:
        """Those that pass with the change when they run once more."""
        was = self.before.report
        again = [id for id in sorted(suspects) if after.fails(id)]
        if not may_be_flaky(len(again), len(was.cases)) or not after.built:
            return frozenset()
        passed = await self._pass_alone(again, changes)
        rest = [id for id in again if id not in passed and id in was.passed]
        if rest and (unfit := set(rest) - await self._pass_alone(rest, ())):
            # Alone they fail without the change, too: they depend on others, so all run once more.
            report = await self.bench.again(self.run, self.before, changes, ())
            passed |= unfit & report.passed
        return frozenset(passed)

    async def _pass_alone(self, ids: Sequence[str], changes: Changes) -> set[str]:
        return await pass_alone(ids, lambda left: self.bench.again(self.run, self.before, changes, left))

    async def _really_fixed(
        self, fixed: frozenset[str], edited: Sequence[str]
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Tests that prove something, since they are older than the change; and those that are only flaky.

        `edited` are files of tests and settings: what passes only with their edits proves nothing.
        """
        old = fixed - tests_in(fixed, edited)
        if old and edited:
            stripped = without_tampering(self.changes, edited)
            report = await self.bench.after(self.run, self.before, stripped) if stripped else None
            old &= report.passed if report else frozenset()
        if not old or len(old) > _PROOFS:
            return old, frozenset()
        lucky = frozenset(await self._pass_alone(sorted(old), ()))
        return old - lucky, lucky

    async def _unedited(self) -> SuiteReport | None:
        """The change without its edits of older tests; None where there are none, or nothing else."""
        edited = self._edited
        stripped = without_tampering(self.changes, edited)
        if not edited:
            return None
        if not stripped:
            return self.before.report
        return await self.bench.after(self.run, self.before, stripped, only=test_modules(edited))

    async def _older(self, after: SuiteReport, reworded: frozenset[str]) -> Older:
        """The older tests that pass only as the change has edited them, those with other parameters, too."""
        unedited = await self._unedited()
        if unedited is None or unedited.ran.timed_out:
            return Older()
        renames = find_renames(self._code, self.claims.request)
        found = compare_older(self.before.report, after, unedited, self._tests, renames, reworded)
        if len(found.altered) > _FEW or not unedited.cases:
            return found
        again = without_tampering(self.changes, self._edited)
        flaky = await self._pass_alone(sorted(found.altered), again) if found.altered else set()
        return replace(found, altered=found.altered - flaky)

    async def _replaced(
        self, suspects: frozenset[str], after: SuiteReport, found: Comparison
    ) -> frozenset[str]:
        """Tests that are gone, and pass as they were, where at least as many others came in their place."""
        gone = frozenset(id for id in suspects if after.lacks(id))
        if not gone or len(found.added) < len(gone) or gone != suspects:
            return frozenset()
        unedited = await self._unedited()
        return gone & unedited.passed if unedited else frozenset()

    async def _weakened(self, tests: Sequence[str]) -> frozenset[str]:
        """Weakened tests of a change that does nothing else, but for those the request asks for.

        Where code changes, too, it is run with the tests as they were (`_older`).
        """
        return frozenset(test for test in tests if not self._code and not self.claims.allow(test))

    async def _by_settings(self, settings: Sequence[str], found: Comparison) -> frozenset[str]:
        """Tests that only pass because the change alters how they are run."""
        asked = [path for path in settings if not mentions(self.claims.request, path.rpartition("/")[2])]
        lost = await self._lost_without(asked, found)
        if lost and self._edited:  # what the edited tests need may stand in the settings
            lost &= await self._lost_without([*asked, *self._edited], found)
        return lost

    async def _lost_without(self, paths: Sequence[str], found: Comparison) -> frozenset[str]:
        """The tests that are lost in addition when the change leaves these files alone."""
        stripped = without_tampering(self.changes, paths)
        if not paths or not stripped:
            return frozenset()
        was, report = self.before.report, await self.bench.after(self.run, self.before, stripped)
        if report.ran.timed_out and not was.ran.timed_out:
            return was.passed - report.passed - found.lost
        if not report.cases or report.ran.timed_out:
            return frozenset()
        lost = compare(was, report, stripped).lost - found.lost
        return lost - await self._flaky(lost, report, stripped)

    # --- an exit code only -------------------------------------------------------------------

    async def _by_exit(self, after: SuiteReport, reach: Reach) -> Verdict:
        was = self.before.report.ran
        told = self._told("unproven", "not_reached", after)
        if after.ran.timed_out:
            return self._out_of_time(told, after)
        if after.ran.code == 0:
            if verdict := await self._by_settings_alone(told, after):
                return verdict
            if line := await self._counts_more(after):
                return self._no(replace_grade(told, "unproven", "broken"), write_count(after, line), after)
            fewer = bool(reach) and bool(find_more_failures(after.ran.output, was.output))
            if fewer or (was.code and (reach or self.check.goal or await self._fails_again())):
                return self._yes(replace_grade(told, "proven", "fixed"), after)
            return self._yes(replace_grade(told, "held", "reached") if reach else told, after)
        if was.code == 0:
            if (await self.bench.again(self.run, self.before, self.changes, ())).ok:
                return self._yes(replace(told, flaky=Names.of([self.command])), after)
            return await self._by_exit_worse(told, after)
        print_now = fingerprint(after.ran.output)
        if print_now != fingerprint(was.output) and find_blame(was.output, after.ran.output, self.changes):
            return await self._by_exit_worse(told, after)
        if missing := why_blocked(self.before.toolchain, was, ()):
            told = replace(told, missing=(missing,))  # no model can mend that
        elif self.check.goal and self.claims.tries == "more":
            return self._no(replace_grade(told, "unproven", "unmet"), write_goal(after), after)
        return self._yes(replace_grade(told, "unproven", "same_failure"), after, first_fault(after))

    async def _by_settings_alone(self, told: CheckEvidence, after: SuiteReport) -> Verdict | None:
        """The verdict on a command that succeeds only because of what the change does to it."""
        if not (settings := self._unasked_settings()):
            return None
        stripped = without_tampering(self.changes, settings)
        report = await self.bench.after(self.run, self.before, stripped) if stripped else None
        if report and report.ran.code and not self.before.report.ran.code:
            return self._no(replace_grade(told, "unproven", "broken"), write_exit(report), report)
        if report is None or report.ran.code:
            return self._yes(replace_grade(told, "unproven", "settings"), after)
        return None

    async def _fails_again(self) -> bool:
        """True if the untouched tree fails once more: not every language tells which tests reach a change."""
        return not (await self.bench.again(self.run, self.before, (), ())).ok

    async def _counts_more(self, after: SuiteReport) -> str:
        """The line by which the output counts more failures than before, also when it runs again."""
        was = self.before.report.ran.output
        line = find_more_failures(was, after.ran.output)
        again = await self.bench.again(self.run, self.before, self.changes, ()) if line else after
        return find_more_failures(was, again.ran.output)

    async def _by_exit_worse(self, told: CheckEvidence, after: SuiteReport) -> Verdict:
        """The change's fault, or that of a package that nobody installed."""
        if missing := (await self._required()).lacks(after.ran.output):
            told = replace(told, missing=(missing,))
            return self._yes(replace_grade(told, "unproven", "uninstalled"), after, first_fault(after))
        return self._no(replace_grade(told, "unproven", "broken"), write_exit(after), after)

    async def _required(self) -> Required:
        return await read_required(self.bench.home, self.changes)

    def _unasked_settings(self) -> list[str]:
        """Files by which the change alters what is run, though the request does not speak of them."""
        altered = run_by(self.command, self.changes) | {*self._tampering.settings}
        return sorted(path for path in altered if not mentions(self.claims.request, path.rpartition("/")[2]))

    # --- nothing to compare ------------------------------------------------------------------

    def _of_nothing(self) -> Verdict:
        """A named check where nothing was changed: it decides about the tree as it is."""
        report = self.before.report
        told = self._told("unproven", "not_reached", report)
        return self._yes(told, report) if report.ok else self._no(told, write_goal(report), report)

    async def _blocked(self, missing: Blocked | None) -> Verdict:
        was = self.before.report
        told = replace(self._told("unproven", "blocked", None), missing=(missing,) if missing else ())
        look = await look_without_tests(self.bench.home, self.changes)
        if look.letter:
            return Verdict(False, look.letter, self.command, evidence=combine([told]))
        if look.missing:
            found = tuple(dict.fromkeys([*look.missing, *told.missing]))
            told = replace(replace_grade(told, "unproven", "uninstalled"), missing=found[:_MISSING])
        text = tell_blocked(self.command, told.missing, was.problem)
        return Verdict(True, text, self.command, evidence=combine([told]))

    def _out_of_time(self, told: CheckEvidence, after: SuiteReport) -> Verdict:
        """Nothing is known of the change: the model hears of it once, then it waits for a person."""
        told, was = replace_grade(told, "unproven", "out_of_time"), self.before.report
        if not was.ran.timed_out and self.claims.tries == "more" and self.bench.is_new(self.changes):
            return self._no(told, write_late(after, was), after)
        return self._yes(told, after)

    # --- running -----------------------------------------------------------------------------

    async def _reach(self) -> Reach:
        return await read_reach(self.bench.home, self.changes, self._is_test)

    async def _after(self, reach: Reach) -> SuiteReport:
        """All tests. Where that takes long, those that reach the change run first, then the others."""
        was = self.before.report
        affected = self._affected(reach) if was.ran.seconds > self.bench.long_s else []
        if not affected or seconds_in(was, affected) > was.ran.seconds / 2:
            return await self.bench.after(self.run, self.before, self.changes)
        first = await self.bench.after(self.run, self.before, self.changes, only=affected)
        inside = tests_in(was.by_id, affected)
        mine = tuple(case for case in was.cases if case.id in inside)
        rest = tuple(case for case in was.cases if case.id not in inside)
        if first.ran.timed_out:
            return first
        if not first.cases:  # pytest loads more for files that are named, and that may fail
            return await self.bench.after(self.run, self.before, self.changes)
        if compare(replace(was, cases=mine), first, self.changes).broken:
            return replace(first, cases=(*first.cases, *rest))  # the others are taken to be as they were
        deleted = {change.path for change in self.changes if change.after is None}
        others = sorted({file_of(case.id) for case in rest} - deleted)
        if self.before.toolchain.runner == "pytest" and others:
            second = await self.bench.after(self.run, self.before, self.changes, only=others)
            if second.cases or second.ran.timed_out:
                return join_reports(first, second)
        return await self.bench.after(self.run, self.before, self.changes)

    @cached_property
    def _tests_of_change(self) -> tuple[Change, ...]:
        """The files of Python that the change leaves with tests in them."""
        if directly(self.before.toolchain, ["a"]) is None:
            return ()
        request = self.claims.request
        python = (each for each in self.changes if each.after is not None and each.path.endswith(".py"))
        meant = (each for each in python if self._is_test(each.path) or mentions(request, each.path))
        return tuple(each for each in meant if self._tests.parts(each.path, each.after))

    def _uncollected(self, after: SuiteReport) -> list[str]:
        """The files with tests of the change that the command did not collect."""
        if after.ran.timed_out:
            return []
        return [each.path for each in self._tests_of_change if not tests_in(after.by_id, [each.path])]

    async def _collect(self, paths: Sequence[str], after: SuiteReport) -> "tuple[_Case, SuiteReport]":
        """The same case and report with these files, which are started by their paths.

        Where the request does not speak of tests they may be data: then only those that pass count.
        """
        toolchain = directly(self.before.toolchain, paths)
        assert toolchain is not None
        direct = replace(self.before, toolchain=toolchain)
        now = await self.bench.after(self.run, direct, self.changes)
        fresh = [case for case in now.cases if case.id not in after.by_id]
        if not re.search(r"\btests?\b", self.claims.request, re.I) and not any(
            mentions(self.claims.request, path) for path in paths
        ):
            fresh = [case for case in fresh if case.outcome == "passed"]
        was = self.before.report
        if old := [each.path for each in self._tests.files if each.path in paths]:
            then = replace(self.before, toolchain=directly(self.before.toolchain, old) or toolchain)
            known = await self.bench.after(self.run, then, ())
            was = replace(
                was, cases=(*was.cases, *(case for case in known.cases if case.id not in was.by_id))
            )
        case = replace(self, before=replace(self.before, report=was))
        return case, replace(after, cases=(*after.cases, *fresh))

    def _affected(self, reach: Reach) -> list[str]:
        return affected_files(self.before.toolchain, self.before.report, reach, self.changes)

    async def _alone(self, reach: Reach) -> SuiteReport:
        return await self.bench.after(self.run, self.before, self.changes, only=self._affected(reach))

    async def _beside_time(self, reach: Reach) -> "_Case | None":
        """The same case on the affected tests alone, where all of them take longer than there is time for."""
        affected = self._affected(reach)
        if not affected or not self.before.report.ran.timed_out:
            return None
        report = await self.bench.after(self.run, self.before, (), only=affected)
        return replace(self, before=replace(self.before, report=report)) if report.cases else None

    # --- words -------------------------------------------------------------------------------

    @property
    def command(self) -> str:
        return self.before.toolchain.test

    def _told(self, grade: Grade, reason: Reason, after: SuiteReport | None) -> CheckEvidence:
        return CheckEvidence(
            self.command,
            grade,
            reason,
            standing_of(self.before.report),
            standing_of(after) if after else None,
        )

    def _yes(self, told: CheckEvidence, after: SuiteReport, fault: str = "") -> Verdict:
        return Verdict(
            True, fault, self.command, (after.ran,), figures=after.figures, evidence=combine([told])
        )

    def _no(self, told: CheckEvidence, letter: str, after: SuiteReport) -> Verdict:
        return Verdict(
            False, letter, self.command, (after.ran,), figures=after.figures, evidence=combine([told])
        )


def replace_grade(told: CheckEvidence, grade: Grade, reason: Reason) -> CheckEvidence:
    return replace(told, grade=grade, reason=reason)


def _words(text: str) -> set[str]:
    return {*re.findall(r"\w+", text)}
