"""Tests of a change that the project's command does not collect, and the first tests of a project."""

from prepared import Project, right, wrong
from python_projects import FIXED, INI, REFACTOR, SHAPES, TEST_SHAPES, UNITTEST

NARROW = {
    "pytest.ini": f"{INI}testpaths = tests\n",
    "shapes.py": SHAPES,
    "tests/test_shapes.py": TEST_SHAPES,
    "conftest.py": "",
}
NEW_TEST = "import shapes\n\n\ndef test_perimeter():\n    assert shapes.perimeter(2, 3) == 10\n"
PROJECTS = (
    Project(
        "new tests that the command does not collect",
        {**NARROW, "checks/test_old.py": "def test_old():\n    assert False\n"},
        (
            right(
                "beside the folder of tests",
                {"shapes.py": FIXED, "checks/test_more.py": NEW_TEST},
                "held",
                "reached",
                request="correct perimeter() and add a test",
                added=["checks/test_more.py::test_perimeter"],
            ),
            right(
                "in a file that is not named like tests",
                {"shapes.py": FIXED, "checks/perimeters.py": NEW_TEST},
                "held",
                "reached",
                request="correct perimeter() and test it in checks/perimeters.py",
                added=["checks/perimeters.py::test_perimeter"],
            ),
            wrong(
                "that fail",
                {"checks/test_more.py": NEW_TEST},
                request="add a test of perimeter()",
                broken=["checks/test_more.py::test_perimeter"],
                says="assert 5 == 10",
            ),
            right(
                "that are data",
                {"shapes.py": REFACTOR, "checks/test_more.py": NEW_TEST},
                "held",
                "reached",
            ),
            right(
                "beside one that failed before",
                {
                    "shapes.py": FIXED,
                    "checks/test_old.py": f"{NEW_TEST}\n\ndef test_old():\n    assert False\n",
                },
                "held",
                "reached",
                request="correct perimeter() and test it",
                added=["checks/test_old.py::test_perimeter"],
                failing=["checks/test_old.py::test_old"],
            ),
        ),
    ),
    Project(
        "new tests that unittest does not discover",
        {"shapes.py": FIXED, "test_shapes.py": UNITTEST},
        (
            right(
                "in a folder that is no package",
                {"checks/test_more.py": UNITTEST.replace("TestShapes", "TestMore")},
                "held",
                "reached",
                request="add a test in checks/test_more.py",
                added=["checks.test_more.TestMore.test_area", "checks.test_more.TestMore.test_perimeter"],
            ),
        ),
    ),
    Project(
        "the first tests of a project",
        {"pytest.ini": INI, "shapes.py": SHAPES},
        (
            right(
                "that pass",
                {"shapes.py": FIXED, "test_more.py": NEW_TEST},
                "held",
                "reached",
                added=["test_more.py::test_perimeter"],
            ),
            wrong(
                "that fail",
                {"test_more.py": NEW_TEST},
                broken=["test_more.py::test_perimeter"],
                says="adds or enables these tests, and they fail: test_more.py::test_perimeter",
            ),
            right("none", {"shapes.py": FIXED}, "unproven", "no_tests"),
        ),
    ),
)
