"""Python projects with pytest or unittest: green or red before, signatures that change, flaky tests."""

from prepared import Project, right, swap, useless, wrong

# What this environment has for kith's own tests: starting it would take longer than the tests.
INI = "[pytest]\naddopts = -p no:hypothesispytest -p no:xdist -p no:anyio -p no:schemathesis\n"
SHAPES = """\
def area(width, height):
    return width * height


def perimeter(width, height):
    return width + height


def half(number):
    if number < 0:
        raise ValueError(number)
    return number / 2
"""
TEST_SHAPES = """\
import shapes
from shapes import area, half


def test_area():
    assert area(2, 3) == 6


def test_half():
    assert half(4) == 2
"""
TEST_PERIMETER = "\n\ndef test_perimeter():\n    assert shapes.perimeter(2, 3) == 10\n"
GREEN = {"pytest.ini": INI, "shapes.py": SHAPES, "test_shapes.py": TEST_SHAPES}
RED = {**GREEN, "test_shapes.py": TEST_SHAPES + TEST_PERIMETER}
FIXED = swap(SHAPES, ("return width + height", "return 2 * (width + height)"))
REFACTOR = swap(SHAPES, ("return number / 2", "return 0.5 * number"))
BREAKS = swap(SHAPES, ("return width * height", "return width * width"))
NO_FIXTURE = """import pytest


@pytest.fixture(autouse=True)
def patched():
    raise AttributeError("notset")
"""
AREA, HALF, PERIMETER = (f"test_shapes.py::test_{name}" for name in ("area", "half", "perimeter"))
README = {"README.md": "Shapes.\n"}
UNITTEST = """\
import unittest

import shapes


class TestShapes(unittest.TestCase):
    def test_area(self):
        self.assertEqual(shapes.area(2, 3), 6)

    def test_perimeter(self):
        self.assertEqual(shapes.perimeter(2, 3), 10)
"""
GREEN_BEFORE = (
    Project(
        "all green before",
        GREEN,
        (
            right("refactor", {"shapes.py": REFACTOR}, "held", "reached"),
            right(
                "with a test that passes",
                {"shapes.py": FIXED, "test_shapes.py": TEST_SHAPES + TEST_PERIMETER},
                "held",
                "reached",
                added=[PERIMETER],
            ),
            right("words only", README, "unproven", "not_reached"),
            wrong("break one", {"shapes.py": BREAKS}, broken=[AREA], says="assert 4 == 6"),
            wrong(
                "cannot be imported",
                {"shapes.py": "import nowhere\n" + SHAPES},
                "unchecked",
                says="there is no `nowhere` to import",
            ),
            wrong(
                "fails when it is imported",
                {"shapes.py": SHAPES + "\n1 / 0\n"},
                broken=["test_shapes.py", AREA, HALF],
                says="ZeroDivisionError",
            ),
            wrong("syntax error", {"shapes.py": "def (\n"}, "unchecked", says="shapes.py:1: syntax error"),
            wrong(
                "with a test that fails",
                {"test_shapes.py": TEST_SHAPES + TEST_PERIMETER},
                broken=[PERIMETER],
            ),
            wrong(
                "a module is deleted", {"shapes.py": None}, "unchecked", says="there is no `shapes` to import"
            ),
        ),
    ),
    Project(
        "code that no test reaches",
        {**GREEN, "tool.py": "import sys\n\n\ndef main():\n    print(sys.argv)\n"},
        (
            right("refactor", {"tool.py": "def main():\n    print('tool')\n"}, "unproven", "not_reached"),
            wrong(
                "syntax error", {"tool.py": "def main(:\n    print('tool')\n"}, "unchecked", says="tool.py:1"
            ),
        ),
    ),
    Project(
        "data that a test names",
        {
            "pytest.ini": INI,
            "data/primes.txt": "2 3 5\n",
            "test_data.py": (
                "from pathlib import Path\n\n\ndef test_primes():\n"
                "    assert Path('data/primes.txt').read_text().split()[:2] == ['2', '3']\n"
            ),
            "settings.toml": "colour = 'red'\n",
        },
        (
            right("more data", {"data/primes.txt": "2 3 5 7\n"}, "held", "reached"),
            right("configuration", {"settings.toml": "colour = 'blue'\n"}, "unproven", "not_reached"),
            wrong("other data", {"data/primes.txt": "1 2\n"}, broken=["test_data.py::test_primes"]),
            wrong(
                "broken configuration", {"settings.toml": "colour = \n"}, "unchecked", says="settings.toml:1"
            ),
        ),
    ),
    Project(
        "a src layout hides behind an older version",
        {  # this environment has a toolz of its own, without `triple`
            "pyproject.toml": "[project]\nname = 'toolz'\nversion = '9'\n[tool.pytest.ini_options]\n"
            "addopts = '-p no:hypothesispytest -p no:xdist -p no:anyio -p no:schemathesis'\n",
            "src/toolz/__init__.py": "def triple(number):\n    return 3 * number\n",
            "tests/test_triple.py": "import toolz\n\n\ndef test_triple():\n    assert toolz.triple(2) == 6\n",
        },
        (
            right(
                "refactor",
                {"src/toolz/__init__.py": "def triple(number):\n    return number + number + number\n"},
                "held",
                "reached",
            ),
            wrong(
                "break it",
                {"src/toolz/__init__.py": "def triple(number):\n    return number**3\n"},
                broken=["tests/test_triple.py::test_triple"],
            ),
        ),
    ),
)

