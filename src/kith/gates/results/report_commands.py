"""The shell lines that make each runner leave a report, and measure coverage where that is asked for."""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from kith.gates.runners.cpp import COMPILED, LINKED
from kith.gates.toolchain import BUILD_FOLDER, PYTHON, Toolchain, enter, hand_on
from kith.gates.toolchains.cmake import COVERAGE_FOLDER

_SCRIPTS: Final = Path(__file__).parents[1] / "runners"
REPORTS: Final = f"{BUILD_FOLDER}/reports"
PARTS: Final = f"{REPORTS}/parts"
BUILT: Final = "built"  # a report of one word that says that the build is done
MANY: Final = 200  # runs of one googletest program after which a file for each costs too much
_GOOGLETEST: Final = f'GTEST_OUTPUT="xml:$PWD/{REPORTS}/googletest/"'

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
    work = _WITH_COVERAGE.get(toolchain.runner) if coverage and toolchain.coverage else None
    line = work(toolchain) if work else _steps(toolchain.configure, toolchain.build, _reporting(toolchain))
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


def _steps(configure: str, build: str, test: str) -> str:
    """Each step only when those before it went well; `test` may be several lines."""
    built = f"echo yes > {REPORTS}/{BUILT}" if build else ""
    return " && ".join(step for step in (configure, build, built, f"{{\n{test}\n}}") if step)


def _reporting(toolchain: Toolchain) -> str:
    # A manifest at the tree's top would make pytest name its tests from there.
    here = " --rootdir=." if toolchain.folder and toolchain.runner == "pytest" else ""
    line = _REPORTING.get(toolchain.runner, _command)(f"{toolchain.run}{here}")
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


# --- Python ----------------------------------------------------------------------------------

_JUNIT: Final = f"-o junit_family=xunit2 --junitxml={REPORTS}/pytest.xml"
# Every test counts, not only those before the first failure; short tracebacks name the functions.
_THOROUGH: Final = "--tb=short --maxfail=0 --continue-on-collection-errors"


def _pytest(line: str) -> str:
    return f"{line} {_JUNIT} {_THOROUGH}"


def _unittest(line: str) -> str:
    return f"{_unittest_runner()}{line.replace('-m unittest', f'{REPORTS}/run_unittest.py', 1)}"


def _django(line: str) -> str:
    """Run the script inside the runner; a project's own runner may start pytest, or only print."""
    script = line.replace(f"{PYTHON} ", f"{PYTHON} {REPORTS}/run_unittest.py --script ", 1)
    script += "" if re.search(r"\s(?:-v|--verbosity)", line) else " -v 2"  # so that every test is named
    return f"{_unittest_runner()}export PYTEST_ADDOPTS={shlex.quote(f'{_JUNIT} {_THOROUGH}')}\n{script}"


def _unittest_runner() -> str:
    """The runner goes into the folder of reports, since what measures coverage wants a file."""
    script = (_SCRIPTS / "run_unittest.py").read_text("utf-8")
    return f"cat > {REPORTS}/run_unittest.py <<'END_OF_RUNNER'\n{script}END_OF_RUNNER\n"


def _measured_python(toolchain: Toolchain) -> str:
    """coverage.py where the project's environment has it; only pytest-cov measures pytest's workers."""
    reported = _reporting(toolchain)
    head, _, body = reported.rpartition("END_OF_RUNNER\n")
    measured = body.replace(PYTHON, f"{PYTHON} -m coverage run {toolchain.coverage}", 1)
    choices = [f"if ! {_can_import('coverage')}; then {body}", f"else {measured}"]
    if toolchain.runner == "pytest":
        by_plugin = f"{body} --cov=. --cov-branch --cov-report="
        alone = f"$({_can_import('xdist')} && echo '-n 0')"
        choices[1:] = [f"elif {_can_import('pytest_cov')}; then {by_plugin}", f"else {measured} {alone}"]
    told = f"{PYTHON} -m coverage json -q -i --fail-under=0 -o {REPORTS}/coverage.json >/dev/null 2>&1"
    script = f"{head}END_OF_RUNNER\n" if head else ""
    return (
        f'{script}export COVERAGE_FILE="$PWD/{REPORTS}/.coverage"\n'
        f"{'; '.join(choices)}; fi\ntests=$?\n{told}\nexit $tests"
    )


def _can_import(module: str) -> str:
    return f"{PYTHON} -c 'import {module}' 2>/dev/null"


# --- C and C++ -------------------------------------------------------------------------------

# What was compiled before is not compiled again because a file was written anew. It lies in the build folder,
# since a sandbox has no other place that lasts. No CCACHE_BASEDIR: it would take the folders from `__FILE__`.
_CCACHE: Final = (
    f'export CCACHE_DIR="$PWD/{BUILD_FOLDER}/ccache"'
    " CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache"
)


def _ctest(line: str) -> str:
    chdir = re.search(r"cmake -E chdir (\S+) ctest", line)
    folder = chdir[1] if chdir else BUILD_FOLDER
    junit = line.replace("ctest ", f'ctest --output-junit "$PWD/{REPORTS}/ctest.xml" ', 1)
    listed = f"{REPORTS}/ctest.json"
    return (
        f"cmake -E chdir {folder} ctest --show-only=json-v1 > {listed} 2>/dev/null\n"
        f"cp {folder}/{COMPILED} {REPORTS} 2>/dev/null\n"
        f"{{ find {folder} -path '*.dir/link.txt' -exec grep -Ho -e ' -o [^ ]*' {{}} +\n"
        f"grep -o '^build [^:|]*: C[A-Z]*_EXECUTABLE_LINKER_[^ ]* [^ ]*' {folder}/build.ninja\n"
        f"}} > {REPORTS}/{LINKED} 2>/dev/null\n"
        f'[ "$(grep -c gtest_filter {listed})" -gt {MANY} ] || export {_GOOGLETEST}\n{junit}'
    )


