"""Tests first: a spec author writes them, they must fail for the right reason, and then they are locked."""

import re
from difflib import SequenceMatcher
from hashlib import sha256
from typing import Final, Literal

from kith.core.events import Judged, Locked, Notice
from kith.core.values import Change, Changes
from kith.edits.rows import rows_of
from kith.features.build.gates import secrets_gate
from kith.features.build.new_tests.failures import lexical_tests, wrong_reason
from kith.features.build.prompts import CHANGED_LOCKED, NO_TESTS, ask_for_tests
from kith.features.build.suite import NO_TOOLCHAIN, SuiteStanding, hold, is_of, run_tests, show_first
from kith.features.build.work import Work, begin, beside, between, speak
from kith.gates.reports import SuiteReport
from kith.gates.untouched import is_test_file

GATE: Final = "spec"
# Where new tests are made known to a build, beside the tests themselves.
_BUILD_SCRIPT: Final = re.compile(
    r"(?:.*/)?(?:CMakeLists\.txt|.*\.cmake|meson\.build|BUILD(?:\.bazel)?|.*\.mk)"
)
_UNTESTABLE: Final = (
    f"Nothing was applied: {NO_TOOLCHAIN} Add one (a configuration of pytest or CTest, a `test` target in "
    "the Makefile) and try again."
)
_PASS_ALREADY: Final = (
    "Your tests were not run, or they pass already, so they ask for nothing new. Each must fail until the "
    "task is done, and its file must be one that the test runner finds."
)


async def specify(work: Work) -> tuple[Literal["written"], str]:
    """The spec author writes the tests of a task, or corrects them."""
    task, last = work.build.piece.task, work.build.last
    thread, player = work.thread(task.id, "specify"), await work.cast("spec-author")
    corrected = last.text if last and thread.messages else ""
    await begin(work, player, thread, corrected or ask_for_tests(task, sorted(work.build.locked_files)))
    return "written", await speak(work, player, thread)


async def lock(work: Work) -> tuple[Literal["locked", "wrong", "limit", "untestable"], str]:
    """The new tests run; when they fail for the right reason, nobody may touch them any more."""
    written, fault = await keep_tests_only(work, work.build.piece.base)
    # Later gates look at code only, since nobody could mend what is locked.
    safe = await secrets_gate()(work.run, written)
    if fault or not written or not safe.ok:
        return _refuse(work, fault or safe.feedback or NO_TESTS)
    toolchains = await work.toolchains()
    if not toolchains:
        return "untestable", _UNTESTABLE
    async with beside(work, await work.trial.changes()) as fresh:
        report = await run_tests(fresh.run, toolchains, work.options.suite)
    locked = lock_files(work, written, report)
    standing = hold(report, [*work.build.locks, locked], work.build.baseline, work.build.before)
    fault = await _find_fault(work, written, standing)
    if fault:
        return _refuse(work, fault, report)
    work.tell(
        Judged(
            GATE,
            True,
            work.build.attempt,
            standing.letter(),
            (report.ran,),
            figures={name: standing.figures[name] for name in ("wanted", "reached")},
        )
    )
    work.tell(locked)
    return "locked", await show_first(work.run, standing, locked.files)


def _refuse(
    work: Work, fault: str, report: SuiteReport | None = None
) -> tuple[Literal["wrong", "limit"], str]:
    ran = (report.ran,) if report else ()
    work.tell(Judged(GATE, False, work.build.attempt, fault, ran))
    tried = work.build.piece.corrections >= work.options.max_retries
    return "limit" if tried else "wrong", fault


async def keep_tests_only(work: Work, checkpoint: str) -> tuple[Changes, str]:
    """Put back what is no test; returns the tests written since, and what was done to locked ones."""
    base = await work.changes_at(checkpoint)
    written = between(base, await work.changes())
    astray = [each for each in written if not (is_test_file(each.path) or _BUILD_SCRIPT.fullmatch(each.path))]
    astray += [each for each in written if each.after is None and each not in astray]
    spoilt = [each for each in written if each.path in work.build.locked_files and not _only_grew(each)]
    put_back = list(dict.fromkeys([*astray, *spoilt]))
    if put_back:
        await work.trial.apply(tuple(each.inverse for each in put_back))
        said = (
            f"Put back, since only new tests may be written now: {', '.join(each.path for each in put_back)}."
        )
        work.tell(Judged("tests-only", False, work.build.attempt, said))
        work.run.emit(Notice(said, "warning"))
    fault = f"{CHANGED_LOCKED}: {', '.join(each.path for each in spoilt)}." if spoilt else ""
    return tuple(each for each in written if each not in put_back and is_test_file(each.path)), fault


def _only_grew(change: Change) -> bool:
    """True if the change only added lines."""
    codes = SequenceMatcher(None, rows_of(change.before), rows_of(change.after), autojunk=False).get_opcodes()
    return change.after is not None and all(tag in ("equal", "insert") for tag, *_ in codes)


def lock_files(work: Work, written: Changes, report: SuiteReport) -> Locked:
    """The tests that are new, or changed, by their ids where they ran, else by their names."""
    tests: list[str] = []
    passed_before = set(work.build.baseline.tests if work.build.baseline else ())
    failed = {case.id for case in report.failed}
    for change in written:
        before, after = (lexical_tests(change.path, _text(each)) for each in (change.before, change.after))
        for name in after:
            ids = [case.id for case in report.cases if is_of(case.id, name)]
            changed = [id for id in ids if id in passed_before & failed]
            tests += changed if name in before else ids or [name]
    if not tests:  # in a language whose tests nobody here can read: what fails since they were written
        tests = sorted(failed - passed_before)
    files = {change.path: sha256(change.after or b"").hexdigest() for change in written}
    return Locked(work.build.task, files, tuple(dict.fromkeys(tests)))


def _text(content: bytes | None) -> str:
    return (content or b"").decode("utf-8", "replace")


async def _find_fault(work: Work, written: Changes, standing: SuiteStanding) -> str:
    """Explain the fault of the tests to their author."""
    task, files = work.build.piece.task, await work.files()
    promised = (task.title, task.text, *task.criteria, *task.files)
    texts = {each.path: _text(each.after) for each in written}
    earlier = {each.path: _text(each.before) for each in written if each.before is not None}
    fault = wrong_reason(standing.report, texts, files, promised, earlier)
    if not fault and standing.ok:
        return _PASS_ALREADY
    if fault or not standing.broken or not standing.report.built:
        return fault
    broken = ", ".join(standing.broken[:5])
    return f"Other tests fail since you wrote yours: {broken}. Leave them as they were."
