"""New tests fail for the right reason, or their author gets a letter: real runs, real compilers' words."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating import LIMITS, in_trial, make_repository, write_all
from kith.agent.ecosystems import ecosystems
from kith.core.run import Run
from kith.core.values import Ran
from kith.core.workspace import Trial
from kith.features.build.new_tests.failures import lexical_tests, wrong_reason
from kith.gates.reports import CaseResult, SuiteReport
from kith.gates.results.run import run_suite
from kith.gates.toolchains import choose_clues, find_toolchains

KNOWN = ("stack/__init__.py", "stack/items.py", "pyproject.toml", "tests/test_old.py")
TASK = ("Write Stack.pop in stack/items.py, and a module queues with a class Queue.",)
NAME = "tests/test_new.py"
STACK = "class Stack:\n    def push(self, x):\n        return None\n"


def suite(files: Mapping[str, str], tests: Mapping[str, str | None], tmp_path: Path) -> SuiteReport:
    """What the project's own runner says of tests that are written into a trial of it."""
    root = make_repository(tmp_path / "project", files)

    async def work(home: Run, run: Run) -> SuiteReport:
        assert isinstance(run.workspace, Trial)
        await write_all(run.workspace, tests)
        listed = await run.workspace.files()
        clues = {path: await run.workspace.read(path) for path in choose_clues(listed, ecosystems())}
        return await run_suite(run, find_toolchains(listed, clues.get, ecosystems())[0], LIMITS)

    return in_trial(root, work)


def case(name: str, message: str, outcome: str = "failed") -> CaseResult:
    return CaseResult(f"{NAME}{name}", outcome, message)  # type: ignore[arg-type]


def said(text: str, *cases: CaseResult, output: str = "", built: bool = True) -> str:
    report = SuiteReport(Ran("pytest", 1, output, 1.0), cases, built=built)
    return wrong_reason(report, {NAME: text}, KNOWN, TASK)


# --- Python, as pytest and unittest really report it -----------------------------------------

PYTEST = {"pyproject.toml": "[tool.pytest.ini_options]\n", "stack/__init__.py": "", "stack/items.py": STACK}
SEVERAL = {
    # Right: the task makes these.
    "tests/test_a_module.py": "from queues import Queue\n\n\ndef test_queue():\n    assert Queue()\n",
    "tests/test_a_name.py": "from stack.items import pop\n\n\ndef test_pop():\n    assert pop()\n",
    "tests/test_a_method.py": (
        "from stack.items import Stack\n\n\ndef test_pop():\n    assert Stack().pop() is None\n"
    ),
    "tests/test_a_value.py": (
        "from stack.items import Stack\n\n\ndef test_push():\n    assert Stack().push(1) == 'ValueError: x'\n"
    ),
    # Wrong: nothing will make these run.
    "tests/test_b_other.py": "import nosuchlib\n\n\ndef test_it():\n    assert nosuchlib.x\n",
    "tests/test_b_syntax.py": "def test_it(:\n    assert 1 == 2\n",
    "tests/test_b_fixture.py": "def test_it(nofixture):\n    assert nofixture\n",
    "tests/test_b_name.py": "def test_it():\n    assert Stack().pop() == 1\n",
    "tests/test_b_load.py": "VALUE = int('x')\n\n\ndef test_it():\n    assert VALUE == 1\n",
    "tests/test_b_own.py": "def make(a):\n    return a\n\n\ndef test_it():\n    assert make() == 1\n",
    "tests/test_b_framework.py": "import pytest\n\n\ndef test_it():\n    assert pytest.nothing == 1\n",
    "tests/test_b_passes.py": "def test_it():\n    assert len('a') == 1\n",
    "tests/test_b_skips.py": "import pytest\n\n@pytest.mark.skip\ndef test_it():\n    assert len('a') > 1\n",
}
WORDS = {
    "other": "needs the module `nosuchlib`, which is neither installed nor part of the task",
    "syntax": "tests/test_b_syntax.py is not valid Python",
    "fixture": "asks for a fixture `nofixture`, and there is none",
    "name": "uses `Stack` and nowhere imports or defines it",
    "load": "fails while it is imported (ValueError: invalid literal",
    "own": "calls its own `make` wrongly",
    "framework": "uses `pytest.nothing`, which does not exist",
    "passes": "these tests pass already: tests/test_b_passes.py::test_it",
    "skips": "these tests are skipped, and show nothing: tests/test_b_skips.py::test_it",
}


