"""Add tests for lines of a finished change that no test runs: they must notice planted faults."""

from typing import Final, Literal

from msgspec.structs import replace

from kith.core.events import Judged
from kith.core.values import Changes
from kith.features.build.gates import secrets_gate
from kith.features.build.prompts import NO_TESTS, ask_to_cover
from kith.features.build.specifying import keep_tests_only, lock_files
from kith.features.build.suite import hold, run_tests
from kith.features.build.work import Work, alone, begin, speak
from kith.features.testgen.mutants import show_mutant
from kith.features.testgen.mutation import mutation_score
from kith.features.testgen.target import CodeUnderTest, target_of_change

GATE: Final = "mutants"
_SECONDS: Final = 60.0  # for all mutants
_MUTANTS: Final = 12
_SHOWN: Final = 3


async def cover(work: Work) -> tuple[Literal["written"], str]:
    """The spec author adds tests for lines that no test runs, or corrects them."""
    build, thread, player = work.build, work.thread("cover"), await work.cast("spec-author")
    last = build.last
    words = last.text if last else ""
    if last and last.step == "finish":
        words = ask_to_cover([piece.task for piece in build.done], words, sorted(build.locked_files))
    await begin(work, player, thread, words)
    return "written", await speak(work, player, thread)


async def prove(work: Work) -> tuple[Literal["locked", "wrong", "limit"], str]:
    """The added tests must pass and notice faults in the lines that no test ran; then they are locked."""
    build = work.build
    fault = await _find_fault(work)
    work.tell(Judged(GATE, not fault, build.attempt, fault))
    if not fault:
        return "locked", ""
    if build.covers + 1 < work.options.max_retries:
        return "wrong", fault
    await work.trial.go_back(build.uncovered)
    return "limit", fault


async def _find_fault(work: Work) -> str:
    """Explain what is wrong with the added tests; "" locks them."""
    build = work.build
    written, fault = await keep_tests_only(work, build.uncovered)
    safe = await secrets_gate()(work.run, written)
    if fault or not written or not safe.ok:
        return fault or safe.feedback or NO_TESTS
    now = await work.trial.changes()
    async with alone(work, now) as fresh:
        report = await run_tests(fresh.run, await work.toolchains(), work.options.suite)
        added = lock_files(work, written, report)
        standing = hold(report, [*build.locks, added], build.baseline, build.before)
        fault = standing.letter() or await _find_vacuous(fresh, now, added.tests)
    if not fault:
        held = build.piece.locked
        files, tests = (held.files, held.tests) if held else ({}, ())
        work.tell(replace(added, files={**files, **added.files}, tests=(*tests, *added.tests)))
    return fault


async def _find_vacuous(work: Work, changes: Changes, tests: tuple[str, ...]) -> str:
    """Show faults planted in the uncovered lines, if the new tests notice none; else return ""."""
    targets = [target for each in changes if (target := _target(work, target_of_change(each)))]
    missed = []
    for toolchain in await work.toolchains():
        found = await mutation_score(
            work.run, toolchain, targets, tests, work.options.suite, _SECONDS, _MUTANTS
        )
        if found.killed:
            return ""
        missed += [*found.survived, *found.untested]
    if not missed:
        return ""  # nothing in these lines can be made wrong
    sources = {target.path: target.source for target in targets}
    shown = "\n\n".join(show_mutant(sources[each.path], each) for each in missed[:_SHOWN])
    return f"Your tests pass as well with these faults, so they check nothing:\n\n{shown}"


def _target(work: Work, target: CodeUnderTest | None) -> CodeUnderTest | None:
    """The uncovered lines of a target; all its new lines where a crash has lost which those were."""
    uncovered = work.tools.uncovered
    if target is None or not uncovered:
        return target
    lines = tuple((line, line) for line in sorted(uncovered.get(target.path, ())))
    return replace(target, lines=lines) if lines else None
