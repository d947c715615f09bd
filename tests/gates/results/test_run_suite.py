"""Real runners in a real trial: what they report, with and without coverage, all tests or some."""

import ast
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from gating import LIMITS, in_trial, make_repository, write_all
from kith.agent.ecosystems import ecosystems
from kith.core.run import Run
from kith.core.values import Changes, Ran
from kith.core.workspace import ExecLimits, Trial
from kith.gates.evidence.feedback import explain_report, first_fault
from kith.gates.reports import SuiteReport
from kith.gates.results.missing_needs import Blocked, blocked_cases, why_blocked
from kith.gates.results.report_commands import compose
from kith.gates.results.run import run_suite, why_no_results
from kith.gates.runners import run_unittest
from kith.gates.toolchain import BUILD_FOLDER, Toolchain
from kith.gates.toolchains import choose_clues, find_candidates, find_toolchains
from runners import RUNNERS

pytestmark = pytest.mark.usefixtures("sandbox")

LIB = (
    "def half(n):\n    if n:\n        return n / 2\n    raise ValueError(n)\n\n\ndef never():\n    return 1\n"
)
PYTEST = {
    "pytest.ini": "[pytest]\n",
    "lib.py": LIB,
    "tests/test_lib.py": """\
import json
import pytest
from lib import half

class TestHalf:
    @pytest.mark.parametrize("n", [2, 3], ids=["a.b::c", "[3]"])
    def test_one(self, n):
        assert half(n) == 1

def test_zero():
    half(0)

def test_library():
    json.loads("{")

@pytest.mark.skip
def test_later(): ...
""",
}
UNITTEST = {
    "lib.py": LIB,
    "tests/__init__.py": "",
    "tests/test_lib.py": """\
import unittest
import lib

class Half(unittest.TestCase):
    def test_two(self):
        self.assertEqual(lib.half(2), 1)

    def test_zero(self):
        lib.half(0)

    def test_each(self):
        for n in (2, 4):
            with self.subTest(n=n):
                self.assertEqual(lib.half(n), 1, "<\\x1b[0m]]>")

class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("no disk")

    def test_never(self): ...
""",
    "tests/test_gone.py": "import unittest, nowhere\n",
}


async def find(run: Run) -> Toolchain:
    files = await run.workspace.files()
    contents = {path: await run.workspace.read(path) for path in choose_clues(files, ecosystems())}
    (toolchain,) = find_toolchains(files, contents.get, ecosystems())
    return toolchain


def report_on(
    folder: Path,
    files: Mapping[str, str],
    *,
    coverage: bool = False,
    only: tuple[str, ...] = (),
    limits: ExecLimits = LIMITS,
) -> tuple[SuiteReport, Changes]:
    async def work(home: Run, run: Run) -> tuple[SuiteReport, Changes]:
        assert isinstance(run.workspace, Trial)
        report = await run_suite(run, await find(run), limits, coverage=coverage, only=only)
        return report, await run.workspace.changes()

    return in_trial(make_repository(folder / "project", files), work)


@pytest.mark.slow
def test_pytest(tmp_path: Path) -> None:
    report, changes = report_on(tmp_path, PYTEST, coverage=True)
    assert {case.id: case.outcome for case in report.cases} == {
        "tests/test_lib.py::TestHalf::test_one[a.b::c]": "passed",
        "tests/test_lib.py::TestHalf::test_one[[3]]": "failed",
        "tests/test_lib.py::test_zero": "failed",
        "tests/test_lib.py::test_library": "failed",
        "tests/test_lib.py::test_later": "skipped",
    }
    one, zero, library = report.failed
    assert (one.path, one.line, one.message.splitlines()[0]) == ("tests/test_lib.py", 8, "assert 1.5 == 1")
    assert zero.frames == ("tests/test_lib.py:11 in test_zero", "lib.py:4 in half")
    assert (zero.message, one.error, zero.error) == ("ValueError: 0", "AssertionError", "ValueError")
    assert library.frames == (
        "tests/test_lib.py:14 in test_library",
    )  # the library's own are nobody's business
    assert (
        report.coverage and report.coverage.missed["lib.py"] == {8} and "lib.py" in report.coverage.branches
    )
    assert report.figures == {
        "tests": 5,
        "skipped": 1,
        "failed": 3,
        "coverage": pytest.approx(report.coverage.share, abs=1e-4),
    }
    assert (report.ran.command, report.ran.code, changes) == ("python3 -m pytest -q", 1, ())


