"""Locked tests stay as they are: files are put back byte for byte, settings have to be."""

from hashlib import sha256
from itertools import zip_longest
from pathlib import Path

import pytest

from gating import in_trial, make_repository, write_all
from kith.core.run import Run
from kith.core.values import EXECUTABLE, FILE, SYMLINK, Change, Changes, Verdict
from kith.core.workspace import Trial
from kith.gates.untouched import is_test_file, untouched_gate

SPEC = "from stack import push\n\n\ndef test_push():\n    assert push([], 1) == [1]\n"
CMAKE = """\
project(p)
enable_testing()
add_library(lib lib.cpp)
add_executable(all_tests lib_test.cpp helper.cpp)
add_test(NAME all COMMAND all_tests)
"""
FAR = "#\n" * 8
FILES = {
    "stack.py": "import os\n",
    "stack.h": "#pragma once\n",
    "tests/test_old.py": "def test_old():\n    assert 1 + 1 == 2\n",
    "pyproject.toml": '[project]\nname = "p"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n',
    "setup.cfg": "[metadata]\nname = p\n",
    "tox.ini": "[tox]\nenvlist = py\n",
    "CMakeLists.txt": f"# A file of some length.\n{FAR}{CMAKE}",
    "Makefile": "CFLAGS =\nWHICH = -all-\nall:\n\tcc\n\ntest: all\n\t./run-tests $(WHICH)\n",
    "package.json": '{"scripts": {"test": "jest", "lint": "eslint"}}',
}
Told = tuple[Verdict, Changes, Changes]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project", FILES)


def lock_then(root: Path, later: dict[str, str | None]) -> Told:
    """The verdict on what is written after a spec was locked, and the changes then and in the end."""

    async def work(home: Run, run: Run) -> Told:
        trial = run.workspace
        assert isinstance(trial, Trial)
        await write_all(trial, {"tests/test_stack.py": SPEC, "checks/spec.txt": "locked too\n"})
        since = await trial.changes()
        locked = {change.path: sha256(change.after or b"").hexdigest() for change in since}
        await write_all(trial, later)
        verdict = await untouched_gate(locked, since)(run, await trial.changes())
        return verdict, since, await trial.changes()

    return in_trial(root, work)


def test_code_may_change(project: Path) -> None:
    verdict, since, now = lock_then(
        project, {"stack.py": "def push(s, x):\n    return [*s, x]\n", "new.py": "x\n"}
    )
    assert verdict.ok and not verdict.feedback and verdict.by == "untouched"
    assert len(now) == len(since) + 2


@pytest.mark.parametrize(
    "later",
    [
        {"tests/test_stack.py": SPEC.replace("== [1]", "is not None")},
        {"tests/test_stack.py": None},
        {"tests/test_old.py": "def test_old():\n    pass\n"},
        {"tests/test_old.py": None},
        {"tests/conftest.py": "collect_ignore = ['test_stack.py']\n"},
        {"conftest.py": "import pytest\n"},
        {"pytest.ini": "[pytest]\naddopts = --co\n"},
        {"sitecustomize.py": "import sys\nsys.exit(0)\n"},
        {"checks/spec.txt": "other\n"},
        {"lib_test.cpp": "int main() {}\n"},
        {"run-tests": "exit 0\n"},
        {"pytest.py": "raise SystemExit\n"},
        {"src/unittest/__init__.py": ""},
        {"evil.egg-info/entry_points.txt": "[pytest11]\nevil = evil\n"},
        {"include/gtest/gtest.h": "#define EXPECT_EQ(a, b)\n"},
        {".kith-build": ""},
    ],
    ids=lambda later: next(iter(later)),
)
def test_tests_are_put_back(project: Path, later: dict[str, str | None]) -> None:
    verdict, since, now = lock_then(project, {**later, "stack.py": "def push(): ...\n"})
    assert not verdict.ok and next(iter(later)) in verdict.feedback and "put back" in verdict.feedback
    assert [change for change in now if change.path != "stack.py"] == list(since)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("pyproject.toml", "-q", "-q --co"),
        ("setup.cfg", "name = p\n", "name = p\n[tool:pytest]\naddopts = --co\n"),
        ("tox.ini", "[tox]\n", "[pytest]\naddopts = --co\n[tox]\n"),
        ("CMakeLists.txt", "add_test(NAME all COMMAND all_tests)", "# add_test(NAME all COMMAND all_tests)"),
        ("CMakeLists.txt", "COMMAND all_tests", "COMMAND true"),
        ("CMakeLists.txt", "lib_test.cpp helper", "helper"),
        ("CMakeLists.txt", "add_test(", "target_compile_options(all_tests PRIVATE -w)\nadd_test("),
        ("Makefile", "./run-tests", "true"),
        ("Makefile", "-all-", "-none-"),
        ("Makefile", "all:", "SHELL = true\nall:"),
        ("stack.py", "import os", "import _pytest"),
        ("stack.py", "import os", "import unittest\nunittest.TestCase.assertEqual = print"),
        ("stack.py", "import os", "import os\nTESTED = 'PYTEST_CURRENT_TEST' in os.environ"),
        ("stack.h", "#pragma once", "#undef EXPECT_EQ"),
        ("package.json", "jest", "true"),
        ("pyproject.toml", "[project]", "not toml"),
    ],
)
def test_how_tests_are_run_has_to_be_put_back(project: Path, path: str, old: str, new: str) -> None:
    verdict, _, now = lock_then(project, {path: FILES[path].replace(old, new)})
    rows = zip_longest(FILES[path].splitlines(), FILES[path].replace(old, new).splitlines())
    line = next(number for number, (was, is_) in enumerate(rows, 1) if was != is_)
    assert not verdict.ok and f"{path}:{line}" in verdict.feedback
    # Configuration is put back; code is left to the model, since it holds the work.
    assert (path in {change.path for change in now}) == (path in ("stack.py", "stack.h"))


