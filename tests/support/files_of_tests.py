"""A file of tests in Python, and one in C++."""

PYTHON = b'''\
"""Tests."""
import pytest

from m import f


def helper():
    return 3


# about a
@pytest.mark.parametrize("x", [1, 2])
def test_a(x):
    assert f(x)


def test_b():
    f(1)


class TestC:
    def test_one(self):
        with pytest.raises(ValueError):
            f(-1)

    def test_two(self):
        self.assertEqual(f(1), 2)
'''
CPP = b"""\
#include "m.h"
#include <gtest/gtest.h>

namespace {
int helper() { return 3; }

// About zero.
TEST(Suite, Zero) {
  EXPECT_EQ(f('{'), 0) << "}";  // }
}

TEST_F(Fixture, One) { f(R"x(}})x"); }
/* TEST(Suite, Hidden) { EXPECT_TRUE(true); } */
}  // namespace

TEST_CASE("adds (twice)", "[m]") {
  SECTION("a") { REQUIRE(f(1) == 2); }
}
"""