def _measured_cmake(toolchain: Toolchain) -> str:
    """A build of its own whose objects count; the compiler's own reader of these counts belongs to it."""
    folder, flags = COVERAGE_FOLDER, f'"$CXXFLAGS {toolchain.coverage}"'
    there = replace(
        toolchain,
        configure=toolchain.configure.replace(BUILD_FOLDER, folder),
        build=toolchain.build.replace(BUILD_FOLDER, folder),
        run=toolchain.run.replace(BUILD_FOLDER, folder),
    )
    configure = f"CFLAGS={flags} CXXFLAGS={flags} LDFLAGS={flags} {there.configure}"
    forget = f"find {folder} -name '*.gcda' -delete"
    steps = _steps(configure, f"{there.build} && {forget}", _reporting(there))
    gcov = f"$(grep -q 'COMPILER:.*clang' {folder}/CMakeCache.txt && echo 'llvm-cov gcov' || echo gcov)"
    gcovr = f'gcovr --json -o {REPORTS}/gcovr.json -r . --gcov-executable "{gcov}" {folder}'
    plain = (
        f"find \"$PWD/{folder}\" -name '*.gcda' -exec gcov --json-format --branch-probabilities --stdout"
        f" {{}} + > {REPORTS}/gcov.jsonl"
    )
    choice = f"if command -v gcovr >/dev/null; then {gcovr}; else {plain}; fi"
    return f"{steps}\ntests=$?\n({choice}) >/dev/null 2>&1\nexit $tests"


# --- the others ------------------------------------------------------------------------------


def _cargo(line: str) -> str:
    """The whole list of tests, which a clipped output may lack; compilers speak on the other stream."""
    return f"RUST_BACKTRACE=1 {line} > {REPORTS}/cargo.txt; tests=$?; cat {REPORTS}/cargo.txt; exit $tests"


def _go(line: str) -> str:
    return line.replace("go test", "go test -json", 1) + f" > {REPORTS}/go.jsonl"


def _node(line: str) -> str:
    """The options come by the environment, since a script's own words end the list of them."""
    address = 'require("node:url").pathToFileURL(process.argv[1]).href'  # of a folder with a `#`, or a space
    two = (
        "--test-reporter=spec --test-reporter-destination=stdout "
        f"--test-reporter=$reporter --test-reporter-destination={REPORTS}/tests.jsonl"
    )
    return (
        f"{_reporter('report_node.mjs')}"
        f'reporter="$(node -p \'{address}\' "$PWD/{REPORTS}/report_node.mjs" 2>/dev/null)"\n'
        f'NODE_OPTIONS="{two}" node -e 0 2>/dev/null && export NODE_OPTIONS="{two}"\n{line}'
    )


def _jest(line: str) -> str:
    return hand_on(line, f'--json --outputFile="$PWD/{REPORTS}/jest.json"')


def _vitest(line: str) -> str:
    return hand_on(
        line, f'--run --reporter=default --reporter=json --outputFile.json="$PWD/{REPORTS}/vitest.json"'
    )


def _mocha(line: str) -> str:
    """Its reporter lies among the project's files, so that the project's own Mocha is found from there."""
    return _reporter("report_mocha.cjs") + hand_on(line, f'--reporter "$PWD/{REPORTS}/report_mocha.cjs"')


def _reporter(name: str) -> str:
    """Lines that put a reporter into the folder of reports."""
    script = (_SCRIPTS / name).read_text("utf-8")
    return f"cat > {REPORTS}/{name} <<'END_OF_REPORTER'\n{script}END_OF_REPORTER\n"


def _program(line: str) -> str:
    return f"export {_GOOGLETEST}\n{line}"


def _phpunit(line: str) -> str:
    return f"mkdir -p {REPORTS}/junit\n{line} --log-junit {REPORTS}/junit/phpunit.xml"


def _rspec(line: str) -> str:
    return f"{line} --no-fail-fast --format progress --format json --out {REPORTS}/rspec.json"


def _command(line: str) -> str:
    """A command of any kind: what it may start listens to these variables."""
    return f"export {_GOOGLETEST}\nexport PYTEST_ADDOPTS={shlex.quote(f'{_JUNIT} {_THOROUGH}')}\n{line}"


_REPORTING: Final[Mapping[str, Callable[[str], str]]] = {
    "pytest": _pytest,
    "unittest": _unittest,
    "django": _django,
    "ctest": _ctest,
    "cargo": _cargo,
    "go": _go,
    "node": _node,
    "jest": _jest,
    "vitest": _vitest,
    "mocha": _mocha,
    "program": _program,
    "phpunit": _phpunit,
    "rspec": _rspec,
}
_WITH_COVERAGE: Final[Mapping[str, Callable[[Toolchain], str]]] = {
    "pytest": _measured_python,
    "unittest": _measured_python,
    "django": _measured_python,
    "ctest": _measured_cmake,
    "program": _measured_cmake,
}
