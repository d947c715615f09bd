"""The judge of a test: it runs, it passes on the code as it is, and it notices what no other test does."""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from kith.core.errors import UsageError
from kith.features.testgen.merging import (
    drop_parts,
    merge_tests,
)
from kith.features.testgen.mutants import Mutant
from kith.features.testgen.mutation import (
    WHOLE,
    MutationBench,
    TriedMutant,
    cases_of,
    mutant_limits,
    names_of,
    passes,
    try_mutant,
    try_mutants,
)
from kith.features.testgen.target import CodeUnderTest
from kith.gates.evidence.feedback import explain_report
from kith.gates.reports import CaseResult, Coverage, SuiteReport
from kith.gates.runners.python import PYTEST
from kith.gates.suites import Part

# The results of writing tests: what was kept and why, what was not, and what nothing covers.


class Dropped(Struct, frozen=True):
    """A test that was not kept. `suspect`: it fails on the present code, which may be a bug of the code."""

    name: str
    reason: str
    suspect: bool = False


class KeptTests(Struct, frozen=True):
    """The tests kept so far: the file, the mutants that each was the first to notice, its run."""

    text: bytes = b""
    kills: Mapping[str, tuple[Mutant, ...]] = field(default_factory=dict)
    report: SuiteReport | None = None

    @property
    def coverage(self) -> Coverage | None:
        return self.report.coverage if self.report else None


class TestRuling(Struct, frozen=True):
    """The judge's ruling on one candidate: what is held now, what was dropped, the fate of mutants.

    `refusal` is a message to the model when the file as a whole tells nothing.
    """

    held: KeptTests
    dropped: tuple[Dropped, ...] = ()
    failures: str = ""
    tried: tuple[TriedMutant, ...] = ()
    refusal: str = ""


class TestsWritten(Struct, frozen=True):
    """The tests for one target: `kept` maps each to the mutants that it was the first to notice.

    Coverage is the part of the target's lines that ran, None where nobody measured.
    """

    target: str
    out: str
    kept: Mapping[str, int] = field(default_factory=dict)
    dropped: tuple[Dropped, ...] = ()
    killed: tuple[Mutant, ...] = ()
    alive: tuple[Mutant, ...] = ()
    untried: int = 0
    before: float | None = None
    after: float | None = None
    uncovered: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def mutants(self) -> int:
        return len(self.killed) + len(self.alive)


def why_failed(case: CaseResult) -> str:
    """A failed test in one line."""
    return (case.message.strip().splitlines() or ["no message"])[0][:200]


# The judge of a test: it runs, it passes on the code as it is, and it notices what no other test does.


PROMPT_CHARS: Final = 3_000
_RUNS: Final = 3
_PYTEST_USAGE: Final = 4  # pytest's exit code for options that it does not know
# Words of tests that may end differently each time.
_DOUBTFUL: Final = re.compile(
    r"\b(?:random|secrets|uuid|time|datetime|sleep|thread\w*|asyncio|multiprocessing|chrono|mt19937|rand|set)\b"
)


class Candidate(Struct, frozen=True):
    """A file of tests that pass: its parts, the names of the new ones, and its run on the code as it is.

    The new ones are in the order in which they are asked: the first to notice a mutant is kept.
    """

    text: bytes
    parts: Sequence[Part]
    new: Sequence[str]
    report: SuiteReport

    def ids(self, name: str) -> tuple[str, ...]:
        """The ids by which the runner runs one test, with all its parameters."""
        found = (case.id for case in cases_of(self.report, self.parts).get(name, ()) if case.id)
        return tuple(dict.fromkeys(re.sub(r"\[.*\]$", "", id, flags=re.S) for id in found))

    def without(self, out: str, names: Sequence[str]) -> bytes:
        return drop_parts(out, self.text, names) if names else self.text


async def judge_tests(
    bench: MutationBench, written: bytes, held: KeptTests, alive: Sequence[Mutant]
) -> TestRuling:
    """Judge the tests of `written` that `held` lacks, against the mutants that nothing noticed yet.

    Whatever the ruling, the file on the bench is what is held then.
    """
    ruling = await _judge(bench, written, held, alive)
    await bench.put(ruling.held.text)
    return ruling


async def _judge(
    bench: MutationBench, written: bytes, held: KeptTests, alive: Sequence[Mutant]
) -> TestRuling:
    try:
        text = written if bench.whole else merge_tests(bench.out, held.text, written)
        parts = bench.parts(text)
    except SyntaxError as error:
        return TestRuling(held, refusal=f"{bench.out}, line {error.lineno or 1}: {error.msg}. Send it again.")
    fresh = [part.name for part in parts if part.name not in held.kills] if not bench.whole else [WHOLE]
    if not fresh:
        return TestRuling(
            held, refusal=f"{bench.out} holds no test that is not kept already. Write new ones."
        )
    await bench.put(text)
    report = await bench.test(coverage=True)
    if trouble := _trouble(bench, report):
        raise UsageError(f"{trouble[:1].upper()}{trouble[1:]}. Name another way to run tests: --check CMD.")
    if report.problem or not report.built or (parts and not report.cases):
        return TestRuling(held, refusal=_refusal(report))
    if broken := _broken(held, parts, report):
        names = ", ".join(broken)
        return TestRuling(
            held, refusal=f"Beside your file these kept tests fail: {names}. Use names of your own."
        )
    return await _sift(bench, Candidate(text, parts, fresh, report), held, alive)