@pytest.mark.slow
def test_only_some_tests_by_the_ids_of_a_report_or_by_file(tmp_path: Path) -> None:
    ids = ("tests/test_lib.py::TestHalf::test_one[a.b::c]", "tests/test_lib.py::test_later")
    report, _ = report_on(tmp_path, PYTEST, only=ids)
    assert report.ok and tuple(case.id for case in report.cases) == ids
    report, _ = report_on(tmp_path / "other", UNITTEST, only=("tests.test_lib.Half.test_two",))
    assert report.passed == {"tests.test_lib.Half.test_two"}
    assert report.ran.command == "python3 -m unittest discover -k '*tests.test_lib.Half.test_two'"


def test_unittest(tmp_path: Path) -> None:
    report, changes = report_on(tmp_path, UNITTEST, coverage=True)
    assert {case.id: case.outcome for case in report.cases} == {
        "tests.test_lib.Half.test_each": "failed",
        "tests.test_lib.Half.test_two": "passed",
        "tests.test_lib.Half.test_zero": "error",
        "setUpClass (tests.test_lib.Broken)": "error",
        "tests.test_gone": "error",
    }
    told = {case.id: case for case in report.failed}
    zero = told["tests.test_lib.Half.test_zero"]
    assert (
        zero.frames == ("tests/test_lib.py:9 in test_zero", "lib.py:4 in half")
        and zero.message == "ValueError: 0"
        and zero.error == "ValueError"
    )
    assert told["tests.test_lib.Half.test_each"].message == "AssertionError: 2.0 != 1 : <?[0m]]>"
    assert told["tests.test_gone"].message == "ModuleNotFoundError: No module named 'nowhere'"
    assert report.coverage and report.coverage.missed["lib.py"] == {8}
    assert (report.ran.code, report.built, changes) == (1, True, ())


# A script that has unittest run the tests of an app, as Django's does: with words on stdout that wait in a
# buffer, and a test that logs before its result is printed.
SCRIPT = """
import sys, unittest

assert sys.argv == ["manage.py", "test", "--noinput", *sys.argv[3:]]
print("  Applying app.0001_initial...", end="")
from app import tests
patterns = [word for before, word in zip(sys.argv, sys.argv[1:]) if before == "-k"] or None
loader = unittest.TestLoader()
loader.testNamePatterns = patterns
result = unittest.TextTestRunner().run(loader.loadTestsFromModule(tests))
sys.exit(bool(result.failures))
"""
APP_TESTS = """
import sys, unittest


class Orders(unittest.TestCase):
    def test_a_first(self):
        print("Not Found: /x", file=sys.stderr)

    def test_b_second(self):
        self.assertEqual(1, 2)
"""
APP = {"manage.py": SCRIPT, "app/__init__.py": "", "app/tests.py": APP_TESTS}


def test_a_script_that_has_unittest_run_the_tests(tmp_path: Path) -> None:
    report, _ = report_on(tmp_path, APP)
    assert {case.id: case.outcome for case in report.cases} == {
        "app.tests.Orders.test_a_first": "passed",
        "app.tests.Orders.test_b_second": "failed",
    }
    assert report.failed[0].message == "AssertionError: 1 != 2"
    assert (report.ran.command, report.ran.code) == ("python3 manage.py test --noinput", 1)
    report, _ = report_on(tmp_path / "other", APP, only=("app.tests.Orders.test_a_first",))
    assert report.ok and report.passed == {"app.tests.Orders.test_a_first"}


def test_a_script_with_a_runner_of_its_own_is_read_by_what_it_prints(tmp_path: Path) -> None:
    own = SCRIPT.replace("unittest.TextTestRunner()", "Own(verbosity=2)").replace(
        "from app",
        "class Own(unittest.TextTestRunner):\n    def run(self, tests):\n"
        "        result = self._makeResult()\n        tests(result)\n"
        "        result.printErrors()\n        return result\n\nfrom app",
    )
    report, _ = report_on(tmp_path, APP | {"manage.py": own})
    assert [case.outcome for case in report.failed] == ["failed"] and report.ran.code == 1