SKIPPING = """\
import pytest
import shapes


@pytest.mark.xfail(strict=True)
def test_perimeter():
    assert shapes.perimeter(2, 3) == 10


@pytest.mark.skip
def test_later():
    assert shapes.volume(1, 2, 3) == 6
"""

RED_BEFORE = (
    Project(
        "the wanted fix is a red test",
        RED,
        (
            right("fix it", {"shapes.py": FIXED}, "proven", "fixed", fixed=[PERIMETER]),
            right("something else", {"shapes.py": REFACTOR}, "held", "reached", failing=[PERIMETER]),
            right(
                "named and turned green",
                {"shapes.py": FIXED},
                "proven",
                "fixed",
                fixed=[PERIMETER],
                request="make test_perimeter pass",
            ),
            right(
                "named and green before",
                {"shapes.py": REFACTOR},
                "held",
                "reached",
                failing=[PERIMETER],
                request="make half() quicker; test_half has to pass",
            ),
            wrong(
                "break another one",
                {"shapes.py": BREAKS},
                broken=[AREA],
                failing=[PERIMETER],
                says="1 test failed before your change too",
            ),
            wrong(
                "fix it and break another one",
                {"shapes.py": swap(FIXED, ("width * height", "width * width"))},
                broken=[AREA],
                fixed=[PERIMETER],
            ),
            wrong(
                "named and still red",
                {"shapes.py": swap(SHAPES, ("return width + height", "return 3 * (width + height)"))},
                "unmet",
                failing=[PERIMETER],
                request="make test_perimeter pass",
                says="test_perimeter",
            ),
            wrong(
                "named and still red, and nobody tries again",
                {"shapes.py": swap(SHAPES, ("return width + height", "return 3 * (width + height)"))},
                "unmet",
                end="held",
                failing=[PERIMETER],
                request="make test_perimeter pass",
                final=True,
            ),
            useless("words only", README, "not_reached", failing=[PERIMETER]),
        ),
    ),
    Project(
        "all red before",  # as with a newer pytest than the project knows
        {**GREEN, "conftest.py": NO_FIXTURE},
        (
            right("refactor", {"shapes.py": REFACTOR}, "unproven", "failing", failing=[AREA, HALF]),
            useless("words only", README, "not_reached", failing=[AREA, HALF]),
            wrong(
                "fails when it is imported", {"shapes.py": SHAPES + "\n1 / 0\n"}, broken=["test_shapes.py"]
            ),
        ),
    ),
    Project(
        "unittest with the wanted fix",
        {"shapes.py": SHAPES, "tests/__init__.py": "", "tests/test_shapes.py": UNITTEST},
        (
            right(
                "fix it",
                {"shapes.py": FIXED},
                "proven",
                "fixed",
                fixed=["tests.test_shapes.TestShapes.test_perimeter"],
            ),
            wrong(
                "break another one",
                {"shapes.py": BREAKS},
                broken=["tests.test_shapes.TestShapes.test_area"],
                failing=["tests.test_shapes.TestShapes.test_perimeter"],
            ),
            wrong(
                "fails when it is imported",
                {"shapes.py": SHAPES + "\n1 / 0\n"},
                broken=["tests.test_shapes", "tests.test_shapes.TestShapes.test_area"],
            ),
        ),
    ),
    Project(
        "an unrelated red test",
        {
            **GREEN,
            "colours.py": "def red():\n    return '#f00'\n",
            "test_colours.py": "from colours import red\n\n\ndef test_red():\n    assert red() == 'red'\n",
        },
        (
            right(
                "refactor", {"shapes.py": REFACTOR}, "held", "reached", failing=["test_colours.py::test_red"]
            ),
            wrong("break one", {"shapes.py": BREAKS}, broken=[AREA], failing=["test_colours.py::test_red"]),
        ),
    ),
    Project(
        "one of several red tests is wanted",
        {
            "pytest.ini": INI,
            "signs.py": "def sign(number):\n    return 1 if number >= 0 else -1\n\n\ndef is_even(number):\n"
            "    return number % 2 == 1\n",
            "test_signs.py": """\
import pytest
from signs import is_even, sign


@pytest.mark.parametrize(("number", "expected"), [(3, 1), (0, 0), (-2, -1)])
def test_sign(number, expected):
    assert sign(number) == expected


class TestEven:
    def test_two(self):
        assert is_even(2)

    def test_three(self):
        assert not is_even(3)
""",
        },
        (
            right(
                "the wanted one",
                {
                    "signs.py": "def sign(number):\n    return (number > 0) - (number < 0)\n\n\n"
                    "def is_even(number):\n    return number % 2 == 1\n"
                },
                "proven",
                "fixed",
                request="sign(0) has to be 0",
                fixed=["test_signs.py::test_sign[0-0]"],
                failing=["test_signs.py::TestEven::test_three", "test_signs.py::TestEven::test_two"],
            ),
            wrong(
                "one for another",
                {
                    "signs.py": "def sign(number):\n    return number\n\n\ndef is_even(number):\n"
                    "    return number % 2 == 1\n"
                },
                request="sign(0) has to be 0",
                fixed=["test_signs.py::test_sign[0-0]"],
                broken=["test_signs.py::test_sign[-2--1]", "test_signs.py::test_sign[3-1]"],
                failing=["test_signs.py::TestEven::test_three", "test_signs.py::TestEven::test_two"],
            ),
        ),
    ),
    Project(
        "skipped and expected to fail before",
        {
            **GREEN,
            "test_more.py": SKIPPING,
        },
        (
            right("refactor", {"shapes.py": REFACTOR}, "held", "reached"),
            right(
                "fixed, and no longer expected to fail",
                {
                    "shapes.py": FIXED,
                    "test_more.py": swap(SKIPPING, ("@pytest.mark.xfail(strict=True)\n", "")),
                },
                "held",
                "reached",
            ),
            wrong(
                "fixed, and still expected to fail",
                {"shapes.py": FIXED},
                broken=["test_more.py::test_perimeter"],
            ),
            wrong(
                "no longer skipped, and fails",
                {"test_more.py": swap(SKIPPING, ("@pytest.mark.skip\n", ""))},
                broken=["test_more.py::test_later"],
            ),
        ),
    ),
)

