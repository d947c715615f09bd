"""Which report is read how, and what it means that there is none."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from kith.core.values import Ran
from kith.gates.distil import failing_tests
from kith.gates.reports import CaseResult
from kith.gates.results.cpp import read_ctest, read_googletest, read_program
from kith.gates.results.others import go_output, read_cargo, read_go, read_jest, read_mocha, read_node
from kith.gates.results.place import Place
from kith.gates.results.python import read_lines, read_pytest, read_unittest, worst_of
from kith.gates.results.recipes import BUILT
from kith.gates.toolchains import Toolchain

_READERS: Final = {
    "pytest": read_pytest,
    "unittest": read_unittest,
    "cargo": read_cargo,
    "go": read_go,
    "node": read_node,
    "jest": read_jest,
    "vitest": read_jest,
    "mocha": read_mocha,
    "program": read_program,
}
_NOT_COLLECTED: Final = re.compile(
    r"^(?:[^\n]*: (?:fatal )?error: |error(?:\[E\d+\])?: |CMake Error|make: \*\*\* No rule)"
    r"|^_+ ERROR collecting |\[(?:build|setup) failed\]|Interrupted: \d+ errors? during collection",
    re.M,
)


def read_cases(
    toolchain: Toolchain, files: Mapping[str, bytes], place: Place, ran: Ran
) -> tuple[CaseResult, ...]:
    """Every test that is known of; where there is no report, the failures that the output names."""
    read = _READERS.get(toolchain.runner)
    if toolchain.runner == "ctest":
        cases = read_ctest(files, place, ran.output)
    elif read:
        cases = read(files, place)
    else:
        cases = _read_any(files, place, ran)
    if cases or ran.code == 0:
        return cases
    return tuple(CaseResult(name, "failed") for name in sorted(failing_tests(ran.output)))


def _read_any(files: Mapping[str, bytes], place: Place, ran: Ran) -> tuple[CaseResult, ...]:
    """A command may mean its tests to fail: its exit code counts, and no report that contradicts it."""
    reported = worst_of([*read_googletest(files, place), *read_pytest(files, place)])
    cases = reported or read_lines(ran.output, place)
    failing = any(case.outcome in ("failed", "error") for case in cases)
    return () if failing and ran.code == 0 else cases


def was_built(
    toolchain: Toolchain, files: Mapping[str, bytes], ran: Ran, cases: tuple[CaseResult, ...]
) -> bool:
    """Whether tests could run: a build leaves its mark; elsewhere no test ended and a compiler spoke."""
    if toolchain.build and files:
        return BUILT in files
    ended = any(case.outcome in ("passed", "failed") for case in cases)
    return ran.code == 0 or ended or not _NOT_COLLECTED.search(ran.output)


def repair_output(toolchain: Toolchain, files: Mapping[str, bytes], ran: Ran) -> Ran:
    """What Go prints goes into its report, so it is put back."""
    told = go_output(files)[-20_000:] if toolchain.runner == "go" else ""
    return replace(ran, output=ran.output + told) if told else ran