@pytest.fixture(scope="module")
def pytest_report(tmp_path_factory: pytest.TempPathFactory) -> SuiteReport:
    """One run of all of them; `--continue-on-collection-errors` lets those run that can."""
    options = "[tool.pytest.ini_options]\naddopts = '--continue-on-collection-errors'\n"
    files = {**PYTEST, "pyproject.toml": options}
    with pytest.MonkeyPatch.context() as patch:
        for who in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{who}_NAME", "A Person")
            patch.setenv(f"GIT_{who}_EMAIL", "person@example.org")
        return suite(files, SEVERAL, tmp_path_factory.mktemp("reasons"))


@pytest.mark.parametrize("path", SEVERAL)
def test_pytest_tells_right_from_wrong(path: str, pytest_report: SuiteReport) -> None:
    letter = wrong_reason(pytest_report, {path: SEVERAL[path]}, KNOWN, TASK)
    if "/test_a_" in path:
        assert letter == ""
    else:
        assert WORDS[path.removeprefix("tests/test_b_").removesuffix(".py")] in letter
        assert letter.startswith("These tests cannot be used yet:") and "\n- " not in letter


def test_several_files_make_one_letter(pytest_report: SuiteReport) -> None:
    letter = wrong_reason(pytest_report, SEVERAL, KNOWN, TASK)
    assert letter.count("\n- ") == 7 - 1  # of some that pass or are skipped nobody speaks while others fail


def test_unittest_tells_right_from_wrong(tmp_path: Path) -> None:
    old = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.fail()\n"
    head = "import unittest\n{}\n\n\nclass New(unittest.TestCase):\n    def test_it(self):\n        {}\n"
    files = {
        "stack/items.py": STACK,
        "stack/__init__.py": "",
        "tests/__init__.py": "",
        "tests/test_old.py": old,
    }
    tests = {
        "tests/test_right.py": head.format("from stack.items import pop", "self.assertEqual(pop(), 1)"),
        "tests/test_wrong.py": head.format("import nosuchlib", "self.assertEqual(nosuchlib.x, 1)"),
        "tests/test_good.py": head.format("", "self.assertEqual(len('a'), 1)"),
        "tests/test_fails.py": head.format("", "self.assertEqual(len('a'), 2)"),
    }
    report = suite(files, tests, tmp_path)

    def letter(path: str) -> str:
        return wrong_reason(report, {path: tests[path]}, files, TASK)

    assert letter("tests/test_right.py") == "" and letter("tests/test_fails.py") == ""
    assert "needs the module `nosuchlib`" in letter("tests/test_wrong.py")
    assert "pass already: tests.test_good.New.test_it" in letter("tests/test_good.py")


def test_an_older_failure_is_not_theirs() -> None:
    old = CaseResult("tests/test_old.py::test_x", "failed", "assert 1 == 2")
    letter = said("def test_a():\n    assert len('a') == 1\n", old, case("::test_a", "", "passed"))
    assert "these tests pass already" in letter and "test_old" not in letter


def test_a_test_that_was_in_the_file_before_is_no_news() -> None:
    before = "def test_smoke():\n    print(1)\n"
    after = before + "\n\ndef test_new():\n    assert len('a') == 1\n"
    cases = (case("::test_smoke", "boom"), case("::test_new", "", "passed"))
    report = SuiteReport(Ran("pytest", 1, "", 1.0), cases)
    letter = wrong_reason(report, {NAME: after}, KNOWN, TASK, {NAME: before})
    assert "pass already: tests/test_new.py::test_new" in letter and "smoke" not in letter
    assert wrong_reason(report, {NAME: after.replace("1\n", "2\n")}, KNOWN, TASK)


