"""`kith test` from outside: only tests that pass on the code and notice planted faults are kept."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from building import commit_all, snapshot
from overdue import run_watched

Kith = Callable[..., dict[str, Any]]
HEAD = "from toolz.itertoolz import isdistinct\n"
GOOD = """
def test_a_list_without_repeats():
    assert isdistinct([1, 2, 3]) is True


def test_a_list_with_repeats():
    assert isdistinct([1, 2, 1]) is False
"""
VACUOUS = """
def test_nothing():
    isdistinct([1, 2])


def test_truth():
    assert True
"""
WRONG = """
def test_wrong():
    assert isdistinct([1, 1]) is True
"""
FLAKY = """
def test_only_the_first_time(request):
    seen = request.config.rootpath / "__pycache__" / "random"
    first = not seen.exists()
    seen.parent.mkdir(exist_ok=True)
    seen.touch()
    assert first and isdistinct([1])


def test_a_list_without_repeats():
    assert isdistinct([1, 2, 3]) is True
"""
ITERATOR = """
def test_an_iterator():
    assert isdistinct(iter([1, 2, 3])) is True
    assert isdistinct(iter([1, 2, 1])) is False
"""
GOOGLETEST = Path("/usr/src/googletest/googletest/samples")


def reply(path: str, text: str) -> str:
    return f"{path}\n```\n{text}```\n"


@pytest.fixture
def kith(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kith:
    """`kith test ... --json` in a folder, with the replies of a model."""
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)

    def run(folder: Path, *words: str, replies: list[Any] | None = None, code: int = 0) -> dict[str, Any]:
        script = tmp_path / "script.json"
        script.write_text(json.dumps(replies or []))
        command = [sys.executable, "-m", "kith", "test", *words, "--json", "--yes", "-m", f"replay/{script}"]
        done = run_watched(command, folder)
        assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        report: dict[str, Any] = json.loads(done.stdout) if done.stdout else {"error": done.stderr}
        return report

    return run


def names(tests: dict[str, Any], key: str) -> list[str]:
    return [each["name"] for each in tests[key]]


# --- a Python project that others wrote ------------------------------------------------------


@pytest.mark.slow
def test_only_tests_that_prove_something_are_kept(kith: Kith, toolz: Path) -> None:
    out = "toolz/tests/test_itertoolz.py"
    replies = [
        reply(out, HEAD + VACUOUS + GOOD + WRONG),
        {
            "expect": "1 tests? fail|test_wrong.*is no|No test notices these changes",
            "text": reply(out, HEAD + ITERATOR),
        },
        reply(out, HEAD + GOOD),
    ]
    report = kith(toolz, "toolz/itertoolz.py::isdistinct", replies=replies, code=0)
    [tests] = report["tests"]
    kept = ["test_a_list_without_repeats", "test_a_list_with_repeats", "test_an_iterator"]
    assert names(tests, "kept") == kept and tests["file"] == out
    reasons = {each["name"]: each for each in tests["dropped"]}
    assert reasons["test_nothing"]["reason"] == "asserts nothing"
    assert "no fault" in reasons["test_truth"]["reason"]
    assert (
        reasons["test_wrong"]["maybe_a_bug"]
        and "fails on the present code" in reasons["test_wrong"]["reason"]
    )
    assert tests["faults"]["noticed"] == tests["faults"]["all"] == 8 and not tests["unnoticed"]
    assert tests["coverage"]["after"] == 1.0 and tests["lines_not_run"] == []
    text = (toolz / out).read_text()
    assert "test_wrong" not in text and "test_truth" not in text and "test_an_iterator" in text
    assert [change["path"] for change in report["changes"]] == [out]
    assert report["receipt"]["checks"]["after"][-1]["ok"] and report["usage"]["calls"] == 2
    again = subprocess.run([sys.executable, "-m", "pytest", "-q", out], cwd=toolz, capture_output=True)
    assert again.returncode == 0


@pytest.mark.slow
def test_vacuous_and_wrong_tests_alone_leave_the_tree_as_it_was(kith: Kith, toolz: Path) -> None:
    before, out = snapshot(toolz), "tests/test_itertoolz.py"
    lines = (
        "<<<<<<< SEARCH",
        "def isdistinct(seq):",
        "=======",
        "def isdistinct(seq, x=1):",
        ">>>>>>> REPLACE",
    )
    other = "\n".join(["toolz/itertoolz.py", *lines, ""])
    replies = [
        reply(out, HEAD + VACUOUS + WRONG),
        "I will not write a file.",
        f"{other}\n{reply(out, 'def f(:')}",
    ]
    words = ("toolz/itertoolz.py::isdistinct", "--out", out, "--max-mutants", "3")
    report = kith(toolz, *words, replies=replies, code=1)
    [tests] = report["tests"]
    assert report["status"] == "failed" and tests["kept"] == []
    assert set(names(tests, "dropped")) == {"test_nothing", "test_truth", "test_wrong"}
    assert any("put back" in warning for warning in report["receipt"]["warnings"])
    assert snapshot(toolz) == before


@pytest.mark.slow
def test_what_passes_only_now_and_then_is_dropped(kith: Kith, toolz: Path) -> None:
    replies = [reply("toolz/tests/test_itertoolz.py", HEAD + FLAKY)]
    words = ("toolz/itertoolz.py::isdistinct", "--max-mutants", "4", "--tries", "1")
    [tests] = kith(toolz, *words, replies=replies)["tests"]
    assert {each["name"]: each["reason"] for each in tests["dropped"]} == {
        "test_only_the_first_time": "passes only now and then"
    }
    assert names(tests, "kept") == ["test_a_list_without_repeats"]


# --- whom it refuses -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["toolz/nothing.py"], "nothing to test at 'toolz/nothing.py'"),
        (["toolz/itertoolz.py::isdistinkt"], "did you mean isdistinct?"),
        (["README"], "nothing to test"),
        (["../other.py"], "outside the project"),
        ([], "Nothing that is not committed"),
        (["toolz/itertoolz.py", "--diff"], "leave the target out"),
        (["toolz/curried/operator.py", "--score"], "No file of tests"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(kith: Kith, toolz: Path, words: list[str], told: str) -> None:
    error = kith(toolz, *words, code=2)["error"]
    assert told in error and error.count("\n") <= 2


# --- C++ ---------------------------------------------------------------------------------------

SAMPLE = """\
#include "sample1.h"
#include "gtest/gtest.h"

