"""A change before one check: both sides of the comparison, and how they are run."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.core.evidence import CheckEvidence, Grade, Reason, combine
from kith.core.run import Run
from kith.core.values import Changes, Verdict
from kith.gates.evidence.affected_tests import Reach, affected_files
from kith.gates.evidence.changed_tests import Claims, Tampering, find_tampering, mentions
from kith.gates.evidence.check_runs import Before, Bench, standing_of
from kith.gates.evidence.compare import find_callers, removed_names, touched_names
from kith.gates.evidence.edited_tests import EditedTests
from kith.gates.reports import SuiteReport
from kith.gates.results.uninstalled import Required, read_required
from kith.gates.toolchain import Toolchain
from kith.gates.untouched import is_test_file

MISSING: Final = 5  # things that are missing here, in one receipt


class Check(Struct, frozen=True):
    """One thing to check: alternatives of which the best serves.

    `goal`: the person named it as what must succeed. `found`: kith found it in the project, so it may be
    unable to run.
    """

    group: tuple[Toolchain, ...]
    goal: bool = False
    found: bool = False


class JudgedChange(Struct, frozen=True, dict=True):
    """One change before one check: how both are run, and the verdicts on it."""

    bench: Bench
    check: Check
    claims: Claims
    run: Run
    changes: Changes
    before: Before

    @cached_property
    def tests(self) -> EditedTests:
        return EditedTests(self.changes, self.is_test)

    def is_test(self, path: str) -> bool:
        return is_test_file(path) or path in self.before.report.sources

    @cached_property
    def tampering(self) -> Tampering:
        return find_tampering(self.tests)

    @cached_property
    def code(self) -> Changes:
        return tuple(change for change in self.changes if self.tests.is_code(change))

    @cached_property
    def edited(self) -> list[str]:
        return [change.path for change in self.tests.files]

    @cached_property
    def removed(self) -> frozenset[str]:
        return removed_names(self.code)

    @cached_property
    def touched(self) -> frozenset[str]:
        return touched_names(self.code)

    @cached_property
    def callers(self) -> frozenset[str]:
        """Functions beside the touched ones, in the same files, that behave otherwise because of them."""
        return find_callers(self.code, self.touched)

    @cached_property
    def without_module(self) -> frozenset[str]:
        """The edited test files that use a module which the change deletes at the request."""
        gone = (change.path for change in self.code if change.after is None)
        asked = {
            path.rpartition("/")[2].partition(".")[0]
            for path in gone
            if self.claims.allow(f"{path}::") or mentions(self.claims.request, path)
        }
        texts = {each.path: (each.before or b"").decode("utf-8", "replace") for each in self.tests.files}
        return frozenset(path for path, text in texts.items() if not asked.isdisjoint(words_of(text)))

    async def run_with(self, changes: Changes, only: Sequence[str] = ()) -> SuiteReport:
        """Run the check on the untouched tree with these changes; `only` these files of tests."""
        return await self.bench.after(self.run, self.before, changes, only=only)

    async def run_again(self, changes: Changes, ids: Sequence[str] = ()) -> SuiteReport:
        """The same, though the result may be known; of all tests, or those with these ids."""
        return await self.bench.again(self.run, self.before, changes, ids)

    async def required(self) -> Required:
        return await read_required(self.bench.home, self.changes)

    def affected(self, reach: Reach) -> list[str]:
        return affected_files(self.before.toolchain, self.before.report, reach, self.changes)

    @property
    def command(self) -> str:
        return self.before.toolchain.test

    def told(self, grade: Grade, reason: Reason, after: SuiteReport | None) -> CheckEvidence:
        return CheckEvidence(
            self.command,
            grade,
            reason,
            standing_of(self.before.report),
            standing_of(after) if after else None,
        )

    def yes(self, told: CheckEvidence, after: SuiteReport, fault: str = "") -> Verdict:
        return Verdict(
            True, fault, self.command, (after.ran,), figures=after.figures, evidence=combine([told])
        )

    def no(self, told: CheckEvidence, letter: str, after: SuiteReport) -> Verdict:
        return Verdict(
            False, letter, self.command, (after.ran,), figures=after.figures, evidence=combine([told])
        )


def replace_grade(told: CheckEvidence, grade: Grade, reason: Reason) -> CheckEvidence:
    return replace(told, grade=grade, reason=reason)


def words_of(text: str) -> set[str]:
    return {*re.findall(r"\w+", text)}