def test_tests_that_nobody_ran() -> None:
    text = "def test_a():\n    assert len('a') == 2\n"
    assert "no test in tests/test_new.py was run: 3 passed" in said(text, output="3 passed\n")
    late = SuiteReport(Ran("pytest", 124, "", 60.0, timed_out=True))
    assert "was not finished in 60 s" in wrong_reason(late, {NAME: text}, KNOWN, TASK)
    absent = SuiteReport(Ran("pytest", 1, "", 1.0), problem="pytest is not installed")
    assert "pytest is not installed" in wrong_reason(absent, {NAME: text}, KNOWN, TASK)
    assert "there is no test in these files" in said("x = 1\n")


def test_what_pytest_prints_is_enough_where_there_is_no_report() -> None:
    text = "import queues\n\n\ndef test_a():\n    assert queues.x\n"
    error = "E   ModuleNotFoundError: No module named '{}'\n"
    printed = f"____ ERROR collecting {NAME} ____\n{NAME}:1: in <module>\n{error}"
    assert said(text, output=printed.format("queues"), built=False) == ""
    assert "`numpy.linalg`" in said(text, output=printed.format("numpy.linalg"), built=False)


# --- tests that say nothing ------------------------------------------------------------------

VACUOUS = {
    "x = half(2)": "asserts nothing",
    "assert True": "only asserts what always holds: `assert True`",
    "assert (half(2) == 1, 'message')": "only asserts what always holds",
    "x = half(2); assert x == x": "only asserts what always holds",
    "self.assertTrue(True)": "only asserts what always holds",
    "self.assertEqual(1, 1)": "only asserts what always holds",
    "assert half(2) or True": "only asserts what always holds",
    "try:\n        assert half(2) == 1\n    except Exception:\n        pass": "asserts nothing",
    "try:\n        assert half(2) == 1\n    except:\n        print('no')": "asserts nothing",
}
TELLING = (
    "assert half(2) == 1",
    "assert half(2) == half(2)",
    "self.assertAlmostEqual(half(2), 1)",
    "with pytest.raises(ValueError):\n        half('x')",
    "check_half(2)",
    "np.testing.assert_allclose(half(2), 1)",
    "if half(2) != 1:\n        raise AssertionError",
    "try:\n        half('x')\n    except ValueError:\n        pass\n    else:\n        self.fail()",
    "try:\n        half('x')\n    except Exception as e:\n        assert 'x' in str(e)",
    "for n in (1, 2):\n        assert half(2 * n) == n",
    "outer(2)",
)
AROUND = """\
import numpy as np
import pytest

from stack.items import check_half, half


def inner(n):
    assert half(n)


def outer(n):
    inner(n)


def test_it(self):
    {}
"""


@pytest.mark.parametrize("body", VACUOUS)
def test_a_test_that_says_nothing_is_refused(body: str) -> None:
    letter = said(AROUND.format(body), case("::test_it", "AttributeError: no half"))
    assert f"tests/test_new.py::test_it {VACUOUS[body]}" in letter


@pytest.mark.parametrize("body", TELLING)
def test_a_test_that_says_something_is_taken(body: str) -> None:
    assert said(AROUND.format(body), case("::test_it", "AttributeError: no half")) == ""


def test_a_helper_from_elsewhere_may_assert() -> None:
    """Many projects keep their assertions in a class or a module of their own."""
    method = "from {} import {}\n\n\nclass TestIt({}):\n    def test_it(self):\n        {}\n"
    for text in (
        method.format("harness", "Base", "Base", "self.flakes('x')"),
        method.format("pkg.test.harness", "TestCase", "TestCase", "self.flakes('x')"),
        method.format("tests.tools", "round_trip", "object", "round_trip(1)"),
    ):
        assert said(text, case("::TestIt::test_it", "AssertionError")) == "", text
    for text in (
        method.format("unittest", "TestCase", "TestCase", "self.flakes('x')"),
        method.format("harness", "Base", "Base", "self.addCleanup('x')"),
        method.format("pkg.tools", "round_trip", "object", "round_trip(1)"),
    ):
        assert "asserts nothing" in said(text, case("::TestIt::test_it", "AssertionError")), text