TEST(Given, TwoIsPrime) { EXPECT_TRUE(IsPrime(2)); }
"""
MORE = """\
#include "sample1.h"

TEST(Factorial, OfSmallNumbers) {
  EXPECT_EQ(1, Factorial(0));
  EXPECT_EQ(6, Factorial(3));
}

TEST(Factorial, IsNotChecked) { Factorial(3); }

TEST(Factorial, Wrong) { EXPECT_EQ(7, Factorial(3)); }
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.14)
project(samples CXX)
enable_testing()
find_package(GTest REQUIRED)
add_executable(unit sample1.cc sample1_unittest.cc)
target_link_libraries(unit GTest::gtest_main)
add_test(NAME unit COMMAND unit)
"""


@pytest.fixture
def samples(tmp_path: Path, sandbox: None) -> Path:
    """The first of googletest's samples, as a project of its own."""
    if not GOOGLETEST.is_dir() or not shutil.which("cmake"):
        pytest.skip("googletest's sources and CMake are not here")
    folder = tmp_path / "samples"
    folder.mkdir()
    for name in ("sample1.h", "sample1.cc"):
        shutil.copy(GOOGLETEST / name, folder)
    (folder / "CMakeLists.txt").write_text(CMAKE)
    (folder / "sample1_unittest.cc").write_text(SAMPLE)
    return commit_all(folder)