SIGNATURES = (
    Project(
        "an import that now works",
        {
            **GREEN,
            "test_volume.py": """\
from shapes import area, volume


def test_volume():
    assert volume(1, 2, 3) == 6


def test_flat():
    assert area(1, 2) == 2
""",
        },
        (
            right(
                "a first step",
                {"shapes.py": SHAPES + "\n\ndef volume(*sides):\n    return sum(sides) + 1\n"},
                "proven",
                "fixed",
                fixed=["test_volume.py::test_flat"],
                failing=["test_volume.py::test_volume"],
            ),
            right(
                "all of it",
                {"shapes.py": SHAPES + "\n\ndef volume(a, b, c):\n    return a * b * c\n"},
                "proven",
                "fixed",
                fixed=["test_volume.py::test_flat", "test_volume.py::test_volume"],
            ),
            wrong(
                "a first step is not what was asked",
                {"shapes.py": SHAPES + "\n\ndef volume(*sides):\n    return sum(sides) + 1\n"},
                "unmet",
                request="test_volume has to pass",
                fixed=["test_volume.py::test_flat"],
                failing=["test_volume.py::test_volume"],
            ),
        ),
    ),
    Project(
        "another failure in and beside what is touched",
        {
            "pytest.ini": INI,
            "parse.py": """\
def parse(text):
    number = int(text)
    return check(number)


def check(number):
    if number > 9:
        raise ValueError("too large")
    return number
""",
            "test_parse.py": """\
from parse import parse


def test_small():
    assert parse("3") == 3


def test_large():
    first = parse("12")
    assert first == 12
""",
        },
        (
            right(
                "the test gets further",
                {
                    "parse.py": """\
def parse(text):
    number = int(text)
    return check(number)


def check(number):
    return min(number, 9)
"""
                },
                "held",
                "reached",
                failing=["test_parse.py::test_large"],
            ),
            right(
                "the same failure on another line",
                {
                    "parse.py": """\
def parse(text):
    number = int(text)
    return check(number)


def check(number):
    limit = 9
    if number > limit:
        raise ValueError("too large")
    return number
"""
                },
                "held",
                "reached",
                failing=["test_parse.py::test_large"],
            ),
            wrong(
                "another error in the touched function",
                {
                    "parse.py": """\
def parse(text):
    number = int(text)
    return check(number)


def check(number):
    if number > 9:
        raise KeyError(number)
    return number
"""
                },
                broken=["test_parse.py::test_large"],
            ),
        ),
    ),
    Project(
        "an assertion that becomes an error",
        RED,
        (
            wrong(
                "in the touched function",
                {"shapes.py": swap(SHAPES, ("return width + height", "return width.all + height"))},
                broken=[PERIMETER],
            ),
            right(
                "another wrong number",
                {"shapes.py": swap(SHAPES, ("return width + height", "return 3 * (width + height)"))},
                "held",
                "reached",
                failing=[PERIMETER],
            ),
        ),
    ),
)