def test_every_way_to_bind_a_name_is_known() -> None:
    text = """\
from a import b as c, d
import e.f
def test_it(g, *h, i=1, **j):
    global k
    for l, (m, *n) in c(d, e): assert l + m + n + g + h + i + j + k
    with d as o, e as (p, q): assert o + p + q
    try: pass
    except ValueError as r: assert r
    assert [s + t for s in c if (t := s)] and (lambda u: u)(1) and __file__
    match c:
        case {"x": v, **w} | [v, *w]: assert v + w
        case int() as x: assert x
    y: int = 1
    class Z: ...
    assert y and Z and len
"""
    assert said(text, case("::test_it", "AssertionError")) == ""
    assert "uses `numpy` and nowhere" in said(
        text + "    assert numpy\n", case("::test_it", "AssertionError")
    )
    assert said("from stack.items import *\ndef test_it():\n    assert pop()\n", case("::test_it", "E")) == ""


# --- C++, in the words of the compiler that is here ------------------------------------------

CPP = "tests/stack_test.cpp"
REAL = "#include <gtest/gtest.h>\n"
GTEST = '#include "gtest.h"\n'  # a small one that compiles at once
MACROS = "#define TEST(a, b) void a##b()\n#define EXPECT_EQ(a, b) ((void)((a) == (b)))\n"
CPP_KNOWN = ("CMakeLists.txt", "src/stack.h", "include/old/list.h")
CPP_TASK = ("Add Stack::pop to stack.h, and a header queue.h.", "tests/stack_test.cpp")
CPP_RIGHT = {
    "header": GTEST + '#include "queue.h"\nTEST(A, B) { EXPECT_EQ(Queue().size(), 0); }\n',
    "member": GTEST + '#include "stack.h"\nTEST(A, B) { Stack s; EXPECT_EQ(s.pop(), 1); }\n',
    "class": GTEST + '#include "stack.h"\nTEST(A, B) { Deque<int> d; d.push(1); EXPECT_EQ(d.pop(), 1); }\n',
    "function": REAL + '#include "stack.h"\nTEST(A, B) { EXPECT_EQ(lib::half(2), 1); }\n',
    "type": GTEST
    + '#include "stack.h"\nstatic Deque make(Deque d);\nTEST(A, B) { EXPECT_EQ(make(1), 1); }\n',
    "base": GTEST + '#include "stack.h"\nstruct Mine : Deque {};\nTEST(A, B) { EXPECT_EQ(Mine().n, 1); }\n',
    "pointer": GTEST + '#include "stack.h"\nTEST(A, B) { auto d = new Deque; EXPECT_EQ(d->n, 1); }\n',
    "signature": GTEST + '#include "stack.h"\nTEST(A, B) { Stack s(1, 2); EXPECT_EQ(s.n, 1); }\n',
}
CPP_WRONG = {
    "not valid C++": REAL + '#include "stack.h"\nTEST(A, B) { Stack s EXPECT_EQ(s.n, 1); }\n',
    "this is not valid": GTEST
    + '#include "stack.h"\nTEST(A, B) {\n  Deque d;\n  EXPECT_EQ(d.n, 1);\n  int n = 1 + ;\n}\n',
    "is not valid": GTEST + '#include "stack.h"\nTEST(A, B) { EXPECT_EQ(Stack().n, 1);\n',
    "macro of the test framework": '#include "stack.h"\nvoid f() { EXPECT_EQ(Stack().n, 1); }\n',
    "no header `catchy/all.hpp`": '#include <catchy/all.hpp>\nTEST_CASE("a") { CHECK(1 == 2); }\n',
    "`list.h` exists": GTEST + '#include "list.h"\nTEST(A, B) { EXPECT_EQ(List().n, 1); }\n',
    "needs `#include <vector>`": '#include "stack.h"\nstd::vector<int> f();\nint x = Stack().pop();\n',
}


def compile_test(text: str, folder: Path, link: Sequence[str] = ()) -> SuiteReport:
    """The real compiler's words, as a build in CMake would print them."""
    files = {CPP: text, "src/stack.h": "struct Stack { int n = 0; };\n", "include/gtest.h": MACROS}
    make_repository(folder / "project", files)
    command = ["g++", "-std=c++17", "-Isrc", "-Iinclude", *(link or ("-fsyntax-only",)), CPP]
    done = subprocess.run(command, cwd=folder / "project", capture_output=True, text=True)
    assert done.returncode
    return SuiteReport(Ran("cmake --build", done.returncode, done.stderr, 1.0), built=False)