@pytest.mark.slow
def test_cpp_tests_are_added_to_the_present_ones(kith: Kith, samples: Path) -> None:
    replies = [reply("sample1_unittest.cc", MORE)]
    report = kith(samples, "sample1.cc::Factorial", "--tries", "1", replies=replies)
    [tests] = report["tests"]
    assert names(tests, "kept") == ["Factorial.OfSmallNumbers"]
    assert {each["name"]: each["maybe_a_bug"] for each in tests["dropped"]} == {
        "Factorial.IsNotChecked": False,
        "Factorial.Wrong": True,
    }
    assert tests["faults"]["noticed"] >= 4
    text = (samples / "sample1_unittest.cc").read_text()
    assert text.startswith(SAMPLE.split("\n\n")[0]) and "TwoIsPrime" in text and "Wrong" not in text


@pytest.mark.slow
def test_a_program_without_a_framework_is_judged_as_one_test(
    kith: Kith, tmp_path: Path, sandbox: None
) -> None:
    folder = tmp_path / "lone"
    folder.mkdir()
    (folder / "clamp.cpp").write_text("int clamp(int n, int most) { if (n > most) return most; return n; }\n")
    commit_all(folder)
    program = '#include "../clamp.cpp"\n#include <cassert>\nint main() {{ {} return 0; }}\n'
    good = "assert(clamp(9, 5) == 5); assert(clamp(4, 5) == 4);"
    replies = [
        reply("tests/clamp.cpp", program.format("clamp(9, 5)")),
        {
            "expect": "could not be judged|expected",
            "text": reply("tests/clamp.cpp", program.format("clamp(9, 5);")),
        },
        reply("tests/clamp.cpp", program.format(good)),
    ]
    check = "g++ tests/clamp.cpp -o /tmp/clamp && /tmp/clamp"
    report = kith(folder, "clamp.cpp", "--out", "tests/clamp.cpp", "--check", check, replies=replies)
    [tests] = report["tests"]
    assert len(tests["kept"]) == 1 and tests["faults"]["noticed"] >= 3
    assert good in (folder / "tests/clamp.cpp").read_text()


# --- what is not committed, several files at once ----------------------------------------------


@pytest.mark.slow
def test_what_is_not_committed_is_tested_file_by_file(kith: Kith, tmp_path: Path, sandbox: None) -> None:
    folder = tmp_path / "two"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.py").write_text("def old(a):\n    return a\n")
    commit_all(folder)
    for name in ("one", "two"):
        with (folder / f"{name}.py").open("a") as file:
            file.write(f"\n\ndef {name}(a):\n    return a + 1\n")
    replies = [
        f"```python\nfrom {name} import {name}\n\n\ndef test_it():\n    assert {name}(2) == 3\n```\n"
        for name in ("one", "two")
    ]
    report = kith(folder, "--diff", replies=replies)
    assert [tests["file"] for tests in report["tests"]] == ["tests/test_one.py", "tests/test_two.py"]
    for tests in report["tests"]:
        assert names(tests, "kept") == ["test_it"] and tests["faults"] == {
            "noticed": 3,
            "all": 3,
            "untried": 0,
        }
    assert (folder / "tests/test_one.py").exists() and (folder / "tests/test_two.py").exists()


@pytest.mark.slow
def test_what_the_present_tests_notice_need_not_be_written(kith: Kith, toolz: Path) -> None:
    target = "toolz/dicttoolz.py::merge"
    score = kith(toolz, target, "--score", "--max-mutants", "2")["score"]
    assert score["faults"]["noticed"] >= 1
    replies = [reply("toolz/tests/test_dicttoolz_more.py", "def test_nothing():\n    assert 1\n")]
    words = ("--existing", "--max-mutants", "2", "--tries", "1")
    [tests] = kith(toolz, target, *words, replies=replies, code=1)["tests"]
    assert tests["faults"]["all"] == score["faults"]["all"] - score["faults"]["noticed"]
    assert tests["coverage"]["before"] == 1.0