@pytest.mark.slow
def test_a_test_may_be_called_test_case(tmp_path: Path) -> None:
    named = "import unittest\n\nclass Kind(unittest.TestCase):\n    def test_case(self):\n        pass\n"
    report, _ = report_on(tmp_path, {"test_kind.py": named})  # as simplejson
    assert {case.id: case.outcome for case in report.cases} == {"test_kind.Kind.test_case": "passed"}


def test_a_module_that_cannot_be_loaded_stops_no_other(tmp_path: Path) -> None:
    files = {"pytest.ini": "[pytest]\naddopts = -x\n", "test_a.py": "import nowhere\n"}
    report, _ = report_on(tmp_path, files)
    assert not report.built and [case.id for case in report.failed] == ["test_a.py"]
    assert first_fault(report) == "A test fails: test_a.py: ModuleNotFoundError: No module named 'nowhere'"
    more = {"test_b.py": "def test_b(): ...\n", "test_c.py": "def test_c(): assert 0\ndef test_d(): ...\n"}
    report, _ = report_on(tmp_path / "more", {**files, **more})
    assert report.built and report.passed == {"test_b.py::test_b", "test_c.py::test_d"}
    assert [case.id for case in report.failed] == ["test_a.py", "test_c.py::test_c"]


@pytest.mark.slow
def test_variables_are_for_programs_that_tests_start_too(tmp_path: Path) -> None:
    asks = "import subprocess, sys, pkg\n\ndef test_it(tmp_path):\n"
    asks += "    subprocess.run([sys.executable, '-c', 'import pkg'], cwd=tmp_path, check=True)\n"
    files = {"src/pkg/__init__.py": "", "tests/test_a.py": asks, "pytest.ini": "[pytest]\n"}

    async def work(home: Run, run: Run) -> SuiteReport:
        contents = {path: text.encode() for path, text in files.items()}
        ((first, _),) = find_candidates(contents, contents.get, ecosystems())
        return await run_suite(run, first, LIMITS)

    report = in_trial(make_repository(tmp_path / "project", files), work)
    assert report.passed == {"tests/test_a.py::test_it"}
    assert report.ran.command == "PYTHONPATH=src python3 -m pytest -q"


@pytest.mark.parametrize(
    ("runner", "output", "none"),
    [
        ("ctest", "Test project /p\nNo tests were found!!!\n", True),
        ("junit", "ninja: no work to do.\nNo tests defined.\n", True),
        ("node", "\u2139 tests 0\n\u2139 suites 0\n", True),
        ("node", "# tests 0\n# pass 0\n", True),
        ("node", "# tests 10\n", False),
        ("mocha", "\n  0 passing (1ms)\n", True),
        ("mocha", "\n  10 passing (1ms)\n", False),
        ("jest", "No tests found, exiting with code 0\n", True),
        ("vitest", "No test files found, exiting with code 0\n", True),
        ("go", "?   \texample.org/a\t[no test files]\n", True),
        ("cargo", "running 0 tests\n", True),
        ("command", "make: Nothing to be done for 'test'.\n", True),
        ("command", "make: 'test' is up to date.\n", True),
        ("command", "make[1]: Entering directory '/p'\nmake[1]: 'check' is up to date.\n", True),
        ("command", "No tests found, exiting with code 0\n\n  12 passing (8ms)\n", False),
        ("command", "\u2139 tests 0\n\u2139 pass 0\nTests:       3 passed, 3 total\n", False),
        ("command", "# tests 0\n# tests 4\n# pass 4\n", False),
        ("command", "\n  0 passing (1ms)\n\nTests:       1 skipped, 1 total\n", True),
        ("command", "make[1]: Nothing to be done for 'all'.\n", False),
        ("command", "./unit\nok\nmake[1]: Nothing to be done for 'check'.\n", False),
        ("command", "", False),
    ],
)
def test_a_command_that_ends_well_without_a_test_says_nothing(runner: str, output: str, none: bool) -> None:
    made = Toolchain("x", "", "", "run", RUNNERS[runner])
    problem = "`run` found no tests" if none else ""
    assert why_no_results(made, Ran("run", 0, output, 1.0), ()) == problem
    assert why_no_results(made, Ran("run", 1, output, 1.0), ()) == ""


