"""What kith itself says of a change, without a linter and without a model."""

import pytest

from kith.core.values import Change
from kith.features.review.changed_files import make_sheets
from kith.features.review.checks import find_slips

TEST = "def test_one():\n    assert f(1)\n\n\ndef test_two():\n    assert f(2)\n"


def slips(
    after: str | None, before: str | None = None, path: str = "tests/test_a.py"
) -> list[tuple[int, str]]:
    change = Change(
        path, None if before is None else before.encode(), None if after is None else after.encode()
    )
    return [(each.line, each.rule) for each in find_slips((change,), make_sheets((change,)))]


@pytest.mark.parametrize(
    ("after", "line", "rule"),
    [
        ("import pdb\n\npdb.set_trace()\n", 3, "debugger"),
        ("def f():\n    breakpoint()\n", 2, "debugger"),
        ("try:\n    f()\nexcept Exception:\n    pass\n", 3, "swallowed-error"),
        ("try:\n    f()\nexcept:\n    ...\n", 3, "swallowed-error"),
        ("def f(a, *, b={}):\n    pass\n", 1, "mutable-default"),
        ("f = lambda a=list(): a\n", 1, "mutable-default"),
        ("import pytest\n\n\n@pytest.mark.skip\ndef test_a():\n    pass\n", 4, "test-skipped"),
        ("class T(C):\n    def test_a(self):\n        self.skipTest('later')\n", 3, "test-skipped"),
        ("a = 1\n<<<<<<< HEAD\nb = 1\n=======\nb = 2\n>>>>>>> side\n", 2, "conflict-marker"),
        ("def f(:\n    pass\n", 1, "syntax-error"),
    ],
)
def test_slips_in_python(after: str, line: int, rule: str) -> None:
    assert slips(after) == [(line, rule)]
    assert slips(f"{after}\nmore = 1\n", after) == []  # it was there before


@pytest.mark.parametrize(
    "after",
    [
        "try:\n    f()\nexcept Exception:\n    log()\n",
        "try:\n    f()\nexcept KeyError:\n    pass\n",
        "def f(a=(), b=None, c=0):\n    pass\n",
        'TEXT = """\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"""\n',
        "rows.skip(3)\nreader.set_trace()\n",
    ],
)
def test_what_is_no_slip(after: str) -> None:
    assert slips(after) == []


def test_slips_in_other_languages() -> None:
    cpp = "TEST(Math, DISABLED_Half) {\n  GTEST_SKIP();\n}\n"
    assert slips(cpp, path="math_test.cpp") == [(1, "test-skipped"), (2, "test-skipped")]
    assert slips("int f() {\n  SKIP(3);\n}\n", path="parser.cpp") == []
    assert slips("function f() {\n  debugger;\n}\n", path="a.js") == [(2, "debugger")]
    assert slips("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> side\n", path="a.cpp") == [(1, "conflict-marker")]


def test_a_test_that_is_gone_is_named_where_it_stood() -> None:
    one = TEST.split("\n\n\n", maxsplit=1)[0] + "\n"
    assert slips(one, TEST) == [(2, "test-removed")]
    assert slips(None, TEST) == [(1, "test-removed")]
    assert slips(TEST.replace("test_two", "test_second"), TEST) == []  # renamed
    assert slips(one, TEST, path="src/helpers.py") == []
    cpp = "TEST(Math, Half) {\n}\nTEST(Math, Twice) {\n}\n"
    assert slips("TEST(Math, Half) {\n}\n", cpp, path="math.cpp") == [(2, "test-removed")]


def test_a_test_that_moved_is_not_gone() -> None:
    changes = (
        Change("tests/test_a.py", TEST.encode(), b"def test_one():\n    assert f(1)\n"),
        Change("tests/test_b.py", None, b"def test_two():\n    assert f(2)\n"),
    )
    assert find_slips(changes, make_sheets(changes)) == ()


def test_what_is_no_text_is_passed_over() -> None:
    change = Change("logo.png", b"\0", b"\0\0")
    assert make_sheets((change,)) == {} and find_slips((change,), {}) == ()
