"""Ask the project's own tools: how it is built and tested, what linters say, what tests cover."""

import hashlib
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Any, Final

from msgspec import Struct

from kith.agent.ecosystems import ecosystems
from kith.agent.linters import find_linters, lint_clues
from kith.core.codec import decode, encode
from kith.core.events import Progress
from kith.core.run import Run
from kith.core.values import Finding
from kith.core.workspace import ExecLimits, ShellCommand, read_readable
from kith.features.scan.facts import ScanCache, keep, recall
from kith.features.scan.report import Commands, Covered, LintFindings, Survey
from kith.gates.linters import Linter, allowed_linters, run_linter
from kith.gates.reports import ProjectPaths
from kith.gates.results.coverage import read_coverage
from kith.gates.toolchain import PYTHON
from kith.gates.toolchains import choose_clues, find_toolchains

QUICK_FILES: Final = 2_000  # files that linters look at without being asked to
_QUICK_S: Final = 20.0  # seconds that all of them may take together then
_PATIENT_S: Final = 900.0
_FINDINGS: Final = 2_000  # kept, of each report
_TOOL_LIMITS: Final = ExecLimits(seconds=20.0)
_REPORTS: Final = {  # where coverage tools leave their reports, and what reads them
    "coverage.json": "coverage.json",
    "gcovr.json": "gcovr.json",
    "coverage/gcovr.json": "gcovr.json",
    "build/gcovr.json": "gcovr.json",
}
_OWN: Final = ".kith-coverage.json"  # in a trial
_LCOV: Final = ("lcov.info", "coverage/lcov.info", "coverage.lcov", "build/lcov.info", "build/coverage.info")


async def find_commands(run: Run, files: Sequence[str]) -> tuple[Commands, ...]:
    """Find how the project is configured, built and tested, as its own files say."""
    contents = await read_readable(run.workspace, choose_clues(files, ecosystems()))
    return tuple(
        Commands(
            each.name,
            each.language,
            each.why,
            *(line and each.from_top(line) for line in (each.configure, each.build, each.run)),
        )
        for each in find_toolchains(files, contents.get, ecosystems())
    )


# --- coverage ----------------------------------------------------------------------------------


async def find_coverage(run: Run, files: Sequence[str]) -> Covered:
    """Read the newest known report of coverage; nothing is run but coverage.py on its own data."""
    place = ProjectPaths(run.workspace.root.as_posix(), frozenset(files))
    for path, content in (await read_readable(run.workspace, _REPORTS)).items():
        if coverage := read_coverage({_REPORTS[path]: content}, place):
            return Covered(coverage.share, path)
    for path, content in (await read_readable(run.workspace, _LCOV)).items():
        if share := _read_lcov(content):
            return Covered(share, path)
    return await _ask_coverage_py(run, place)


def _read_lcov(content: bytes) -> float | None:
    """The share of lines that ran: https://github.com/linux-test-project/lcov, LH and LF of geninfo(1)."""
    hit = found = 0
    for line in content.splitlines():
        name, _, number = line.partition(b":")
        if name in (b"LH", b"LF") and number.strip().isdigit():
            hit += int(number) * (name == b"LH")
            found += int(number) * (name == b"LF")
    return hit / found if found else None


async def _ask_coverage_py(run: Run, place: ProjectPaths) -> Covered:
    if not run.workspace.confined or not await read_readable(run.workspace, [".coverage"]):
        return Covered()
    async with run.workspace.trial() as trial:
        ran = await trial.check(ShellCommand(f"{PYTHON} -m coverage json -q -o {_OWN}"), _TOOL_LIMITS)
        told = await read_readable(trial, [_OWN]) if ran.code == 0 else {}
    coverage = read_coverage({"coverage.json": told.get(_OWN, b"")}, place)
    return Covered(coverage.share, ".coverage") if coverage else Covered()


# --- linters -----------------------------------------------------------------------------------


class Patience(Struct, frozen=True):
    """The time for linters: none, little, or all they need."""

    lint: bool = True
    patient: bool = False


async def lint(run: Run, notes: ScanCache, survey: Survey, folder: str, patience: Patience) -> LintFindings:
    """Run linters and type checkers on these files, and tell which of them did not run.

    Unless they were asked for, they are left out where there are many files or no sandbox, and get 20 s
    together. What they found is kept until one of the files changes.
    """
    if not patience.lint:
        return LintFindings(problems=("not run: --no-lint",))
    linters = find_linters(survey.files, (await read_readable(run.workspace, lint_clues(survey.files))).get)
    paths = [path for path in survey.facts if any(each.understands(path) for each in linters)]
    names = tuple(each.name for each in linters)
    if not paths:
        return LintFindings()
    if not patience.patient and len(paths) > QUICK_FILES:
        return LintFindings(problems=(f"not run on {len(paths):,} files; --lint runs {', '.join(names)}",))
    if not patience.patient and not run.workspace.confined:
        return LintFindings(problems=(f"not run without a sandbox; --lint runs {', '.join(names)}",))
    rests_on = _digest(survey, paths, (*names, str(run.workspace.confined)), patience.patient)
    told = recall(notes, f"lint {folder}", rests_on)
    if told is None:
        found = await _run_all(run, linters, paths, _PATIENT_S if patience.patient else _QUICK_S)
        told = encode(found)
        keep(notes, f"lint {folder}", rests_on, told)
    linted: LintFindings = decode(told, LintFindings)
    return linted


def _digest(survey: Survey, paths: Iterable[str], names: Sequence[str], patient: bool) -> str:
    """A digest of what the findings rest on. After installing a linter, ask with --lint once."""
    hashed = hashlib.sha256(repr((names, patient)).encode())
    for path in paths:
        hashed.update(path.encode("utf-8", "surrogateescape") + b"\0" + survey.digests[path])
    return hashed.hexdigest()


async def _run_all(run: Run, linters: Sequence[Linter], paths: Sequence[str], seconds: float) -> LintFindings:
    wanted, deadline = frozenset(paths), monotonic() + seconds
    found: set[Finding] = set()
    tools: list[str] = []
    linters, refused = allowed_linters(run, linters)
    problems = [*refused]
    async with run.workspace.trial() as trial:
        for number, linter in enumerate(linters):
            run.emit(Progress(f"running {linter.name}", number, len(linters)))
            left = ExecLimits(seconds=max(1.0, deadline - monotonic()))
            linted = await run_linter(run.inside(trial), linter, paths, left)
            found.update(each for each in linted.findings if each.path in wanted)
            if linted.problem:
                problems.append(linted.problem)
            else:
                tools.append(linter.name)
    order = sorted(found, key=_order)
    return LintFindings(tuple(tools), tuple(order[:_FINDINGS]), tuple(problems))


def _order(finding: Finding) -> tuple[Any, ...]:
    severity = ("error", "warning", "note").index(finding.severity)
    return severity, finding.path, finding.line, finding.by, finding.rule, finding.text
