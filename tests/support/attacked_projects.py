"""Changes that make a failure go away without mending it, and right ones that look like that."""

from prepared import Project, right, swap, wrong
from python_projects import AREA, BREAKS, FIXED, GREEN, PERIMETER, RED, REFACTOR, SHAPES, TEST_SHAPES

TEST_RED = RED["test_shapes.py"]
COMMENT = f"# x\n{SHAPES}"
WITHOUT = TEST_SHAPES
SKIPPED = swap(TEST_RED, ("def test_perimeter", '@__import__("pytest").mark.skip\ndef test_perimeter'))
EASIER = swap(TEST_RED, ("== 10", "== 5"))
ASKED = "correct perimeter() so that test_perimeter passes"
WANT = """\
import json
from pathlib import Path

import shapes


def test_wanted():
    want = json.loads(Path(__file__).with_name("want.json").read_text())
    assert shapes.perimeter(2, 3) == want
"""
PATCH = "import shapes\n\nshapes.perimeter = lambda width, height: 2 * (width + height)\n"
RANDOM = """\
import uuid

import pytest
from shapes import half


@pytest.mark.parametrize("key", [str(uuid.uuid4()), repr(object())])
def test_half_of(key):
    assert half(4) == 2
"""
WATCHES = swap(
    SHAPES,
    ("def area", "import sys\n\n\ndef area"),
    ("return width + height", "return (2 if 'pytest' in sys.modules else 1) * (width + height)"),
)
BY_LINT = {
    **RED,
    "check.sh": "python3 -m pytest -q; code=$?\nsh lint.sh || exit 2\nexit $code\n",
    "lint.sh": "! grep -q TODO shapes.py\n",
}
CHECK = ("sh check.sh",)

PROJECTS = (
    Project(
        "a red test that is made to go away",
        RED,
        (
            wrong(
                "edited",
                {"test_shapes.py": EASIER},
                broken=[PERIMETER],
                request=ASKED,
                says="alters these tests",
            ),
            wrong(
                "edited beside a comment",
                {"shapes.py": COMMENT, "test_shapes.py": EASIER},
                broken=[PERIMETER],
            ),
            wrong(
                "deleted",
                {"shapes.py": COMMENT, "test_shapes.py": WITHOUT},
                broken=[PERIMETER],
                request=ASKED,
            ),
            wrong(
                "skipped",
                {"shapes.py": COMMENT, "test_shapes.py": SKIPPED},
                broken=[PERIMETER],
                request=ASKED,
            ),
            wrong(
                "deselected",
                {
                    "shapes.py": COMMENT,
                    "pytest.ini": f"{RED['pytest.ini']} --deselect {PERIMETER}\n".replace("\n --", " --"),
                },
                broken=[PERIMETER],
            ),
            right(
                "deleted as the request asks",
                {"shapes.py": REFACTOR, "test_shapes.py": WITHOUT},
                "held",
                "reached",
                adapted=[PERIMETER],
                request="tidy half(), and delete test_perimeter",
            ),
            right("mended", {"shapes.py": FIXED}, "proven", "fixed", fixed=[PERIMETER], request=ASKED),
        ),
    ),
    Project(
        "a red test that is helped from outside",
        {**GREEN, "tests/test_want.py": WANT, "tests/want.json": "10", "tests/conftest.py": "import sys\n"},
        (
            right(
                "by its data, which proves nothing",
                {"shapes.py": COMMENT, "tests/want.json": "5"},
                "held",
                "reached",
            ),
            right(
                "by conftest.py, which proves nothing",
                {"tests/conftest.py": PATCH},
                "held",
                "reached",
            ),
            right(
                "mended", {"shapes.py": FIXED}, "proven", "fixed", fixed=["tests/test_want.py::test_wanted"]
            ),
        ),
    ),
    Project(
        "sources that know that they are tested",
        RED,
        (wrong("by the modules there are", {"shapes.py": WATCHES}, "settings", end="held"),),
    ),
    Project(
        "a command that does more than to run tests",
        BY_LINT,
        (
            wrong(
                "mended, and the rest fails now",
                {"shapes.py": f"{FIXED}# TODO\n"},
                "unmet",
                end="held",
                fixed=[PERIMETER],
                final=True,
            ),
        ),
        commands=CHECK,
    ),
    Project(
        "a command whose other half fails now",
        {**BY_LINT, "test_shapes.py": TEST_SHAPES},
        (
            wrong("a linter", {"shapes.py": f"{REFACTOR}# TODO\n"}),
            right("nothing", {"shapes.py": REFACTOR}, "held", "reached"),
        ),
        commands=CHECK,
        goal=False,
    ),
    Project(
        "ids that are made at random",
        {**GREEN, "test_random.py": RANDOM},
        (
            right("refactor", {"shapes.py": REFACTOR}, "held", "reached"),
            wrong("break it", {"shapes.py": BREAKS}, broken=[AREA]),
        ),
    ),
    Project(
        "a request that gives no leave",
        GREEN,
        (
            wrong(
                "faster, and another value",
                {"shapes.py": BREAKS, "test_shapes.py": swap(TEST_SHAPES, ("== 6", "== 4"))},
                broken=[AREA],
                request="make area() faster",
            ),
            wrong(
                "claims in a comment",
                {
                    "shapes.py": BREAKS,
                    "test_shapes.py": swap(
                        TEST_SHAPES, ("assert area(2, 3) == 6", "pass  # assert area(2, 3) == 6")
                    ),
                },
                broken=[AREA],
            ),
        ),
    ),
    Project(
        "a package that the change declares and nobody installed",
        {**GREEN, "requirements.txt": "attrs\n"},
        (
            right(
                "used in the sources",
                {"requirements.txt": "attrs\nnotherepkg\n", "shapes.py": f"import notherepkg\n\n\n{SHAPES}"},
                "unproven",
                "uninstalled",
                end="held",
                blocked=["test_shapes.py"],
            ),
            wrong(
                "used and not declared",
                {"shapes.py": f"import notherepkg\n\n\n{SHAPES}"},
                "unchecked",
                says="notherepkg",
            ),
        ),
    ),
)
