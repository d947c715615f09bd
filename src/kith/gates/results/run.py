"""Run a project's tests in a trial and read what they report."""

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from kith.core.errors import TreeError
from kith.core.run import Run
from kith.core.values import Ran
from kith.core.workspace import Command, ExecLimits, Trial
from kith.gates.reports import CaseResult, Coverage, SuiteReport
from kith.gates.results.cpp import Program, find_silent, name_programs
from kith.gates.results.measure import read_coverage
from kith.gates.results.place import Place
from kith.gates.results.problems import why_no_results, why_unmeasured
from kith.gates.results.read import read_cases, repair_output, was_built
from kith.gates.results.recipes import BUILT, REPORTS, compose, leaves_reports
from kith.gates.toolchains import Toolchain
from kith.gates.toolchains.narrow import narrow

_MOST_FILES: Final = 2_000
_MOST_BYTES: Final = 256_000_000  # of all reports together
_QUICK_S: Final = 5.0  # a program that took longer is not asked again for the names of its cases


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
    ran = replace(await trial.check(Command(line), limits), command=chosen.test)
    files = await _read_reports(trial)
    if toolchain.runner == "ctest":
        files = {**files, **await _ask_again(trial, find_silent(files, _QUICK_S), limits)}
    elif toolchain.runner == "program" and not any(name.startswith("googletest/") for name in files):
        files = {**files, **await _ask_again(trial, name_programs(chosen.run, ran.output), limits)}
    place = Place(files.get("root", b"").decode("utf-8", "replace").strip(), frozenset(await trial.files()))
    ran = repair_output(toolchain, files, ran)
    # A large report takes seconds to read, and a face must stay alive meanwhile.
    cases, measured = await asyncio.to_thread(_read, toolchain, files, place, ran)
    return SuiteReport(
        ran,
        cases,
        measured if coverage else None,
        why_no_results(toolchain, ran, cases),
        was_built(toolchain, files, ran, cases),
        why_unmeasured(toolchain, ran) if coverage and measured is None else "",
    )


def _read(
    toolchain: Toolchain, files: Mapping[str, bytes], place: Place, ran: Ran
) -> tuple[tuple[CaseResult, ...], Coverage | None]:
    return read_cases(toolchain, files, place, ran), read_coverage(files, place)


async def _read_reports(trial: Trial) -> dict[str, bytes]:
    """Every report by its name in the folder; what cannot be read is not there."""
    listed = (await _read_or_nothing(trial, "listing")).decode("utf-8", "replace").splitlines()
    names = sorted({name.removeprefix("./") for name in listed})[:_MOST_FILES]
    files: dict[str, bytes] = {}
    room = _MOST_BYTES
    for name in names or ("root", BUILT, "cargo.txt", "go.jsonl"):  # no list: the run was cut short
        data = await _read_or_nothing(trial, name)
        room -= len(data)
        if data and room > 0:
            files[name] = data
    return files


async def _read_or_nothing(trial: Trial, name: str) -> bytes:
    try:
        return await trial.read(f"{REPORTS}/{name}")
    except TreeError:
        return b""


async def _ask_again(trial: Trial, programs: Sequence[Program], limits: ExecLimits) -> Mapping[str, bytes]:
    """Catch2 and doctest name their cases in a report only; the first run of the program has judged it."""
    if not programs:
        return {}
    folder = f'"$root/{REPORTS}/catch2"'
    lines = [
        f"(cd {shlex.quote(program.folder or '.')} && {shlex.join((*program.command, *program.reporting))}"
        f"{'' if program.reporting[-1].endswith('=') else ' '}{folder}/{shlex.quote(program.report)})"
        for program in programs
    ]
    script = "\n".join([f'root="$PWD"; mkdir -p {folder}', *lines])
    await trial.check(Command(f"({script}) >/dev/null 2>&1"), limits)
    names = [f"catch2/{program.report}" for program in programs]
    return {name: await _read_or_nothing(trial, name) for name in names}
