"""Run the project's own tests in the trial, and show what fails to a model."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.core.errors import TreeError
from kith.core.events import Judged, Locked
from kith.core.run import Run
from kith.core.values import Ran
from kith.core.workspace import ExecLimits
from kith.features.build.new_tests.failures import lexical_tests
from kith.gates.evidence.check_runs import may_be_flaky, pass_alone
from kith.gates.evidence.feedback import explain_report
from kith.gates.reports import SuiteReport
from kith.gates.results.run import run_suite
from kith.gates.toolchain import Toolchain

GATE: Final = "tests"
LETTER_CHARS: Final = 6_000  # of what failed, for a model
SMALL_CHARS: Final = 2_400  # the same where there is little room
NO_TOOLCHAIN: Final = "kith found no way to run this project's tests."
_TOLD: Final = 10  # tests named in one sentence


async def run_tests(
    run: Run, toolchains: Sequence[Toolchain], limits: ExecLimits, *, coverage: bool = False
) -> SuiteReport:
    """All tests of all toolchains, as one report; one that can say nothing is left out if another can."""
    if not toolchains:
        return SuiteReport(Ran("", 0, "", 0.0), problem=NO_TOOLCHAIN)
    reports = [await run_suite(run, each, limits, coverage=coverage) for each in toolchains]
    return _merge([report for report in reports if not report.problem] or reports)


def _merge(reports: Sequence[SuiteReport]) -> SuiteReport:
    if len(reports) == 1:
        return reports[0]
    worst = next((report for report in reports if not report.ok), reports[0])
    seconds = sum(report.ran.seconds for report in reports)
    return replace(
        worst,
        ran=replace(worst.ran, seconds=seconds),
        cases=tuple(case for report in reports for case in report.cases),
        coverage=next((report.coverage for report in reports if report.coverage), None),
        built=all(report.built for report in reports),
    )


# --- which tests must pass -------------------------------------------------------------------


class SuiteStanding(Struct, frozen=True):
    """A run of all tests, held against what must pass.

    `missing`: locked tests that do not pass. `broken`: what passed before the build and does not now.
    `flaky`: what failed as these do, and passed when it ran again alone.
    """

    report: SuiteReport
    ok: bool
    missing: tuple[str, ...]
    broken: tuple[str, ...]
    figures: Mapping[str, float]
    flaky: tuple[str, ...] = ()

    def letter(self, *, first_only: bool = False) -> str:
        """Explain the failures to a model; `first_only` for a small window."""
        if self.ok:
            return ""
        report, failed = self.report, {case.id for case in self.report.failed}
        told = [
            explain_report(self.counting, SMALL_CHARS if first_only else LETTER_CHARS, first_only=first_only)
        ]
        absent = [test for test in self.missing if not any(is_of(id, test) for id in failed)]
        if absent and report.built:
            told.append(f"These tests must pass and did not run: {_names(absent)}.")
        if self.broken and report.built:
            told.append(f"These passed before your change: {_names(self.broken)}.")
        told.append(report.problem)
        return "\n\n".join(part for part in told if part)

    @property
    def counting(self) -> SuiteReport:
        """The report without failures from before the build: nobody has to fix those."""
        exactly, known = {*self.missing, *self.broken}, {case.id for case in self.report.cases}
        by_name = [test for test in self.missing if test not in known]
        failed = {
            id
            for id in (case.id for case in self.report.failed)
            if id in exactly or any(is_of(id, test) for test in by_name)
        }
        counting = (case for case in self.report.cases if case.outcome == "passed" or case.id in failed)
        return replace(self.report, cases=tuple(counting)) if failed else self.report


def hold(
    report: SuiteReport, locks: Sequence[Locked], baseline: Locked | None, before: Judged | None
) -> SuiteStanding:
    """Every locked test must pass, and everything that passed before the build (`baseline`, `before`).

    Figures: also `wanted`, the tests of the last lock, and `reached`, those of them that pass. Where a runner
    never told anything but an exit code, that decides.
    """
    passed = report.passed
    wanted = dict.fromkeys(test for lock in locks for test in lock.tests)
    missing = tuple(test for test in wanted if test not in passed and not _has_passed(test, report))
    own = locks[-1].tests if locks else ()
    figures = dict(report.figures) | {"wanted": len(own), "reached": len(set(own).difference(missing))}
    sound = report.built and not report.problem
    if not report.cases and not (baseline and baseline.tests):
        return SuiteStanding(report, sound and report.ok, (), (), figures)
    broken = tuple(sorted(set(baseline.tests if baseline else ()).difference(passed, missing)))
    was_red = before is not None and not before.ok
    ok = sound and not missing and not broken and (report.ok or was_red)
    return SuiteStanding(report, ok, missing, broken, figures)


async def excuse_flaky(
    run: Run, toolchains: Sequence[Toolchain], limits: ExecLimits, standing: SuiteStanding
) -> SuiteStanding:
    """Run the few tests that the build seems to have broken again alone; one pass, and they do not count."""
    report = standing.report
    failed = {case.id for case in report.failed}
    suspects = [id for id in standing.broken if id in failed]
    if not report.built or not may_be_flaky(len(suspects), len(report.cases)):
        return standing

    async def alone(ids: Sequence[str]) -> SuiteReport:
        return _merge([await run_suite(run, each, limits, only=ids) for each in toolchains])

    lucky = await pass_alone(suspects, alone)
    broken = tuple(id for id in standing.broken if id not in lucky)
    ok = report.built and not report.problem and not standing.missing and not broken
    return replace(standing, ok=ok, broken=broken, flaky=tuple(sorted(lucky))) if lucky else standing


def _has_passed(name: str, report: SuiteReport) -> bool:
    """True if all tests of a name passed, and there is at least one."""
    outcomes = {case.outcome for case in report.cases if is_of(case.id, name)}
    return "passed" in outcomes and outcomes <= {"passed", "skipped"}


def is_of(id: str, test: str) -> bool:
    """True if a test that ran under this id is the given one: by its id, or by its name in its file.

    A case of a parametrised test belongs to the test's own name. pytest's `path::Class::test` is unittest's
    `folder.module.Class.test`, from whatever folder its discovery began.
    """
    inside = "/" if "::" in test else ""  # a path is a whole one
    if id == test or re.search(rf"(?<![\w{inside}]){re.escape(test)}(?!\w)", id):
        return True
    dotted = test.replace(".py::", ".").replace("::", ".").replace("/", ".")
    return "::" in test and "." in id and f".{dotted}".endswith(f".{id}")


def _names(tests: Sequence[str]) -> str:
    more = f" and {len(tests) - _TOLD} more" if len(tests) > _TOLD else ""
    return ", ".join(tests[:_TOLD]) + more


# One failing test with its source: all that a model with little room is shown at a time.

_MOST_LINES: Final = 40


async def show_first(run: Run, standing: SuiteStanding, files: Iterable[str]) -> str:
    """The first failure of a run, and the source of its test where one of these files holds it."""
    texts: dict[str, str] = {}
    for path in files:
        with suppress(TreeError):
            texts[path] = (await run.workspace.read(path)).decode("utf-8", "replace")
    letter, found = standing.letter(first_only=True), next(_sources(standing, texts), "")
    return f"{letter}\n\n{found}" if found else letter


def _sources(standing: SuiteStanding, texts: dict[str, str]) -> Iterator[str]:
    """The tests that must pass and do not, in the order of their files, first those that failed."""
    known = [(path, test) for path, text in texts.items() for test in lexical_tests(path, text)]
    for id in (*(case.id for case in standing.counting.failed), *standing.missing):
        for path, test in known:
            # A module that cannot be imported fails by its own path, of which every test in it begins.
            if is_of(id, test) or is_of(test, id):
                yield f"{path}\n{cut_test(texts[path], test)}"


def cut_test(text: str, test: str) -> str:
    """The lines of one test: to the next line that is not deeper, or to its closing brace."""
    words = re.split(r"::|\.", test)
    name = r"\W+(?:\w+\W+)?".join(map(re.escape, words[-2:])) if "::" not in test else re.escape(words[-1])
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if re.search(rf"(?<!\w){name}(?!\w)", line)), None)
    if start is None:
        return ""
    depth = len(lines[start]) - len(lines[start].lstrip())
    end = start + 1
    while end < len(lines) and not _ends(lines[end], depth):
        end += 1
    closing = lines[end : end + 1] if end < len(lines) and lines[end].strip().startswith("}") else []
    return "\n".join([*lines[start:end], *closing][:_MOST_LINES]).rstrip()


def _ends(line: str, depth: int) -> bool:
    return bool(line.strip()) and len(line) - len(line.lstrip()) <= depth