@pytest.mark.slow
def test_what_says_nothing_is_told(tmp_path: Path) -> None:
    report, _ = report_on(tmp_path, {"pytest.ini": "[pytest]\n"})
    assert report.problem == "`python3 -m pytest -q` found no tests"
    make = {"Makefile": "test:\n\t@sh -c 'exit 3'\n"}
    report, _ = report_on(tmp_path / "make", make, coverage=True)
    assert (report.problem, report.cases, report.ok) == ("", (), False)
    assert report.unmeasured == "kith cannot measure the coverage of `make test`"


@pytest.mark.slow
def test_stale_and_forged_reports_count_for_nothing(tmp_path: Path) -> None:
    forged = "<testsuites><testcase classname='test_a' name='test_a'/></testsuites>"
    files = {
        "pytest.ini": "[pytest]\n",
        "test_a.py": "import os\n\ndef test_a():\n    os._exit(9)\n",
        f"{BUILD_FOLDER}/reports/pytest.xml": forged,
        f"{BUILD_FOLDER}/reports/listing": "./pytest.xml\n../../../../etc/passwd\n",
    }
    report, _ = report_on(tmp_path, files)
    assert (report.ok, report.ran.code, report.cases) == (False, 9, ())


@pytest.mark.slow
def test_a_file_in_the_place_of_the_reports_folder(tmp_path: Path) -> None:
    files = {"pytest.ini": "[pytest]\n", "test_a.py": "def test_a(): assert 0\n", BUILD_FOLDER: "a file\n"}
    report, _ = report_on(tmp_path, files)
    assert not report.ok and "assert 0" in explain_report(report, 2_000)


@pytest.mark.slow
def test_reports_of_a_command_that_starts_pytest(tmp_path: Path) -> None:
    rule = "test:\n\tpython3 -m pytest checks/a.py\n"
    report, _ = report_on(tmp_path, {"Makefile": rule, "checks/a.py": "def test_a(): ...\n"})
    assert report.passed == {"checks/a.py::test_a"} and report.ran.command == "make test"


LONG = "the long name of a test, number 1500"


def test_names_in_the_middle_of_a_long_output(tmp_path: Path) -> None:
    script = 'BEGIN { print "1.." 3000; for (n = 1; n <= 3000; n++)\n' + (
        '  print (n == 1500 ? "not ok " : "ok ") n " - the long name of a test, number " n; exit 1 }'
    )
    rule = "test:\n\t@echo before; sleep 600 & awk -f tests.awk\n"
    report, _ = report_on(tmp_path, {"Makefile": rule, "tests.awk": script})
    assert len(report.passed) == 2999 and [case.id for case in report.failed] == [LONG]
    assert report.ran.cut and len(report.ran.output) < 31_000 and report.ran.output.startswith("before\n1..")
    assert report.ran.code == 2 and LONG not in report.ran.output


def test_output_without_terminal_codes(tmp_path: Path) -> None:
    script = "printf '\\033[1m\\033[31m FAIL \\033[0m chains\\n'; exit 1\n"
    report, _ = report_on(tmp_path, {"Makefile": "test:\n\t@sh colours.sh\n", "colours.sh": script})
    assert report.ran.output.startswith(" FAIL  chains\n")


def test_the_unittest_runner_is_for_python_3_8() -> None:
    ast.parse(Path(run_unittest.__file__).read_text(), feature_version=(3, 8))


LACKING = {
    "pyproject.toml": "[project]\ndependencies = ['leftpad-of-nobody']\n[tool.pytest.ini_options]\n"
    "addopts = '--nowhere=1'\nrequired_plugins = ['pytest-nowhere']\nfilterwarnings = ['error']\n",
    "test_a.py": """\
import subprocess, urllib.request
import pytest

def test_plain(): ...
@pytest.mark.unknown
def test_marked(): ...
def test_network(): urllib.request.urlopen("http://example.org/")
def test_tool(): subprocess.run(["protoc-of-nobody"])
def test_import(): import leftpad_of_nobody
def test_wrong(): assert 0
""",
}