needs_compiler = pytest.mark.skipif(
    not (shutil.which("g++") and Path("/usr/include/gtest/gtest.h").exists()),
    reason="needs g++ and googletest",
)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("kind", CPP_RIGHT)
def test_what_does_not_exist_yet_is_a_right_reason(kind: str, tmp_path: Path) -> None:
    report = compile_test(CPP_RIGHT[kind], tmp_path)
    assert wrong_reason(report, {CPP: CPP_RIGHT[kind]}, CPP_KNOWN, CPP_TASK) == ""


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("kind", CPP_WRONG)
def test_a_mistake_in_the_test_is_a_wrong_reason(kind: str, tmp_path: Path) -> None:
    report = compile_test(CPP_WRONG[kind], tmp_path)
    letter = wrong_reason(report, {CPP: CPP_WRONG[kind]}, CPP_KNOWN, CPP_TASK)
    assert kind in letter and CPP in letter, report.ran.output


@needs_compiler
def test_what_is_not_linked(tmp_path: Path) -> None:
    text = "int half(int);\nint main() { return half(2); }\n"
    report = compile_test(text, tmp_path / "a", ("-o", "out"))
    assert wrong_reason(report, {CPP: "TEST(A, B) { EXPECT_EQ(half(2), 1); }"}, CPP_KNOWN, CPP_TASK) == ""
    report = compile_test("int half() { return 1; }\n", tmp_path / "b", ("-o", "out"))
    letter = wrong_reason(report, {CPP: "TEST(A, B) { EXPECT_EQ(half(2), 1); }"}, CPP_KNOWN, CPP_TASK)
    assert "`main' is not linked" in letter or "`main` is not linked" in letter


CLANG = {
    "use of undeclared identifier 'Deque'": "",
    "no member named 'pop' in 'Stack'": "",
    "unknown type name 'Deque'": "",
    "'queue.h' file not found": "",
    "expected ';' after expression": "is not valid C++",
    "expected '}'": "is not valid C++",
    "no member named 'vector' in namespace 'std'": "standard library",
    "use of undeclared identifier 'EXPECT_EQ'": "macro of the test framework",
    "'fancy.h' file not found": "no header `fancy.h`",
}


@pytest.mark.parametrize("error", CLANG)
def test_clang_says_it_in_other_words(error: str) -> None:
    report = SuiteReport(Ran("cmake", 1, f"/p/{CPP}:3:7: error: {error}\n", 1.0), built=False)
    letter = wrong_reason(report, {CPP: GTEST + "TEST(A, B) { EXPECT_EQ(f(), 1); }"}, CPP_KNOWN, CPP_TASK)
    assert (CLANG[error] in letter) if CLANG[error] else letter == ""


def test_cmake_itself_may_fail() -> None:
    text = {CPP: GTEST + "TEST(A, B) { EXPECT_EQ(f(), 1); }"}
    printed = "CMake Error at CMakeLists.txt:4 (add_executable):\n  Cannot find source file:\n\n    {}\n\n"
    for source, right in (("queue.cpp", True), ("other.cpp", False)):
        report = SuiteReport(Ran("cmake", 1, printed.format(source), 1.0), built=False)
        assert (wrong_reason(report, text, CPP_KNOWN, CPP_TASK) == "") is right
    other = "CMake Error at CMakeLists.txt:2:\n  Parse error.  Expected a newline\n"
    report = SuiteReport(Ran("cmake", 1, other, 1.0), built=False)
    assert "CMake fails: Parse error" in wrong_reason(report, text, CPP_KNOWN, CPP_TASK)


