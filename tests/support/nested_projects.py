"""Projects in folders of a tree whose top is none: a backend beside a frontend."""

from command_projects import ADD_JS, NODE
from prepared import Project, right, swap, wrong
from python_projects import BREAKS, FIXED, GREEN, README, REFACTOR, SHAPES, TEST_PERIMETER, TEST_SHAPES

BACKEND = {f"backend/{path}": text for path, text in GREEN.items()}
BACKEND["backend/requirements.txt"] = "requests\n"
# Its tests are in a folder of their own, so that they start nowhere but in the project's.
BACKEND["backend/tests/test_shapes.py"] = BACKEND.pop("backend/test_shapes.py")
PAGE = next(each for each in NODE if each.name == "node --test")
FRONTEND = {f"frontend/{path}": text for path, text in PAGE.files.items()}
TESTS = "backend/tests"
USES_COMMON = "from common.shapes import area\n\n\ndef test_area():\n    assert area(2, 3) == 6\n"
SUBTRACTS, ADDS = "frontend/add.test.js::subtracts", "frontend/add.test.js::adds"
PROJECTS = (
    Project(
        "a backend and a frontend",
        {**BACKEND, **FRONTEND, "README.md": "Two.\n", "release.py": "import os\n\nprint(os.sep)\n"},
        (
            right(
                "refactor the backend",
                {"backend/shapes.py": REFACTOR},
                "held",
                "reached",
                failing=[SUBTRACTS],
            ),
            right(
                "add a test there",
                {
                    "backend/shapes.py": FIXED,
                    "backend/tests/test_more.py": f"import shapes\n{TEST_PERIMETER}",
                },
                "held",
                "reached",
                added=[f"{TESTS}/test_more.py::test_perimeter"],
                failing=[SUBTRACTS],
            ),
            wrong(
                "break the backend",
                {"backend/shapes.py": BREAKS},
                broken=[f"{TESTS}/test_shapes.py::test_area"],
                says="assert 4 == 6",
            ),
            right(
                "mend the frontend",
                {"frontend/add.js": swap(ADD_JS, ("b - a", "a - b"))},
                "proven",
                "fixed",
                fixed=[SUBTRACTS],
            ),
            wrong(
                "break the frontend",
                {"frontend/add.js": swap(ADD_JS, ("a + b", "a * b"))},
                broken=[ADDS],
                failing=[SUBTRACTS],
            ),
            right(
                "mend one and add to the other",
                {
                    "frontend/add.js": swap(ADD_JS, ("b - a", "a - b")),
                    "backend/tests/test_shapes.py": swap(TEST_SHAPES, ("== 2", "== 2.0")),
                },
                "proven",
                "fixed",
                fixed=[SUBTRACTS],
            ),
            right("words only", README, "unproven", "not_reached", failing=[SUBTRACTS]),
            wrong(
                "break a script beside them",
                {"release.py": "import os\n\nprint(os.sepp)\n"},
                says="release.py no longer loads",
            ),
        ),
        slow=True,
    ),
    Project(
        "a page beside a package of Python",
        {**GREEN, **FRONTEND},
        (
            right("refactor the package", {"shapes.py": REFACTOR}, "held", "reached"),
            right(
                "mend the page",
                {"frontend/add.js": swap(ADD_JS, ("b - a", "a - b"))},
                "proven",
                "fixed",
                fixed=[SUBTRACTS],
            ),
            wrong(
                "break the page",
                {"frontend/add.js": swap(ADD_JS, ("a + b", "a * b"))},
                broken=[ADDS],
                failing=[SUBTRACTS],
            ),
        ),
        slow=True,
    ),
    Project(
        "tests of a program that starts in its folder",
        {"service/shapes.py": SHAPES, "service/tests/test_a.py": TEST_SHAPES},
        (
            right("refactor", {"service/shapes.py": REFACTOR}, "held", "reached"),
            wrong("break it", {"service/shapes.py": BREAKS}, broken=["service/tests/test_a.py::test_area"]),
        ),
    ),
    Project(
        "many services that use one library",
        {
            "common/setup.cfg": "[metadata]\nname = common\n",
            "common/shapes.py": SHAPES,
            **{f"service{number}/setup.cfg": "[metadata]\nname = service\n" for number in range(5)},
            **{f"service{number}/test_s{number}.py": USES_COMMON for number in range(5)},
        },
        (
            right("refactor the library", {"common/shapes.py": REFACTOR}, "held", "reached"),
            wrong(
                "break the library",
                {"common/shapes.py": BREAKS},
                broken=[f"service{number}/test_s{number}.py::test_area" for number in range(5)],
            ),
        ),
        slow=True,
    ),
    Project(
        "a package in a folder, tested from the top",
        {
            "lib/setup.py": "from setuptools import setup\nsetup(name='lib', packages=['lib'])\n",
            "lib/__init__.py": "",
            "lib/shapes.py": SHAPES,
            "tests/test_shapes.py": TEST_SHAPES.replace("shapes", "lib.shapes"),
        },
        (
            right("refactor", {"lib/shapes.py": REFACTOR}, "held", "reached"),
            wrong("break it", {"lib/shapes.py": BREAKS}, broken=["tests/test_shapes.py::test_area"]),
        ),
    ),
    Project(
        "tests beside a package that has its own",
        {
            "lib/setup.py": "from setuptools import setup\nsetup(name='lib')\n",
            "lib/shapes.py": SHAPES,
            "lib/tests/test_sum.py": "def test_sum():\n    assert 1 + 1 == 2\n",
            "tests/test_shapes.py": TEST_SHAPES.replace("shapes", "lib.shapes"),
        },
        (wrong("break it", {"lib/shapes.py": BREAKS}, broken=["tests/test_shapes.py::test_area"]),),
    ),
    Project(
        "a manifest at the top with settings of a linter",
        {
            "pyproject.toml": "[tool.ruff]\nline-length = 100\n",
            "backend/requirements.txt": "requests\n",
            "backend/shapes.py": SHAPES,
            "backend/tests/test_shapes.py": TEST_SHAPES,
        },
        (
            right("refactor", {"backend/shapes.py": REFACTOR}, "held", "reached"),
            wrong("break it", {"backend/shapes.py": BREAKS}, broken=[f"{TESTS}/test_shapes.py::test_area"]),
        ),
    ),
)
