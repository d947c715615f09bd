"""The shell lines that make each runner leave a report, and measure coverage where that is asked for."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kith.gates.toolchain import BUILD_FOLDER, PYTHON, Toolchain, enter

REPORTS: Final = f"{BUILD_FOLDER}/reports"
END_OF_SCRIPT: Final = "END_OF_SCRIPT\n"
PARTS: Final = f"{REPORTS}/parts"
SOURCES: Final = "sources/"  # of files of tests, beside the reports
BUILT: Final = "built"  # a report of one word that says that the build is done
GOOGLETEST: Final = f'GTEST_OUTPUT="xml:$PWD/{REPORTS}/googletest/"'

# Every test counts, not only those before the first failure; short tracebacks name the functions.
PYTEST_OPTIONS: Final = (
    f"-o junit_family=xunit2 --junitxml={REPORTS}/pytest.xml"
    " --tb=short --maxfail=0 --continue-on-collection-errors"
)

_ELSEWHERE: Final = 4  # an exit code of the check below, which is pytest's for a wrong use
_IS_HERE: Final = """
import importlib.util, os, sys
here = os.path.realpath("") + os.sep
for name in sys.argv[1:]:
    try:
        spec = importlib.util.find_spec(name)
    except ImportError:
        spec = None
    path = os.path.realpath(spec.origin) if spec and spec.origin else here
    if not path.startswith(here) or "site-packages" in path[len(here):]:
        sys.exit(name + " is imported from " + path + ", which is not this tree")
"""


def leaves_reports() -> bool:
    """The lines are a POSIX shell's; elsewhere tests have an exit code and what they print."""
    return os.name == "posix"


def compose(toolchain: Toolchain, *, coverage: bool) -> str:
    """One shell line for the top of the tree: fresh reports, then configure, build and test.

    It ends with the tests' exit code.
    """
    # A link or a file of the project's own in that place is left alone, and nothing is reported.
    fresh = f"{{ [ ! -L {BUILD_FOLDER} ] && rm -rf {REPORTS} && mkdir -p {REPORTS}; }} 2>/dev/null"
    plain = f"{{ (\n{toolchain.here}\n); exit $?; }}"
    begin = f'echo "*" > {BUILD_FOLDER}/.gitignore; pwd > {REPORTS}/root'
    measure = toolchain.runner.measure if coverage and toolchain.coverage else None
    line = measure(toolchain) if measure else _build_and_test(toolchain)
    # What is listed is what will be read; the sandbox is gone by then.
    listing = f"(cd {REPORTS} && find . -type f -size -65536k > ../listing && mv ../listing .)"
    shown = "\n".join([begin, *_exports(toolchain)])
    if toolchain.installed:
        check = f"{PYTHON} -c {shlex.quote(_IS_HERE)} {shlex.join(toolchain.installed)}"
        line = f"{check} || exit {_ELSEWHERE}\n{line}"
    return (
        f"{enter(toolchain.folder)}{fresh} || {plain}\n{shown}\n(\n{line}\n)\ncode=$?\n{listing}\nexit $code"
    )


def _exports(toolchain: Toolchain) -> Iterator[str]:
    """The variables of a toolchain; paths are made absolute, since tests start programs in other folders."""
    if toolchain.language in ("C", "C++"):
        yield f"if command -v ccache >/dev/null; then {_CCACHE}; fi"
    if toolchain.language == "Ruby":
        yield 'export TESTOPTS="${TESTOPTS:--v}"'  # Minitest's: it names each test
    if toolchain.language in ("JavaScript", "TypeScript"):
        # Without a network npx would ask the registry for more than a minute for what is not installed.
        yield 'export npm_config_fetch_retries="${npm_config_fetch_retries:-0}"'
    for name, value in toolchain.env:
        if not name.endswith("PATH"):
            yield f"export {name}={shlex.quote(value)}"
            continue
        parts = [part if part.startswith("/") else f"$PWD/{part}" for part in value.split(":")]
        yield f'export {name}="{":".join(parts)}${{{name}:+:${name}}}"'


def add_script(file: Path) -> str:
    """Lines that put a script of kith into the folder of reports, which the sandbox can read."""
    return f"cat > {REPORTS}/{file.name} <<'END_OF_SCRIPT'\n{file.read_text('utf-8')}{END_OF_SCRIPT}"


def steps(configure: str, build: str, test: str) -> str:
    """Each step only when those before it went well; `test` may be several lines."""
    built = f"echo yes > {REPORTS}/{BUILT}" if build else ""
    return " && ".join(step for step in (configure, build, built, f"{{\n{test}\n}}") if step)


def _build_and_test(toolchain: Toolchain) -> str:
    return steps(toolchain.configure, toolchain.build, reporting(toolchain))


def reporting(toolchain: Toolchain) -> str:
    """The lines that run the tests of a built tree so that they leave their reports."""
    here = toolchain.runner.in_folder if toolchain.folder else ""
    line = (toolchain.runner.report or _any_report)(f"{toolchain.run}{here}")
    line = _collected(line, toolchain.reports) if toolchain.reports else line
    return _among_parts(line, toolchain) if toolchain.first or toolchain.last else line


def _among_parts(line: str, toolchain: Toolchain) -> str:
    """The line between commands with exit codes of their own; that of the line is the last one."""
    first, last = len(toolchain.first), (*toolchain.first, *toolchain.last)
    parts = [
        f"{{ (\n{part}\n) 2>&1; echo $? > {PARTS}/{number}.code; }} | tee {PARTS}/{number}.txt"
        for number, part in enumerate(last)
    ]
    path = 'export PATH="$PWD/node_modules/.bin:$PATH"'
    begin = [f"mkdir -p {PARTS}", path, *parts[:first]]
    return "\n".join([*begin, f"(\n{line}\n); tests=$?", *parts[first:], "(exit $tests)"])


def _collected(line: str, patterns: tuple[str, ...]) -> str:
    """The reports that the line wrote, each under a name of its own; older ones are of another tree."""
    there = " -o ".join(f"-path {shlex.quote(pattern)}" for pattern in patterns)
    return (
        # Times of files go by the kernel's clock, which ticks each 10 ms at the slowest.
        f"sleep 0.02\n{{\n{line}\n}}; tests=$?; mkdir -p {REPORTS}/junit; number=0\n"
        f"find . \\( {there} \\) -newer {REPORTS}/root | sort | while read -r file; do\n"
        f'number=$((number + 1)); cp "$file" "{REPORTS}/junit/$number.xml"\n'
        "done\n(exit $tests)"
    )


# What was compiled before is not compiled again because a file was written anew. It lies in the build folder,
# since a sandbox has no other place that lasts. No CCACHE_BASEDIR: it would take the folders from `__FILE__`.
_CCACHE: Final = (
    f'export CCACHE_DIR="$PWD/{BUILD_FOLDER}/ccache"'
    " CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache"
)


def _any_report(line: str) -> str:
    """A command of any kind: what it may start listens to these variables."""
    return f"export {GOOGLETEST}\nexport PYTEST_ADDOPTS={shlex.quote(PYTEST_OPTIONS)}\n{line}"