async def _sift(
    bench: MutationBench, candidate: Candidate, held: KeptTests, alive: Sequence[Mutant]
) -> TestRuling:
    """Drop the new tests that do not pass, and weigh the others."""
    text, parts, report = candidate.text, candidate.parts, candidate.report
    dropped = await _drop_unsound(bench, candidate)
    failures = explain_report(report, PROMPT_CHARS) if any(each.suspect for each in dropped) else ""
    gone = {each.name for each in dropped}
    sound = [name for name in candidate.new if name not in gone]
    if not sound:
        return TestRuling(held, tuple(dropped), failures)
    if gone:
        text = drop_parts(bench.out, text, gone)
        parts = bench.parts(text)
        await bench.put(text)
        report = await bench.test(coverage=True)
        if not all(passes(report, parts, name) for name in sound):
            return TestRuling(held, tuple(dropped), failures, refusal=_refusal(report))
    asserting = {part.name for part in parts if part.asserts}
    # What asserts nothing still notices what breaks at once: it is kept only where no other test does.
    sound.sort(key=lambda name: name not in asserting)
    ruling = await weigh_tests(bench, Candidate(text, parts, sound, report), held, alive)
    return replace(ruling, dropped=(*dropped, *ruling.dropped), failures=failures)


def _trouble(bench: MutationBench, report: SuiteReport) -> str:
    """The reason why no test at all can run here, whatever a model does; "" when one could."""
    if report.problem:
        return "" if "no tests" in report.problem else report.problem
    if bench.toolchain.runner is PYTEST and report.ran.code == _PYTEST_USAGE and not report.cases:
        said = [line for line in report.ran.output.splitlines() if "error:" in line.lower()]
        return f"`{report.ran.command}` cannot begin: {said[0].strip() if said else 'its options are wrong'}"
    return ""


def _broken(held: KeptTests, parts: Sequence[Part], report: SuiteReport) -> list[str]:
    """Tests that passed without the new ones."""
    before = held.report
    return [
        name
        for name in held.kills
        if before and name and passes(before, parts, name) and not passes(report, parts, name)
    ]


# --- does it run, and pass -------------------------------------------------------------------


async def _drop_unsound(bench: MutationBench, candidate: Candidate) -> list[Dropped]:
    """The new tests that do not run, fail on the code as it is, or pass only now and then."""
    reports = [candidate.report]
    if _DOUBTFUL.search(candidate.text.decode("utf-8", "replace")):
        reports += [await bench.test() for _ in range(_RUNS - 1)]
    results = [cases_of(report, candidate.parts) for report in reports]
    found = ((name, [each.get(name, []) for each in results]) for name in candidate.new)
    return [Dropped(name, *fault) for name, runs in found if (fault := _fault(runs))]


def _fault(runs: Sequence[Sequence[CaseResult]]) -> tuple[str, bool] | None:
    """Say why a test proves nothing, and whether the code may be to blame; None if it always passes."""
    failed = [[case for case in results if case.outcome in ("failed", "error")] for results in runs]
    if all(failed):
        return f"fails on the present code: {why_failed(failed[0][0])}", True
    if any(failed):
        return "passes only now and then", False
    if not any(case.outcome == "passed" for results in runs for case in results):
        return "was skipped" if any(runs) else "was not run", False
    return None


def _refusal(report: SuiteReport) -> str:
    told = explain_report(report, PROMPT_CHARS) or report.problem or "No test in it was run."
    return f"Your tests could not be judged: {told}\n\nCorrect the file and send it again."


# --- what tests that pass are worth ----------------------------------------------------------


