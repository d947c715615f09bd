"""Files of tests: thinned out, and put together."""

import ast

import pytest

from files_of_tests import CPP, PYTHON
from kith.features.testgen.merging import (
    drop_parts,
    merge_tests,
    part_of,
)
from kith.gates.suites import find_parts


def names(path: str, source: bytes) -> list[str]:
    return [part.name for part in find_parts(path, source)]


@pytest.mark.parametrize("gone", ["test_a", "test_b", "TestC.test_one", "TestC.test_two"])
def test_a_dropped_python_test_takes_nothing_else_along(gone: str) -> None:
    left = drop_parts("test_m.py", PYTHON, {gone})
    assert names("test_m.py", left) == [name for name in names("test_m.py", PYTHON) if name != gone]
    assert b"def helper" in left and left.endswith(b"\n") and b"\n\n\n\n" not in left


def test_a_class_without_tests_goes_too() -> None:
    left = drop_parts("test_m.py", PYTHON, {"TestC.test_one", "TestC.test_two"})
    assert b"TestC" not in left
    assert drop_parts("test_m.py", PYTHON, set(names("test_m.py", PYTHON))) == b""
    assert drop_parts("test_m.py", PYTHON, {"test_other"}) == PYTHON


def test_an_import_that_only_dropped_tests_used_goes_too() -> None:
    tests = b"def test_b():\n    os.g()\n"
    source = b"import os, sys\nimport re\nimport this\n\n\ndef test_a():\n    os.f(re)\n\n\n" + tests
    left = drop_parts("test_m.py", source, {"test_a"})
    assert left == b"import os, sys\nimport this\n\n\n" + tests


def test_python_files_are_put_together() -> None:
    new = b"""\
import math

import pytest
from m import f

LIMIT = 3


def test_a():
    assert False


def test_d():
    assert f(LIMIT) == math.pi


class TestC:
    def test_one(self):
        assert False

    def test_three(self):
        assert f(3) == 4


if __name__ == "__main__":
    pytest.main()
"""
    merged = merge_tests("test_m.py", PYTHON, new)
    ast.parse(merged)
    assert names("test_m.py", merged) == [
        *("test_a", "test_b", "TestC.test_one", "TestC.test_two", "TestC.test_three", "test_d")
    ]
    assert b"assert False" not in merged and merged.count(b"import pytest") == 1
    assert merged.index(b"import math") < merged.index(b"def helper")
    assert b"__main__" not in merged and b"LIMIT = 3" in merged
    assert merge_tests("test_m.py", merged, new) == merged


def test_a_dropped_cpp_test_takes_its_comment_along() -> None:
    left = drop_parts("m_test.cc", CPP, {"Suite.Zero"})
    assert names("m_test.cc", left) == ["Fixture.One", "adds (twice)"]
    assert b"About zero" not in left and b"int helper() { return 3; }\n\nTEST_F" in left


def test_cpp_files_are_put_together() -> None:
    new = b"""\
#include <limits>
#include "m.h"

int twice(int n) { return 2 * n; }

TEST(Suite, Zero) { EXPECT_TRUE(false); }
TEST(Suite, Most) { EXPECT_EQ(f(twice(2)), 5); }

int main(int argc, char** argv) { return 0; }
"""
    merged = merge_tests("m_test.cc", CPP, new)
    assert names("m_test.cc", merged) == ["Suite.Zero", "Fixture.One", "adds (twice)", "Suite.Most"]
    assert merged.startswith(b'#include "m.h"\n#include <gtest/gtest.h>\n#include <limits>\n')
    assert b"main(" not in merged and b"EXPECT_TRUE(false)" not in merged and b"int twice" in merged
    assert merge_tests("m_test.cc", merged, new) == merged


def test_nothing_kept_yet_means_all_that_was_written() -> None:
    assert merge_tests("test_m.py", b"", PYTHON) == PYTHON


@pytest.mark.parametrize(
    ("id", "name"),
    [
        ("tests/test_m.py::test_a[x.y::z]", "test_a"),
        ("tests/test_m.py::TestC::test_one", "TestC.test_one"),
        ("tests.test_m.TestC.test_two", "TestC.test_two"),
        ("tests/test_m.py::test_ab", ""),
    ],
)
def test_ids_of_python_lead_back_to_the_test(id: str, name: str) -> None:
    part = part_of(id, find_parts("test_m.py", PYTHON))
    assert (part.name if part else "") == name


@pytest.mark.parametrize(
    ("id", "name"),
    [
        ("unit::Suite.Zero", "Suite.Zero"),
        ("Instance/Fixture.One/3", "Fixture.One"),
        ("unit::adds (twice)", "adds (twice)"),
        ("unit::OtherSuite.Zero", ""),
        ("unit", ""),
    ],
)
def test_ids_of_cpp_lead_back_to_the_test(id: str, name: str) -> None:
    part = part_of(id, find_parts("m_test.cc", CPP))
    assert (part.name if part else "") == name
