"""Read the reports of pytest and unittest, with ids in their own spelling."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from kith.core.values import Ran
from kith.gates.reports import CaseResult, Outcome, ProjectPaths, worst_of
from kith.gates.results.junit import JUnitCase, read_junit
from kith.gates.results.report_commands import (
    END_OF_SCRIPT,
    PYTEST_OPTIONS,
    REPORTS,
    add_script,
    reporting,
)
from kith.gates.toolchain import PYTHON, Runner, Toolchain, narrow

_UNMEASURED: Final = "coverage.py is not installed for this Python, or it found nothing to measure"
_RUN_UNITTEST: Final = Path(__file__).with_name("run_unittest.py")

_CAPTURED: Final = re.compile(r"\n(?:Stdout|Stderr):\n.*", re.S)


def read_pytest(files: Mapping[str, bytes], place: ProjectPaths) -> tuple[CaseResult, ...]:
    """Ids as pytest takes them back: `path::Class::test[parameters]`; of a module that failed, its path."""
    entries = read_junit(files.get("pytest.xml", b""))
    return worst_of(
        place.case(
            _node_id(entry, place),
            entry.outcome,
            _without_prefix(entry.said if entry.group else entry.text),
            entry.text,
            entry.seconds,
            _error_of(entry),
        )
        for entry in entries
    )


def _error_of(entry: JUnitCase) -> str:
    """pytest names the type in its last line, or before the message; a bare `assert` has none there."""
    last = re.findall(r"^\S[^\n:]*:\d+: (?:in [^\n]+|([\w.]+))$", entry.text, re.M)
    first = _type_of(entry.said) or _type_of(_without_prefix(entry.text))
    asserted = "AssertionError" if entry.said.startswith("assert ") else ""
    return first or next((name for name in reversed(last) if name), asserted)


def _type_of(message: str) -> str:
    """The exception's name that a message begins with, without its module."""
    found = re.match(r"(?:[A-Za-z_]\w*\.)*([A-Z]\w*)(?=:|\s*$)", message.strip().split("\n", 1)[0])
    return found[1] if found else ""


def _node_id(entry: JUnitCase, place: ProjectPaths) -> str:
    """JUnit's `tests.test_a.Class` is a path, then classes; the files there are tell where the path ends."""
    dotted = entry.group or entry.name
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        path = "/".join(parts[:length])
        found = next((name for name in (f"{path}.py", _with_suffix(path)) if name in place.files), "")
        if found:
            return "::".join([found, *parts[length:], *([entry.name] if entry.group else [])])
    path = _dotted_path(dotted, place.files)
    return "::".join([path or dotted, *([entry.name] if entry.group else [])])


def _with_suffix(path: str) -> str:
    """Documents with doctests keep their suffix: `docs/index/rst` was `docs/index.rst`."""
    return re.sub(r"/(\w+)$", r".\1", path)


def _dotted_path(dotted: str, files: Iterable[str]) -> str:
    """For folders with dots in their names."""
    return next((path for path in files if path.removesuffix(".py").replace("/", ".") == dotted), "")


def _without_prefix(message: str) -> str:
    """pytest's E margin, where the message is a whole text."""
    marked = [line[1:].strip() for line in message.splitlines() if line.startswith("E  ")]
    return "\n".join(marked) or message


_VERBOSE: Final = re.compile(
    r"^(?P<test>\w+) \((?P<group>[\w.]+)\)(?:\n[^\n]*)? \.\.\. (?P<how>ok|FAIL|ERROR|skipped|expected)\b",
    re.M,
)
_BLOCK: Final = re.compile(
    r"^(?:FAIL|ERROR): (\w+) \(([\w.]+)\)[^\n]*\n(.*?)(?=^(?:={20}|-{20,}\nRan )|\Z)", re.M | re.S
)
_HOW: Final[Mapping[str, Outcome]] = {"FAIL": "failed", "ERROR": "error", "skipped": "skipped"}


def read_lines(output: str, place: ProjectPaths) -> tuple[CaseResult, ...]:
    """Parse unittest's verbose output (`-v`), whichever program started it."""
    blocks = {_dotted(name, group): text for name, group, text in _BLOCK.findall(output)}
    found = [
        (_dotted(match["test"], match["group"]), _HOW.get(match["how"], "passed"))
        for match in _VERBOSE.finditer(output)
    ]
    return worst_of(
        place.case(
            id, how, words := _last_words(blocks.get(id, "")), blocks.get(id, ""), error=_type_of(words)
        )
        for id, how in found
    )


def _dotted(test: str, group: str) -> str:
    """Since Python 3.11 the text in brackets ends with the test's own name."""
    return group if group.endswith(f".{test}") else f"{group}.{test}"


def read_unittest(files: Mapping[str, bytes], place: ProjectPaths) -> tuple[CaseResult, ...]:
    """Ids are dotted names: `package.module.Class.test`."""
    entries = read_junit(files.get("unittest.xml", b""))
    return worst_of(
        place.case(
            entry.name,
            entry.outcome,
            words := _last_words(entry.text),
            entry.text,
            entry.seconds,
            _type_of(words),
        )
        for entry in entries
    )