@pytest.mark.slow
def test_what_can_run_runs_and_the_rest_is_told(tmp_path: Path) -> None:
    async def work(home: Run, run: Run) -> tuple[list[Blocked | None], dict[str, str], frozenset[str]]:
        contents = {path: text.encode() for path, text in LACKING.items()}
        ((first, second),) = find_candidates(contents, contents.get, ecosystems())
        whole, rest = await run_suite(run, first, LIMITS), await run_suite(run, second, LIMITS)
        why = [why_blocked(each, told.ran, told.cases) for each, told in ((first, whole), (second, rest))]
        lacks = blocked_cases(rest.cases, second)
        return why, {id.rpartition("::")[2]: each.kind for id, each in lacks.items()}, rest.passed

    why, lacks, passed = in_trial(make_repository(tmp_path / "project", LACKING), work)
    assert why[0] and (why[0].kind, why[0].what, why[1]) == ("runner", "pytest-nowhere", None)
    assert lacks == {"test_network": "network", "test_tool": "tool", "test_import": "import"}
    assert passed == {"test_a.py::test_plain", "test_a.py::test_marked"}


# --- C and C++ -------------------------------------------------------------------------------

CMAKE = """\
cmake_minimum_required(VERSION 3.13)
project(sample C)
enable_testing()
foreach(name good bad)
  add_executable(${name} ${name}.c half.c)
  add_test(NAME ${name} COMMAND ${name})
endforeach()
set_target_properties(bad PROPERTIES OUTPUT_NAME worse)
"""
C = {
    "CMakeLists.txt": CMAKE,
    "half.c": "int half(int n) {\n  if (n < 0)\n    return -1;\n  return n / 2;\n}\n",
    "good.c": "int half(int);\nint main(void) { return half(2) != 1; }\n",
    "bad.c": "#include <assert.h>\nint half(int);\nint main(void) {\n  assert(half(2) == 3);\n}\n",
}
needs_cmake = pytest.mark.skipif(
    not shutil.which("ctest") or not shutil.which("g++"), reason="needs CMake and g++"
)


@needs_cmake
@pytest.mark.slow
def test_ctest_with_coverage_and_a_build_that_is_kept(tmp_path: Path) -> None:
    async def work(home: Run, run: Run) -> tuple[SuiteReport, SuiteReport, SuiteReport, Changes]:
        assert isinstance(run.workspace, Trial)
        toolchain = await find(run)
        first = await run_suite(run, toolchain, LIMITS, coverage=True)
        await write_all(run.workspace, {"half.c": C["half.c"].replace("n / 2;", "n / 2")})
        broken = await run_suite(run, toolchain, LIMITS)
        await write_all(run.workspace, {"half.c": C["half.c"]})
        return (
            first,
            broken,
            await run_suite(run, toolchain, LIMITS, only=("good",)),
            await run.workspace.changes(),
        )

    first, broken, good, changes = in_trial(make_repository(tmp_path / "project", C), work)
    assert [(case.id, case.outcome) for case in first.cases] == [("good", "passed"), ("bad", "failed")]
    assert (first.failed[0].path, first.failed[0].line) == ("bad.c", 4)
    assert set(first.sources) == {"good.c", "bad.c", "half.c"}
    assert "Assertion `half(2) == 3' failed" in first.failed[0].message and not first.unmeasured
    assert (
        first.coverage
        and first.coverage.missed["half.c"] == {3}
        and first.coverage.branches["half.c"] == (1, 2)
    )
    assert (broken.built, broken.cases) == (False, ())
    assert "half.c:4:15: " in first_fault(broken)
    assert good.ok and good.passed == {"good"} and changes == ()


CPP = {
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.13)
project(sample CXX)
set(CMAKE_CXX_STANDARD 14)
enable_testing()
find_package(GTest REQUIRED)
include(GoogleTest)
add_executable(google google.cpp)
add_executable(each each.cpp)
target_link_libraries(google GTest::gtest_main)
target_link_libraries(each GTest::gtest_main)
add_test(NAME unit COMMAND google)
gtest_discover_tests(each)
add_executable(caught caught.cpp)
add_test(NAME caught COMMAND caught)
""",
    "google.cpp": """\