async def weigh_tests(
    bench: MutationBench, candidate: Candidate, held: KeptTests, alive: Sequence[Mutant]
) -> TestRuling:
    """Keep the tests that notice a mutant which no kept one notices, or run what no kept one runs."""
    ids = [id for name in candidate.new for id in candidate.ids(name)] or bench.all
    found = await try_mutants(bench.run, bench.toolchain, alive, ids, candidate.report, bench.seconds_left)
    tried = tuple([await _settle(bench, each, candidate) for each in found])
    kills = share_out(tried, candidate)
    if bench.whole and len(kills.get(WHOLE, ())) <= len(held.kills.get(WHOLE, ())):
        kills = {}  # another version of the same program, and no better
    measured = MeasuredFiles(bench, {candidate.text: candidate.report})
    idle = [name for name in candidate.new if name not in kills]
    kills |= dict.fromkeys(await _that_run_more(measured, candidate, idle), ())
    useless = [name for name in candidate.new if name not in kills]
    dropped = [Dropped(name, _why_useless(candidate, name)) for name in useless]
    if not kills:
        return TestRuling(held, tuple(dropped), tried=tried)
    text = candidate.without(bench.out, useless)
    report = await measured.run(text)
    leaning = [name for name in kills if not passes(report, candidate.parts, name)]
    if leaning:
        dropped += [Dropped(name, "passes only beside tests that were dropped") for name in leaning]
        text = candidate.without(bench.out, [*useless, *leaning])
        report = await measured.run(text)
    kept = {name: seen for name, seen in kills.items() if name not in leaning}
    now = KeptTests(text, {**held.kills, **kept}, report)
    return TestRuling(now if kept else held, tuple(dropped), tried=tried)


class MeasuredFiles(Struct, frozen=True):
    """Files of tests, each run once on the code as it is."""

    bench: MutationBench
    known: dict[bytes, SuiteReport]

    async def run(self, text: bytes) -> SuiteReport:
        if text not in self.known:
            await self.bench.put(text)
            self.known[text] = await self.bench.test(coverage=True)
        return self.known[text]

    async def coverage(self, text: bytes) -> Coverage:
        """The coverage of a file of tests; nothing where it holds none."""
        return ((await self.run(text)).coverage if text else None) or Coverage({}, {})


async def _settle(bench: MutationBench, tried: TriedMutant, candidate: Candidate) -> TriedMutant:
    """A mutant that broke the run as a whole: the tests are asked one by one, until one notices it."""
    if not tried.broke or len(candidate.new) == 1:
        return tried
    limits = mutant_limits(candidate.report)
    for name in candidate.new:
        ids = candidate.ids(name)
        if not bench.seconds_left:
            break
        alone = await try_mutant(bench.run, bench.toolchain, limits, tried.mutant, ids)
        if alone.state == "killed":
            return replace(alone, by=frozenset(ids), broke=False)
    return tried


def share_out(tried: Sequence[TriedMutant], candidate: Candidate) -> dict[str, tuple[Mutant, ...]]:
    """The new tests that notice a mutant which none before them notices; with those."""
    kills: dict[str, tuple[Mutant, ...]] = {}
    left = [each for each in tried if each.state == "killed"]
    for name in candidate.new:
        own = [each for each in left if each.broke or name in names_of(each.by, candidate.parts)]
        if own:
            kills[name] = tuple(each.mutant for each in own)
            left = [each for each in left if each not in own]
    return kills


async def _that_run_more(measured: MeasuredFiles, candidate: Candidate, idle: Sequence[str]) -> list[str]:
    """Those idle tests that assert something and run a line or branch that no other kept test runs."""
    bench, all_run = measured.bench, candidate.report.coverage
    asserting = {part.name for part in candidate.parts if part.asserts}
    hopeful = [name for name in idle if name in asserting]
    if not hopeful or all_run is None:
        return []
    gone, kept = list(idle), list[str]()
    known = await measured.coverage(candidate.without(bench.out, gone))
    for name in hopeful:
        if not _runs_more(all_run, known, bench.target) or not bench.seconds_left:
            break
        fewer = [each for each in gone if each != name]
        now = await measured.coverage(candidate.without(bench.out, fewer))
        if _runs_more(now, known, bench.target):
            kept.append(name)
            gone, known = fewer, now
    return kept


def _runs_more(one: Coverage, other: Coverage, target: CodeUnderTest) -> bool:
    """Of the target's functions; what importing it runs is no test's merit."""
    ran, inside = one.ran.get(target.path, frozenset()), body_lines(target.path, target.source)
    more = ran - other.ran.get(target.path, frozenset())
    if any(target.holds(line) and (inside is None or line in inside) for line in more):
        return True
    branches, known = (each.branches.get(target.path, (0, 0))[0] for each in (one, other))
    return branches > known and bool(other.ran)


def _why_useless(candidate: Candidate, name: str) -> str:
    part = next((part for part in candidate.parts if part.name == name), None)
    if part is not None and not part.asserts:
        return "asserts nothing"
    return "notices no fault that the kept tests miss"


# --- lines that run only when called ---------------------------------------------------------


_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def body_lines(path: str, source: bytes) -> frozenset[int] | None:
    """The lines inside functions, from 1; None for every line, where a file does nothing by being read.

    Python runs the rest of a file when it is imported, which says nothing of the tests that import it.
    """
    if not path.endswith(".py"):
        return None
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    lines = set[int]()
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            lines.update(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
    return frozenset(lines)