def _last_words(traceback: str) -> str:
    """The exception and its message: what follows the last frame's source."""
    lines = _CAPTURED.sub("", traceback).splitlines()
    frames = [at for at, line in enumerate(lines) if re.match(r'\s+File "', line)]
    after = lines[frames[-1] + 1 :] if frames else lines
    begin = next((at for at, line in enumerate(after) if line and not line[0].isspace()), 0)
    return "\n".join(after[begin:])


# The lines that leave reports, and measure coverage.


def _report_pytest(line: str) -> str:
    return f"{line} {PYTEST_OPTIONS}"


def _report_unittest(line: str) -> str:
    return f"{add_script(_RUN_UNITTEST)}{line.replace('-m unittest', f'{REPORTS}/run_unittest.py', 1)}"


def _report_django(line: str) -> str:
    """Run the script inside the runner; a project's own runner may start pytest, or only print."""
    script = line.replace(f"{PYTHON} ", f"{PYTHON} {REPORTS}/run_unittest.py --script ", 1)
    script += "" if re.search(r"\s(?:-v|--verbosity)", line) else " -v 2"  # so that every test is named
    return f"{add_script(_RUN_UNITTEST)}export PYTEST_ADDOPTS={shlex.quote(PYTEST_OPTIONS)}\n{script}"


def _measured_python(toolchain: Toolchain) -> str:
    """coverage.py where the project's environment has it; only pytest-cov measures pytest's workers."""
    reported = reporting(toolchain)
    head, _, body = reported.rpartition(END_OF_SCRIPT)
    measured = body.replace(PYTHON, f"{PYTHON} -m coverage run {toolchain.coverage}", 1)
    choices = [f"if ! {_can_import('coverage')}; then {body}", f"else {measured}"]
    if toolchain.runner.name == "pytest":
        by_plugin = f"{body} --cov=. --cov-branch --cov-report="
        alone = f"$({_can_import('xdist')} && echo '-n 0')"
        choices[1:] = [f"elif {_can_import('pytest_cov')}; then {by_plugin}", f"else {measured} {alone}"]
    told = f"{PYTHON} -m coverage json -q -i --fail-under=0 -o {REPORTS}/coverage.json >/dev/null 2>&1"
    script = f"{head}{END_OF_SCRIPT}" if head else ""
    return (
        f'{script}export COVERAGE_FILE="$PWD/{REPORTS}/.coverage"\n'
        f"{'; '.join(choices)}; fi\ntests=$?\n{told}\nexit $tests"
    )


def _can_import(module: str) -> str:
    return f"{PYTHON} -c 'import {module}' 2>/dev/null"


# The lines for some tests only.


def _choose_pytest(line: str, only: tuple[str, ...]) -> str:
    return f"{line} {shlex.join(only)}"


def _choose_unittest(line: str, only: tuple[str, ...]) -> str:
    """`-k` takes patterns over the dotted names; the start folder need not be a part of them."""
    patterns = (f"*{test[:-3].rpartition('/')[2]}.*" if test.endswith(".py") else f"*{test}" for test in only)
    return " ".join([line, *(f"-k {shlex.quote(pattern)}" for pattern in patterns)])


def _unittest_on(toolchain: Toolchain, files: Sequence[str]) -> Toolchain:
    named = shlex.join(toolchain.names_here(files))
    return replace(toolchain, run=f"{PYTHON} -m unittest {named}", targets="")


def _no_tests(ran: Ran) -> bool:
    return ran.code == 5


def _no_unittests(ran: Ran) -> bool:
    return "Ran 0 tests" in ran.output or ran.code == 5


PYTEST: Final = Runner(
    "pytest",
    report=_report_pytest,
    in_folder=" --rootdir=.",  # a manifest at the tree's top would make pytest name its tests from there
    read=lambda files, place, ran: read_pytest(files, place),
    choose=_choose_pytest,
    direct=narrow,
    measure=_measured_python,
    unmeasured=_UNMEASURED,
    found_none=_no_tests,
    always_reports=True,
    by_file=True,
)
UNITTEST: Final = Runner(
    "unittest",
    report=_report_unittest,
    read=lambda files, place, ran: read_unittest(files, place),
    choose=_choose_unittest,
    direct=_unittest_on,
    measure=_measured_python,
    unmeasured=_UNMEASURED,
    found_none=_no_unittests,
    always_reports=True,
    by_file=True,
    dotted=True,
)
# A script that hands its words on to Django, or Django's own.
DJANGO: Final = Runner(
    "django",
    report=_report_django,
    # A project's own runner may start pytest, or only print.
    read=lambda files, place, ran: read_unittest(files, place) if "unittest.xml" in files else None,
    choose=_choose_unittest,
    measure=_measured_python,
    unmeasured=_UNMEASURED,
    found_none=_no_unittests,
    by_file=True,
    dotted=True,
)
