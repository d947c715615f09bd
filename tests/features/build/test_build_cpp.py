"""A build in C++: CMake out of the sources, googletest, incremental in the trial."""

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from building import DONE, PLAIN, Stage, commit_all, edit, tasks, write

SAMPLES = Path("/usr/src/googletest/googletest/samples")
CMAKE = """\
cmake_minimum_required(VERSION 3.5)
project(samples CXX)
set(CMAKE_CXX_STANDARD 14)
find_package(GTest REQUIRED)
enable_testing()
file(GLOB tests CONFIGURE_DEPENDS samples/*_unittest.cc samples/*_test.cc)
foreach(test ${tests})
  get_filename_component(name ${test} NAME_WE)
  add_executable(${name} ${test} samples/sample1.cc samples/sample4.cc)
  target_link_libraries(${name} GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
endforeach()
"""
TASK = {
    "id": "1",
    "title": "Add Fibonacci to sample1",
    "text": "Declare `int Fibonacci(int n)` in samples/sample1.h and define it in samples/sample1.cc.",
    "criteria": ["Fibonacci(0) == 0", "Fibonacci(1) == 1", "Fibonacci(10) == 55"],
    "files": ["samples/sample1.cc", "samples/sample1.h"],
}
TESTS = """\
#include "sample1.h"
#include <gtest/gtest.h>

TEST(FibonacciTest, Begins) {
  EXPECT_EQ(0, Fibonacci(0));
  EXPECT_EQ(1, Fibonacci(1));
}

TEST(FibonacciTest, GoesOn) { EXPECT_EQ(55, Fibonacci(10)); }
"""
CODE = """

int Fibonacci(int n) {
  int a = 0, b = 1;
  while (n-- > 0) {
    int sum = a + b;
    a = b;
    b = sum;
  }
  return b;
}
"""


@pytest.fixture
def samples(tmp_path: Path, sandbox: None) -> Path:
    """Two of googletest's samples with their tests."""
    for needed in ("cmake", "g++"):
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed")
    if not SAMPLES.is_dir() or not Path("/usr/include/gtest/gtest.h").exists():
        pytest.skip("googletest is not installed")
    folder = tmp_path / "samples"
    (folder / "samples").mkdir(parents=True)
    for name in (
        "sample1.cc",
        "sample1.h",
        "sample1_unittest.cc",
        "sample4.cc",
        "sample4.h",
        "sample4_unittest.cc",
    ):
        shutil.copy(SAMPLES / name, folder / "samples" / name)
    (folder / "CMakeLists.txt").write_text(CMAKE)
    return commit_all(folder)


@pytest.mark.slow
def test_failure_then_success_then_a_refiner_that_breaks_it(samples: Path) -> None:
    header = edit(
        "samples/sample1.h", "int Factorial(int n);", "int Factorial(int n);\nint Fibonacci(int n);"
    )
    stage = Stage(
        samples,
        {
            "plan": [tasks(TASK)],
            "1/specify": [write("samples/fibonacci_test.cc", TESTS), DONE],
            "1/implement": [
                header,
                write("samples/sample1.cc", CODE, append=True),
                DONE,
                edit("samples/sample1.cc", "return b;", "return a;"),
                DONE,
            ],
            "1/review/1": ["Fibonacci() returns the number after the one that is asked for: return a."],
            "1/refine": [edit("samples/sample1.cc", "n-- > 0", "--n > 0"), DONE],
        },
        replace(PLAIN, refine=True),
    )
    outcome = stage.play()
    assert outcome.status == "done", stage.steps
    assert "int a = 0" in (samples / "samples" / "sample1.cc").read_text()
    assert "n-- > 0" in (samples / "samples" / "sample1.cc").read_text()
    assert [step for step in stage.steps if step.startswith(("check", "weigh"))] == [
        "check no",
        "check yes",
        "weigh discarded",
    ]
    (locked,) = stage.state.locks
    assert locked.tests == ("FibonacciTest.Begins", "FibonacciTest.GoesOn")
    told = stage.said_to("1/implement")
    assert "Fibonacci" in told[0] and "not declared" in told[0]
    assert "FibonacciTest.Begins" in told[1]
    assert not (samples / ".kith-build").exists()