@pytest.mark.slow
@needs_compiler
@pytest.mark.skipif(not shutil.which("cmake"), reason="needs cmake")
def test_a_googletest_build_from_end_to_end(tmp_path: Path) -> None:
    files = {
        "CMakeLists.txt": (
            "cmake_minimum_required(VERSION 3.16)\nproject(p CXX)\nfind_package(GTest REQUIRED)\n"
            "enable_testing()\nadd_executable(all_tests half_test.cpp)\n"
            "target_link_libraries(all_tests GTest::gtest_main)\nadd_test(NAME all COMMAND all_tests)\n"
        ),
        "half.h": "inline int half(int n) { return n; }\n",
        "half_test.cpp": REAL + "TEST(Old, One) { EXPECT_EQ(1, 1); }\n",
    }
    text = REAL + '#include "half.h"\nTEST(Half, OfTwo) { EXPECT_EQ(half(2), 1); }\n'
    report = suite(files, {"half_test.cpp": text}, tmp_path)
    assert report.built and wrong_reason(report, {"half_test.cpp": text}, files, ()) == ""
    assert "pass already" in wrong_reason(
        SuiteReport(report.ran, (CaseResult("Half.OfTwo", "passed"),)), {"half_test.cpp": text}, files, ()
    )


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("half(2);", "asserts nothing"),
        ('// EXPECT_EQ(half(2), 1);\n puts("EXPECT_EQ(1)");', "asserts nothing"),
        ("EXPECT_TRUE(true);", "only asserts what always holds: `EXPECT_TRUE(true)`"),
        ("EXPECT_EQ(1, 1);", "only asserts what always holds"),
        ("EXPECT_TRUE(true); EXPECT_EQ(half(2), 1);", ""),
        ("ExpectHalf(2, 1);", ""),
        ("if (half(2) != 1) { FAIL() << '}'; }", ""),
    ],
)
def test_a_cpp_test_that_says_nothing_is_refused(body: str, why: str) -> None:
    text = REAL + f"TEST(A, B) {{ {body} }}\nTEST(A, C) {{ EXPECT_EQ(half(2), 1); }}\n"
    report = SuiteReport(Ran("ctest", 1, "", 1.0), (CaseResult("A.B", "failed"),))
    letter = wrong_reason(report, {CPP: text}, CPP_KNOWN, CPP_TASK)
    assert (f"A.B {why}" in letter) if why else letter == ""


# --- which tests a file defines --------------------------------------------------------------


def test_the_tests_of_a_file() -> None:
    text = (
        "import unittest\ndef test_a(): ...\nasync def test_b(): ...\ndef helper(): ...\n"
        "class TestC:\n    def test_d(self): ...\n    class TestE:\n        def test_f(self): ...\n"
        "class Other(unittest.TestCase):\n    def test_g(self): ...\n    def setUp(self): ...\n"
        "class Mixin:\n    def test_h(self): ...\n"
    )
    names = ("test_a", "test_b", "TestC::test_d", "TestC::TestE::test_f", "Other::test_g")
    assert lexical_tests(NAME, text) == tuple(f"{NAME}::{name}" for name in names)
    assert lexical_tests(NAME, "def test_a(:\n  x\nasync def test_b():") == (
        f"{NAME}::test_a",
        f"{NAME}::test_b",
    )
    cpp = (
        "TEST(Suite, Name) {}\n  TEST_F(Fix,Other){}\n// TEST(No, No)\n/* TEST(No, No) */\n"
        "TYPED_TEST(T, N) {}\n"
        'TEST_CASE("adds \\"two\\"", "[tag]") {}\nSCENARIO("it rains") {}\nTEST_CASE_METHOD(Fix, "m") {}\n'
        "BOOST_AUTO_TEST_CASE(boost) {}\nTEST_P(Many, Each) {}\n"
    )
    assert set(lexical_tests(CPP, cpp)) == {
        "Suite.Name", "Fix.Other", "T.N", 'adds \\"two\\"', "Scenario: it rains", "m", "boost", "Many.Each",
    }  # fmt: skip
    assert lexical_tests("a.rs", "fn test() {}") == ()


@given(st.text(), st.text(), st.booleans(), st.sampled_from([NAME, CPP, "x.js"]))
def test_any_text_and_output_can_be_judged(text: str, output: str, built: bool, path: str) -> None:
    report = SuiteReport(Ran("x", 1, output, 1.0), (CaseResult(text, "failed", output),), built=built)
    assert isinstance(wrong_reason(report, {path: text}, KNOWN, TASK), str)