def test_only_the_lines_about_tests_are_put_back(project: Path) -> None:
    mine = f"# mine\n{FAR}{CMAKE}"
    line = next(at for at, row in enumerate(mine.splitlines(), 1) if "COMMAND all_tests" in row)
    tampered = mine.replace("COMMAND all_tests", "COMMAND true")
    verdict, _, now = lock_then(project, {"CMakeLists.txt": tampered})
    assert not verdict.ok and f"CMakeLists.txt:{line}" in verdict.feedback
    assert {change.path: change.after for change in now}["CMakeLists.txt"] == mine.encode()


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("pyproject.toml", 'name = "p"', 'name = "p"\ndependencies = ["attrs"]'),
        ("setup.cfg", "name = p", "name = q"),
        ("CMakeLists.txt", "lib lib.cpp", "lib lib.cpp stack.cpp  # new"),
        (
            "CMakeLists.txt",
            "add_test(NAME all COMMAND all_tests)",
            "add_test(NAME  all\n  COMMAND all_tests)",
        ),
        ("Makefile", "\tcc\n", "\tcc -O2\n"),
        ("Makefile", "CFLAGS =", "CFLAGS = -O2"),
        ("stack.py", "import os", "import os  # tested with pytest and unittest\nfrom unittest import mock"),
        ("stack.h", "#pragma once", "#pragma once\n#define STACK_TEST 1"),
        ("package.json", "eslint", "eslint ."),
    ],
)
def test_the_rest_of_such_a_file_is_free(project: Path, path: str, old: str, new: str) -> None:
    verdict, _, _ = lock_then(project, {path: FILES[path].replace(old, new)})
    assert verdict.ok, verdict.feedback


def test_a_test_that_became_a_link_or_changed_its_mode_is_put_back(project: Path) -> None:
    async def work(home: Run, run: Run) -> tuple[Verdict, Changes]:
        trial = run.workspace
        assert isinstance(trial, Trial)
        old = FILES["tests/test_old.py"].encode()
        await trial.apply((Change("tests/test_old.py", old, b"../stack.py", SYMLINK),))
        await trial.apply((Change("tests/run.py", None, b"x", FILE),))
        since = tuple(change for change in await trial.changes() if change.path == "tests/run.py")
        await trial.apply((Change("tests/run.py", b"x", b"x", EXECUTABLE),))
        return await untouched_gate({}, since)(run, await trial.changes()), await trial.changes()

    verdict, now = in_trial(project, work)
    assert not verdict.ok and "tests/run.py, tests/test_old.py" in verdict.feedback
    assert [(change.path, change.mode) for change in now] == [("tests/run.py", 0o100644)]


def test_a_locked_file_that_nobody_can_restore_is_named(project: Path) -> None:
    async def work(home: Run, run: Run) -> Verdict:
        return await untouched_gate({"stack.py": "0" * 64, "gone.py": "1" * 64}, ())(run, ())

    verdict = in_trial(project, work)
    assert "stack.py, gone.py is not as it was locked" in verdict.feedback


TESTS = """
conftest.py a/test_x.py x_test.py tests/data/a.json pkg/tests/helper.py src/a_test.cc test.cpp unit/test_a.cpp
StackTest.cpp a_unittest.cc a_test.go web/a.spec.tsx samples/sample1_unittest.cc app/tests.py
test.py test.js tests.mjs index.test-d.ts
src/test/java/HalfTest.java A.Tests/Half.cs lib/half_spec.rb half_test.exs t/x.t
"""
CODE = (
    "contest.py src/latest.py attest.js testing.md attest.cpp protest.cc pytest.ini a.py numpy/testing/a.py "
    "Contest.cpp src/main/java/TestResult.java lib/OpenApiSpec.java EditIT.kt lib/ab_test.rb x.t"
)


def test_the_names_of_tests() -> None:
    assert [path for path in TESTS.split() if not is_test_file(path)] == []
    assert [path for path in CODE.split() if is_test_file(path)] == []
