"""Long outputs become short ones that still say what failed and where."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.gates.failure_output import distil, failing_tests

NOISE = "".join(f"[{n:3}/400] compiling part_{n}.o with all its options\n" for n in range(400))
SUITE = """\
import json
import unittest
import pytest


def halve(number):
    return helper(number)


def helper(number):
    return 1 / number


def test_wrong():
    seen = {"a": 1}
    assert seen == {"a": 2}, "the numbers differ"


@pytest.mark.parametrize("number", range(12))
def test_zero(number):
    halve(0)


def test_deep_in_a_library():
    json.loads("{")


class TestOld(unittest.TestCase):
    def test_old(self):
        self.assertEqual(halve(2), 4)


def test_good():
    pass
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the real runners print about one suite."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "test_suite.py").write_text(SUITE)
    (folder / "test_plain.py").write_text(SUITE.partition("@pytest")[0].replace("import pytest", ""))
    return {
        "pytest": _output(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_suite.py"),
        "unittest": _output(folder, "-m", "unittest", "test_suite.TestOld"),
    }


def _output(folder: Path, *words: str) -> str:
    ran = subprocess.run(
        [sys.executable, *words], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert ran.returncode
    return ran.stdout


def test_a_short_output_stays_as_it_is_but_for_colours_and_progress() -> None:
    assert distil("\x1b[31mred\x1b[0m\r\n 10%\r 99%\rdone\n\n", "x", 100) == "red\ndone"


def test_pytest_keeps_assertions_project_frames_and_the_summary(outputs: dict[str, str]) -> None:
    assert len(outputs["pytest"]) > 6000
    told = distil(outputs["pytest"], "python -m pytest -q", 3000)
    assert len(told) <= 3000
    assert '>       assert seen == {"a": 2}' in told
    assert "E       AssertionError: the numbers differ" in told
    assert "test_suite.py:11: ZeroDivisionError" in told
    assert "FAILED test_suite.py::test_deep_in_a_library" in told
    assert "15 failed, 1 passed" in told
    assert "lines left out ...]" in told
    assert "Decode a JSON document" not in told


def test_the_first_failures_keep_more_than_the_last(outputs: dict[str, str]) -> None:
    told = distil(outputs["pytest"], "pytest", 2500)
    assert told.count("return 1 / number") < 12
    assert told.index("test_wrong") < told.index("test_zero[0]")


def test_unittest_inside_noise(outputs: dict[str, str]) -> None:
    told = distil(NOISE + outputs["unittest"], "make test", 1200)
    assert "FAIL: test_old (test_suite.TestOld" in told
    assert "AssertionError: 0.5 != 4" in told
    assert "FAILED (failures=1)" in told
    assert "part_200.o" not in told


@pytest.mark.skipif(not shutil.which("g++"), reason="needs a C++ compiler")
def test_a_compiler_keeps_its_first_errors(tmp_path: Path) -> None:
    lines = "struct S {}; int f(int);\n#include <algorithm>\n#include <vector>\nint main() {\n"
    lines += '  f("x");\n  std::vector<S> v; std::sort(v.begin(), v.end());\n  missing();\n}\n'
    (tmp_path / "a.cpp").write_text(lines)
    ran = subprocess.run(
        ["g++", "-c", "a.cpp"], cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    told = distil(NOISE + ran.stdout, "make", 2000)
    assert len(told) <= 2000 < len(ran.stdout)
    assert "a.cpp:5:" in told and "error: invalid conversion" in told and '5 |   f("x");' in told
    assert "a.cpp:7:" in told and "missing" in told
    assert "In instantiation" not in told


@pytest.mark.parametrize(
    ("trouble", "kept", "failed"),
    [
        (
            "[ RUN      ] Box.Opens\nbox_test.cpp:12: Failure\nExpected equality of these values:\n  1\n  2\n"
            "[  FAILED  ] Box.Opens (0 ms)\n",
            ("box_test.cpp:12: Failure", "Expected equality", "  2"),
            {"Box.Opens"},
        ),
        (
            "-----\nboxes open\n-----\nbox.cpp:9: FAILED:\n  REQUIRE( a == b )\nwith expansion:\n"
            "  1 == 2\n\ntest cases: 1 | 1 failed\n",
            ("box.cpp:9: FAILED:", "REQUIRE( a == b )", "1 == 2", "test cases: 1"),
            set(),
        ),
        (
            "50% tests passed, 1 tests failed out of 2\n\n"
            "The following tests FAILED:\n\t  2 - box (Failed)\n",
            ("50% tests passed", "2 - box (Failed)"),
            {"box"},
        ),
        (
            "error[E0308]: mismatched types\n --> src/lib.rs:3:5\n  |\n3 |     1\n  |     ^ expected `()`\n",
            ("error[E0308]", "src/lib.rs:3:5", "expected `()`"),
            set(),
        ),
        (
            "test tests::opens ... FAILED\n\n---- tests::opens stdout ----\n"
            "thread 'x' panicked at src/lib.rs:9:5:\nassertion `left == right` failed\n"
            "  left: 1\n right: 2\n\ntest result: FAILED. 0 passed; 1 failed\n",
            ("panicked at src/lib.rs:9:5", "left: 1", "test result: FAILED"),
            {"tests::opens"},
        ),
        (
            "--- FAIL: TestOpen (0.00s)\n    box_test.go:8: got 1, want 2\n"
            "FAIL\nFAIL\texample.org/box\t0.1s\n",
            ("--- FAIL: TestOpen", "got 1, want 2"),
            {"TestOpen"},
        ),
        (
            "not ok 1 - opens\n  ---\n  location: 'box.test.js:2:1'\n  error: |-\n"
            "    2 !== 3\n  ...\n# fail 1\n",
            ("not ok 1 - opens", "box.test.js:2:1", "2 !== 3", "# fail 1"),
            {"opens"},
        ),
        (
            "  ● box › opens\n\n    expect(received).toBe(expected)\n\n    Expected: 3\n    Received: 2\n\n"
            "Tests:       1 failed, 1 total\n",
            ("● box › opens", "Expected: 3", "Tests:       1 failed"),
            {"box › opens"},
        ),
        (
            "==7==ERROR: AddressSanitizer: heap-use-after-free\n    #0 0x1 in f a.c:3\n",
            ("#0 0x1 in f a.c:3",),
            set(),
        ),
        ("frob: cannot open the pod bay door\n", ("cannot open the pod bay door",), set()),
    ],
)
def test_the_trouble_is_found_between_noise(trouble: str, kept: tuple[str, ...], failed: set[str]) -> None:
    told = distil(NOISE + trouble + NOISE, "./check", 1500)
    assert len(told) <= 1500
    for words in kept:
        assert words in told
    assert failing_tests(NOISE + trouble) == failed


def test_failing_tests_of_the_real_runners(outputs: dict[str, str]) -> None:
    expected = {f"test_suite.py::test_zero[{n}]" for n in range(12)}
    expected |= {
        f"test_suite.py::{name}" for name in ("test_wrong", "test_deep_in_a_library", "TestOld::test_old")
    }
    assert failing_tests(outputs["pytest"]) == expected
    (name,) = failing_tests(outputs["unittest"])
    assert name.startswith("test_suite.TestOld")
    assert failing_tests("12 passed in 0.1s") == frozenset()


def test_the_end_is_kept_when_nothing_stands_out() -> None:
    told = distil("".join(f"step {n}\n" for n in range(1000)), "x", 300)
    assert told.endswith("step 999")
    assert told.startswith("[... ") and "step 0\n" not in told


PIECES = st.sampled_from(
    [
        "E   boom\n",
        "FAILED a.py::b\n",
        "a.c:1:2: error: x\n",
        "\n",
        "x" * 500 + "\n",
        "\x1b[1m",
        "\r",
        "____ t ____\n",
    ]
)


@given(st.lists(PIECES | st.text(max_size=20), max_size=60).map("".join), st.integers(0, 800))
def test_it_is_never_too_long(output: str, limit: int) -> None:
    assert len(distil(output, "x", limit)) <= limit


def test_a_long_line_and_many_empty_ones_take_no_time() -> None:
    assert failing_tests("a" * 1_000_000 + "\rFAILED a.py::b\n") == {"a.py::b"}
    assert failing_tests("\n" * 300_000 + "not ok 1 - adds\n") == {"adds"}
