"""Run a project's tests in a trial and read what they report, or say why they report nothing."""

import asyncio
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from kith.core.errors import TreeError
from kith.core.patterns import lazy_pattern
from kith.core.run import Run
from kith.core.values import Ran, join_cut
from kith.core.workspace import ExecLimits, ShellCommand, Trial
from kith.gates.failure_output import clean_output, failing_tests
from kith.gates.reports import CaseResult, Coverage, ProjectPaths, SuiteReport, seen_from_top, worst_of
from kith.gates.results.coverage import read_coverage
from kith.gates.results.printed_lines import read_printed
from kith.gates.results.report_commands import BUILT, REPORTS, SOURCES, compose, leaves_reports
from kith.gates.runners.cpp import read_googletest
from kith.gates.runners.python import read_pytest
from kith.gates.toolchain import Program, Toolchain, narrow

_NOT_COLLECTED: Final = re.compile(
    r"^(?:[^\n]*: (?:fatal )?error: |error(?:\[E\d+\])?: |CMake Error|make: \*\*\* No rule)"
    r"|^_+ ERROR collecting |\[(?:build|setup) failed\]|Interrupted: \d+ errors? during collection",
    re.M,
)


def read_cases(
    toolchain: Toolchain, files: Mapping[str, bytes], place: ProjectPaths, ran: Ran
) -> tuple[CaseResult, ...]:
    """Every test that is known of; where there is no report, the failures that the output names."""
    read = toolchain.runner.read
    found = read(files, place, ran) if read else None
    cases = _read_any(files, place, ran) if found is None else found
    if cases or ran.code == 0:
        return cases
    shown = shorten(ran, ExecLimits().output)
    return tuple(CaseResult(name, "failed") for name in sorted(failing_tests(shown.output)))


def _read_any(files: Mapping[str, bytes], place: ProjectPaths, ran: Ran) -> tuple[CaseResult, ...]:
    """A command may mean its tests to fail: its exit code counts, and no report that contradicts it.

    Of a cut output the middle is missing, and other tests with each run.
    """
    reported = worst_of([*read_googletest(files, place), *read_pytest(files, place)])
    cases = reported or (() if ran.cut else read_printed(ran.output, place))
    failing = any(case.outcome in ("failed", "error") for case in cases)
    return () if failing and ran.code == 0 else cases


