"""The judge of a test: it runs, it passes on the code as it is, and it notices what no other test does."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kith.core.errors import UsageError
from kith.features.testgen.bench import WHOLE, Bench, cases_of, passes
from kith.features.testgen.mutants import Mutant
from kith.features.testgen.result import Dropped, Held, Ruling, why_failed
from kith.features.testgen.weigh import Candidate, weigh_tests
from kith.gates.reports import CaseResult, SuiteReport
from kith.gates.results.explain_failures import explain_report
from kith.gates.suites import Part, drop_parts, merge_tests

LETTER_CHARS: Final = 3_000
_RUNS: Final = 3
_PYTEST_USAGE: Final = 4  # pytest's exit code for options that it does not know
# Words of tests that may end differently each time.
_DOUBTFUL: Final = re.compile(
    r"\b(?:random|secrets|uuid|time|datetime|sleep|thread\w*|asyncio|multiprocessing|chrono|mt19937|rand|set)\b"
)


async def judge_tests(bench: Bench, written: bytes, held: Held, alive: Sequence[Mutant]) -> Ruling:
    """Judge the tests of `written` that `held` lacks, against the mutants that nothing noticed yet.

    Whatever the ruling, the file on the bench is what is held then.
    """
    ruling = await _judge(bench, written, held, alive)
    await bench.put(ruling.held.text)
    return ruling


async def _judge(bench: Bench, written: bytes, held: Held, alive: Sequence[Mutant]) -> Ruling:
    try:
        text = written if bench.whole else merge_tests(bench.out, held.text, written)
        parts = bench.parts(text)
    except SyntaxError as error:
        return Ruling(held, refusal=f"{bench.out}, line {error.lineno or 1}: {error.msg}. Send it again.")
    fresh = [part.name for part in parts if part.name not in held.kills] if not bench.whole else [WHOLE]
    if not fresh:
        return Ruling(held, refusal=f"{bench.out} holds no test that is not kept already. Write new ones.")
    await bench.put(text)
    report = await bench.test(coverage=True)
    if trouble := _trouble(bench, report):
        raise UsageError(f"{trouble[:1].upper()}{trouble[1:]}. Name another way to run tests: --check CMD.")
    if report.problem or not report.built or (parts and not report.cases):
        return Ruling(held, refusal=_refusal(report))
    if broken := _broken(held, parts, report):
        names = ", ".join(broken)
        return Ruling(
            held, refusal=f"Beside your file these kept tests fail: {names}. Use names of your own."
        )
    return await _sift(bench, Candidate(text, parts, fresh, report), held, alive)


async def _sift(bench: Bench, candidate: Candidate, held: Held, alive: Sequence[Mutant]) -> Ruling:
    """Drop the new tests that do not pass, and weigh the others."""
    text, parts, report = candidate.text, candidate.parts, candidate.report
    dropped = await _drop_unsound(bench, candidate)
    failures = explain_report(report, LETTER_CHARS) if any(each.suspect for each in dropped) else ""
    gone = {each.name for each in dropped}
    sound = [name for name in candidate.new if name not in gone]
    if not sound:
        return Ruling(held, tuple(dropped), failures)
    if gone:
        text = drop_parts(bench.out, text, gone)
        parts = bench.parts(text)
        await bench.put(text)
        report = await bench.test(coverage=True)
        if not all(passes(report, parts, name) for name in sound):
            return Ruling(held, tuple(dropped), failures, refusal=_refusal(report))
    asserting = {part.name for part in parts if part.asserts}
    # What asserts nothing still notices what breaks at once: it is kept only where no other test does.
    sound.sort(key=lambda name: name not in asserting)
    ruling = await weigh_tests(bench, Candidate(text, parts, sound, report), held, alive)
    return replace(ruling, dropped=(*dropped, *ruling.dropped), failures=failures)


def _trouble(bench: Bench, report: SuiteReport) -> str:
    """Why no test at all can run here, which no model could mend; "" when one could."""
    if report.problem:
        return "" if "no tests" in report.problem else report.problem
    if bench.toolchain.runner == "pytest" and report.ran.code == _PYTEST_USAGE and not report.cases:
        said = [line for line in report.ran.output.splitlines() if "error:" in line.lower()]
        return f"`{report.ran.command}` cannot begin: {said[0].strip() if said else 'its options are wrong'}"
    return ""


def _broken(held: Held, parts: Sequence[Part], report: SuiteReport) -> list[str]:
    """Tests that passed until the new ones stood beside them."""
    before = held.report
    return [
        name
        for name in held.kills
        if before and name and passes(before, parts, name) and not passes(report, parts, name)
    ]


# --- does it run, and pass -------------------------------------------------------------------


async def _drop_unsound(bench: Bench, candidate: Candidate) -> list[Dropped]:
    """The new tests that do not run, fail on the code as it is, or pass only now and then."""
    reports = [candidate.report]
    if _DOUBTFUL.search(candidate.text.decode("utf-8", "replace")):
        reports += [await bench.test() for _ in range(_RUNS - 1)]
    results = [cases_of(report, candidate.parts) for report in reports]
    found = ((name, [each.get(name, []) for each in results]) for name in candidate.new)
    return [Dropped(name, *fault) for name, runs in found if (fault := _fault(runs))]


def _fault(runs: Sequence[Sequence[CaseResult]]) -> tuple[str, bool] | None:
    """Why a test proves nothing, and whether the code may be to blame; None for one that passes each time."""
    failed = [[case for case in results if case.outcome in ("failed", "error")] for results in runs]
    if all(failed):
        return f"fails on the present code: {why_failed(failed[0][0])}", True
    if any(failed):
        return "passes only now and then", False
    if not any(case.outcome == "passed" for results in runs for case in results):
        return "was skipped" if any(runs) else "was not run", False
    return None


def _refusal(report: SuiteReport) -> str:
    told = explain_report(report, LETTER_CHARS) or report.problem or "No test in it was run."
    return f"Your tests could not be judged: {told}\n\nCorrect the file and send it again."