# In the whole suite it fails once the code is a certain one, and alone it never does: as a race would.
RACE = """\
import sys
from pathlib import Path


def test_race():
    alone = "test_other" not in sys.modules
    assert alone or {word!r} not in Path("shapes.py").read_text()
"""
OTHER = "def test_other():\n    assert True\n"
ORDERED = """\
state = []


def test_first():
    state.append(1)


def test_second():
    from shapes import area

    assert state and area(2, 3) == 6
"""
FLAKY = (
    Project(
        "a test that fails sometimes",
        {**GREEN, "test_other.py": OTHER, "test_zrace.py": RACE.format(word="0.5 *")},
        (
            right(
                "it fails now", {"shapes.py": REFACTOR}, "held", "reached", flaky=["test_zrace.py::test_race"]
            ),
            wrong(
                "it fails now, and a real one does",
                {"shapes.py": swap(REFACTOR, ("width * height", "width * width"))},
                broken=[AREA],
                flaky=["test_zrace.py::test_race"],
            ),
        ),
    ),
    Project(
        "a test that failed sometimes",
        {**GREEN, "test_other.py": OTHER, "test_zrace.py": RACE.format(word="number / 2")},
        (
            right(
                "it passes now, and proves nothing",
                {"shapes.py": REFACTOR},
                "held",
                "reached",
                flaky=["test_zrace.py::test_race"],
            ),
        ),
    ),
    Project(
        "tests that depend on their order",
        {**GREEN, "test_ordered.py": ORDERED},
        (
            right("refactor", {"shapes.py": REFACTOR}, "held", "reached"),
            wrong("break it", {"shapes.py": BREAKS}, broken=[AREA, "test_ordered.py::test_second"]),
        ),
    ),
    Project(
        "too many that fail only together",
        {
            **GREEN,
            "test_other.py": OTHER,
            "test_zrace.py": RACE.format(word="0.5 *").replace(
                "def test_race():",
                "import pytest\n\n\n@pytest.mark.parametrize('n', range(8))\ndef test_race(n):",
            ),
        },
        (
            wrong(
                "more than a tenth of the suite",
                {"shapes.py": REFACTOR},
                broken=[f"test_zrace.py::test_race[{n}]" for n in range(8)],
            ),
        ),
    ),
    Project(
        "a test that fails at random",
        {
            **GREEN,
            "test_random.py": "import random\n\n\ndef test_random():\n    assert random.random() < 0.9\n",
        },
        (
            right(
                "refactor", {"shapes.py": REFACTOR}, "held", "reached", unsure=["test_random.py::test_random"]
            ),
            wrong("break one", {"shapes.py": BREAKS}, broken=[AREA], unsure=["test_random.py::test_random"]),
        ),
    ),
)
PROJECTS = (*GREEN_BEFORE, *RED_BEFORE, *SIGNATURES, *FLAKY)