def shorten(ran: Ran, most: int) -> Ran:
    """Keep the first third and the last two thirds of `most` bytes of the output."""
    data = ran.output.encode("utf-8", "replace")
    if len(data) <= most:
        return ran
    head, tail = data[: most // 3], data[len(data) - (most - most // 3) :]
    cut = ran.cut + len(data) - most
    return replace(ran, output=join_cut(head, tail, cut).decode("utf-8", "replace"), cut=cut)


def was_built(
    toolchain: Toolchain, files: Mapping[str, bytes], ran: Ran, cases: tuple[CaseResult, ...]
) -> bool:
    """True if tests could run: a build leaves its mark; elsewhere no compiler error stopped them."""
    if toolchain.build and files:
        return BUILT in files
    ended = any(case.outcome in ("passed", "failed") for case in cases)
    return ran.code == 0 or ended or not _NOT_COLLECTED.search(ran.output)


def repair_output(toolchain: Toolchain, files: Mapping[str, bytes], ran: Ran) -> Ran:
    """Put the output back that a runner such as Go's writes to its report."""
    told = toolchain.runner.printed(files)[-20_000:] if toolchain.runner.printed else ""
    return replace(ran, output=ran.output + told) if told else ran


# Why a run of tests says nothing, in a sentence for the person.


def why_no_results(toolchain: Toolchain, ran: Ran, cases: tuple[CaseResult, ...], reporting: bool) -> str:
    """Explain why these tests have no result; "" when they ran. `reporting`: a report could have come out."""
    if cases:
        return ""
    if ran.code == 127:
        return f"`{ran.command}` is not installed here, so it was not run"
    if "no module named pytest" in ran.output.lower():
        return f"`{ran.command}` could not run: pytest is not installed for this Python"
    if _found_none(toolchain, ran):
        return f"`{ran.command}` found no tests"
    if ran.code == 0 and toolchain.runner.always_reports and (reporting or not _COUNTED.search(ran.output)):
        # Somebody ended the process before it could.
        return f"`{ran.command}` ended without a test report"
    return ""


# What runners say that end well without a test: CTest, Meson, Node, jest, vitest, Mocha.
_SAYS_NONE: Final = lazy_pattern(
    r"^(?:No tests were found!!!|No tests defined\.|(?:#|\u2139) tests 0|\s+0 passing.*"
    r"|No tests? (?:files? )?found\b.*)$",
    re.M,
)
# Other parts of the same command may have tests all the same.
_SAYS_SOME: Final = lazy_pattern(
    r"^(?:#|\u2139) tests [1-9]|^\s*(?:Tests?:?\s.*?)?\b[1-9]\d* (?:tests? )?(?:passing|passed|failed)\b",
    re.M,
)
# An inner make tells of a goal that may be a build: the tests behind it may be silent.
_MAKE_SAYS: Final = lazy_pattern(
    r"make(?:\[\d+\])?: (?:Entering|Leaving) directory .*"
    r"|(make: (?:Nothing to be done for .*|.* is up to date\.)"
    r"|make\[\d+\]: (?:Nothing to be done for )?['`][^']*(?:test|check)[^']*'(?:\.| is up to date\.))"
)


# The last lines of pytest and unittest, which both print whether or not they leave a report.
_COUNTED: Final = lazy_pattern(
    r"\b\d+ (?:passed|failed|skipped|xfailed|xpassed|warnings?)\b|^Ran \d+ tests?", re.M
)


def _found_none(toolchain: Toolchain, ran: Ran) -> bool:
    if toolchain.runner.found_none:
        return toolchain.runner.found_none(ran)
    if ran.code:
        return False
    said = [_MAKE_SAYS.fullmatch(line) for line in ran.output.strip().splitlines()]
    if _SAYS_NONE.search(ran.output):
        return not _SAYS_SOME.search(ran.output)
    return all(said) and any(each and each[1] for each in said)


def why_unmeasured(toolchain: Toolchain, ran: Ran) -> str:
    """Explain why coverage is missing although it was requested."""
    if not toolchain.coverage:
        return f"kith cannot measure the coverage of `{toolchain.test}`"
    if ran.timed_out:
        return "the tests timed out before their coverage could be measured"
    return toolchain.runner.unmeasured


_MOST_FILES: Final = 2_000
_MOST_BYTES: Final = 256_000_000  # of all reports together
_MOST_PRINTED: Final = 4_000_000  # bytes of the output that are searched for names of tests


async def run_suite(
    run: Run, toolchain: Toolchain, limits: ExecLimits, *, coverage: bool = False, only: Sequence[str] = ()
) -> SuiteReport:
    """Configure, build and test in the trial that `run.workspace` is.

    `only` names tests, by the ids of earlier reports, or files of tests; a runner that cannot choose runs
    more than was asked. What the run leaves behind (caches, reports) is not part of the change. The exit
    code is the tests' own, whatever a report says. Raises TypeError outside a trial.
    """
    trial = run.workspace
    if not isinstance(trial, Trial):
        raise TypeError("tests run in a trial only")
    chosen = narrow(toolchain, only)
    line = compose(chosen, coverage=coverage) if leaves_reports() else chosen.test
    # Tests are named anywhere in the output; what is kept of it is what the caller asked for.
    wide = replace(limits, output=max(limits.output, _MOST_PRINTED))
    printed = await trial.check(ShellCommand(line), wide)
    printed = replace(printed, command=chosen.test, output=clean_output(printed.output))
    files = await _read_reports(trial, toolchain.folder)
    printed = repair_output(toolchain, files, printed)
    ran = shorten(printed, limits.output)
    if again := chosen.runner.again:
        files |= await _ask_again(trial, toolchain.folder, again(chosen, files, ran), limits)
    top = f"{toolchain.folder}/" if toolchain.folder else ""
    there = frozenset(path.removeprefix(top) for path in await trial.files() if path.startswith(top))
    place = ProjectPaths(files.get("root", b"").decode("utf-8", "replace").strip(), there)
    if wants := toolchain.runner.wants:
        wanted = await asyncio.to_thread(wants, files, place)
        known = await trial.read_many([f"{top}{path}" for path in wanted])
        files |= {f"{SOURCES}{path.removeprefix(top)}": data for path, data in known.items()}
    # A large report takes seconds to read, and a face must stay alive meanwhile.
    cases, measured, sources = await asyncio.to_thread(_read, toolchain, files, place, printed)
    report = SuiteReport(
        ran,
        cases,
        measured if coverage else None,
        why_no_results(toolchain, ran, cases, bool(files)),
        was_built(toolchain, files, ran, cases),
        why_unmeasured(toolchain, ran) if coverage and measured is None else "",
        sources,
        tuple(_read_parts(chosen, files, limits.output)),
        unreported=not files,
    )
    return seen_from_top(report, toolchain.folder, toolchain.prefix) if toolchain.folder else report


def _read_parts(toolchain: Toolchain, files: Mapping[str, bytes], most: int) -> Iterator[Ran]:
    """The commands around the tests, as far as they ended."""
    for number, command in enumerate((*toolchain.first, *toolchain.last)):
        code = files.get(f"parts/{number}.code", b"").strip()
        said = files.get(f"parts/{number}.txt", b"").decode("utf-8", "replace")
        if code.isdigit():
            yield shorten(Ran(command, int(code), clean_output(said), 0.0), most)


def _read(
    toolchain: Toolchain, files: Mapping[str, bytes], place: ProjectPaths, ran: Ran
) -> tuple[tuple[CaseResult, ...], Coverage | None, tuple[str, ...]]:
    sources = toolchain.runner.sources(files, place) if toolchain.runner.sources else ()
    return read_cases(toolchain, files, place, ran), read_coverage(files, place), tuple(sorted(sources))


async def _read_reports(trial: Trial, folder: str) -> dict[str, bytes]:
    """Every report of the project in a folder, by its name; what cannot be read is not there."""
    listed = (await _read_or_nothing(trial, folder, "listing")).decode("utf-8", "replace").splitlines()
    names = sorted({name.removeprefix("./") for name in listed})[:_MOST_FILES]
    files: dict[str, bytes] = {}
    room = _MOST_BYTES
    for name in names or ("root", BUILT, "cargo.txt", "go.jsonl"):  # no list: the run was cut short
        data = await _read_or_nothing(trial, folder, name)
        room -= len(data)
        if data and room > 0:
            files[name] = data
    return files


async def _read_or_nothing(trial: Trial, folder: str, name: str) -> bytes:
    try:
        return await trial.read(posixpath.join(folder, REPORTS, name))
    except TreeError:
        return b""


async def _ask_again(
    trial: Trial, folder: str, programs: Sequence[Program], limits: ExecLimits
) -> Mapping[str, bytes]:
    """Catch2 and doctest name their cases in a report only; the first run of the program has judged it."""
    if not programs:
        return {}
    reports = f'"$root/{REPORTS}/catch2"'
    lines = [
        f"(cd {shlex.quote(program.folder or '.')} && {shlex.join((*program.command, *program.reporting))}"
        f"{'' if program.reporting[-1].endswith('=') else ' '}{reports}/{shlex.quote(program.report)})"
        for program in programs
    ]
    script = "\n".join([f'cd {shlex.quote(f"./{folder}")}; root="$PWD"; mkdir -p {reports}', *lines])
    await trial.check(ShellCommand(f"({script}) >/dev/null 2>&1"), limits)
    names = [f"catch2/{program.report}" for program in programs]
    return {name: await _read_or_nothing(trial, folder, name) for name in names}