#include <gtest/gtest.h>
TEST(Math, Adds) { EXPECT_EQ(2, 1 + 1); }
TEST(Math, Breaks) { EXPECT_EQ(3, 1 + 1) << "words"; }
TEST(Math, Later) { GTEST_SKIP(); }
""",
    "each.cpp": "#include <gtest/gtest.h>\nTEST(Each, One) {}\nTEST(Each, Two) { EXPECT_EQ(3, 1 + 1); }\n",
    "caught.cpp": """\
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
TEST_CASE("adds, well") { REQUIRE(1 + 1 == 2); }
TEST_CASE("breaks") { SECTION("inner") { REQUIRE(1 + 1 == 3); } }
""",
}


@needs_cmake
@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/usr/include/gtest").exists() or not Path("/usr/include/catch2/catch.hpp").exists(),
    reason="needs googletest and Catch2 2",
)
def test_googletest_and_catch2_inside_ctest(tmp_path: Path) -> None:
    async def work(home: Run, run: Run) -> tuple[SuiteReport, SuiteReport]:
        limits, toolchain = ExecLimits(seconds=240.0), await find(run)
        all_of_them = await run_suite(run, toolchain, limits)
        return all_of_them, await run_suite(
            run, toolchain, limits, only=("unit::Math.Adds", "unit::Math.Later")
        )

    report, some = in_trial(make_repository(tmp_path / "project", CPP), work)
    told = {case.id: (case.outcome, f"{case.path}:{case.line}") for case in report.cases}
    assert told == {
        "unit::Math.Adds": ("passed", ":0"),
        "unit::Math.Breaks": ("failed", "google.cpp:3"),
        "unit::Math.Later": ("skipped", ":0"),
        "Each.One": ("passed", ":0"),
        "Each.Two": ("failed", "each.cpp:3"),
        "caught::adds, well": ("passed", ":0"),
        "caught::breaks/inner": ("failed", "caught.cpp:4"),
    }
    (breaks,) = (case for case in report.failed if case.id == "unit::Math.Breaks")
    assert breaks.message == "Expected equality of these values:\n  3\n  1 + 1\n    Which is: 2\nwords"
    assert some.ok and {case.id for case in some.cases} == {"unit::Math.Adds", "unit::Math.Later"}


PROGRAM = {
    "CMakeLists.txt": "cmake_minimum_required(VERSION 3.13)\nproject(sample CXX)\n"
    'option(SAMPLE_BUILD_TESTS "Tests" OFF)\nif(SAMPLE_BUILD_TESTS)\n  add_subdirectory(test)\nendif()\n',
    "test/CMakeLists.txt": "set(CMAKE_CXX_STANDARD 14)\nadd_executable(SAMPLE_TESTS caught.cpp)\n"
    "set_target_properties(SAMPLE_TESTS PROPERTIES OUTPUT_NAME tests)\n",
    "test/caught.cpp": CPP["caught.cpp"],
}


@needs_cmake
@pytest.mark.slow
@pytest.mark.skipif(not Path("/usr/include/catch2/catch.hpp").exists(), reason="needs Catch2 2")
def test_a_program_that_an_option_builds(tmp_path: Path) -> None:
    report, changes = report_on(tmp_path, PROGRAM, limits=ExecLimits(seconds=240.0))
    told = {case.id: (case.outcome, f"{case.path}:{case.line}", case.error) for case in report.cases}
    assert told == {
        "adds, well": ("passed", ":0", ""),
        "breaks/inner": ("failed", "test/caught.cpp:4", "REQUIRE"),
    }
    assert (report.built, report.ok, changes) == (True, False, ())


# --- where the tools are there ---------------------------------------------------------------

RUST = """\
pub fn half(n: i32) -> i32 { n / 2 }
#[test]
fn good() { assert_eq!(half(4), 2); }
#[test]
fn bad() {
    assert_eq!(half(4), 3);
}
"""


@pytest.mark.skipif(not shutil.which("cargo"), reason="needs cargo")
def test_cargo(tmp_path: Path) -> None:
    manifest = '[package]\nname = "sample"\nversion = "0.1.0"\nedition = "2021"\n'
    report, _ = report_on(
        tmp_path, {"Cargo.toml": manifest, "src/lib.rs": RUST, ".gitignore": "target\nCargo.lock\n"}
    )
    if report.problem or "rustup" in report.ran.output:
        pytest.skip("cargo is not there for a person without a home")
    assert report.passed == {"good"} and [(case.id, case.line) for case in report.failed] == [("bad", 6)]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("npm"), reason="needs Node")
def test_node(tmp_path: Path) -> None:
    script = "const {test} = require('node:test');\ntest('good', () => {});\ntest('bad', () => missing());\n"
    inner = "test('around', async (t) => { await t.test('in', () => {}); });\n"
    report, _ = report_on(
        tmp_path / "50%20 #1",
        {"package.json": '{"scripts": {"test": "node --test"}}', "a.test.js": script + inner},
    )
    around = {"a.test.js::around", "a.test.js::around > in"}  # one that holds tests may fail by itself
    assert report.passed == {"a.test.js::good", *around} and report.ran.code != 0
    assert [(case.id, case.error) for case in report.failed] == [("a.test.js::bad", "ReferenceError")]


MOCHA = """\
const path = require("path");
const { EventEmitter } = require("events");
const runner = new EventEmitter();
const Reporter = require(path.resolve(process.argv[process.argv.indexOf("--reporter") + 1]));
new Reporter(runner, {});
const test = (name) => ({ file: path.resolve("a.test.js"), titlePath: () => ["half", name], duration: 5 });
runner.emit("pass", test("good"));
runner.emit("pass", test("is 1"));
runner.emit("pending", test("later"));
try { require("../../half.js")(-1); } catch (error) { runner.emit("fail", test("bad"), error); }
runner.emit("end");
process.exit(1);
"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("npm"), reason="needs Node")
def test_mocha_leaves_a_report(tmp_path: Path) -> None:
    files = {
        "package.json": '{"scripts": {"test": "mocha"}}',
        "half.js": "module.exports = (n) => {\n  throw new RangeError('negative');\n};\n",
        "a.test.js": "describe('half', () => { for (const n of [1, 2]) it(`is ${n}`, () => half(n)); });\n",
        "node_modules/mocha/package.json": '{"name": "mocha", "main": "index.js"}',
        "node_modules/mocha/index.js": "exports.reporters = { Spec: class {} };\n",
        "node_modules/mocha/cli.js": MOCHA,
        "node_modules/.bin/mocha": '#!/bin/sh\nexec node node_modules/mocha/cli.js "$@"\n',
    }
    root = make_repository(tmp_path / "project", files)
    (root / "node_modules/.bin/mocha").chmod(0o755)

    async def work(home: Run, run: Run) -> SuiteReport:
        return await run_suite(run, await find(run), LIMITS)

    report = in_trial(root, work)
    assert {case.id: case.outcome for case in report.cases} == {
        "a.test.js::half > good": "passed",
        "a.test.js::half > is ${n}[1]": "passed",
        "a.test.js::half > later": "skipped",
        "a.test.js::half > bad": "failed",
    }
    (bad,) = report.failed
    assert (bad.error, bad.path, bad.line) == ("RangeError", "half.js", 2)


def test_an_installed_copy_of_the_project_is_not_tested(tmp_path: Path) -> None:
    line = compose(Toolchain("", "Python", "", "echo ran", installed=("pkg",)), coverage=False)
    for place in ("tree/src/pkg", "elsewhere/pkg", "tree/venv/site-packages/pkg"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "__init__.py").touch()

    def run(path: str) -> tuple[int, str]:
        env = {**os.environ, "PYTHONPATH": str(tmp_path / path)}
        done = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path / "tree", env=env, capture_output=True, text=True
        )
        return done.returncode, done.stdout + done.stderr

    assert run("tree/src") == (0, "ran\n") and run("nowhere") == (0, "ran\n")
    for path in ("elsewhere", "tree/venv/site-packages"):
        code, said = run(path)
        assert code == 4 and said.startswith("pkg is imported from ")


def test_npx_asks_once_for_what_is_not_installed(tmp_path: Path) -> None:
    line = compose(Toolchain("", "JavaScript", "", "echo $npm_config_fetch_retries"), coverage=False)
    env = {name: value for name, value in os.environ.items() if not name.startswith("npm_")}
    assert subprocess.check_output(["bash", "-c", line], cwd=tmp_path, env=env) == b"0\n"
