"""Projects whose tests cannot run here, in each way in which that happens; a change is still judged."""

from importlib.util import find_spec

from kith.core.evidence import Reason
from prepared import Project, right, wrong
from python_projects import AREA, BREAKS, FIXED, GREEN, HALF, INI, REFACTOR, SHAPES, TEST_SHAPES

# Who finds broken JavaScript depends on what is installed: the grammar, or Node itself.
SYNTAX: Reason = "unchecked" if find_spec("tree_sitter_javascript") else "blocked"
FAILS_AT_ONCE = SHAPES + "\n1 / 0\n"
NEEDS_IT = f"import nothere_pkg\n\n\n{SHAPES}"
PYPROJECT = '[project]\nname = "shapes"\n\n[project.optional-dependencies]\ntest = ["nothere-pkg>=1"]\n'
SETUP = "from setuptools import setup\n\nsetup(name='shapes', install_requires=['nothere-pkg'])\n"
BY_UNITTEST = (
    "import unittest\n\nimport shapes\n\n\nclass TestArea(unittest.TestCase):\n"
    "    def test_area(self):\n        self.assertEqual(shapes.area(2, 3), 6)\n"
)
JEST = {
    "package.json": '{"name": "a", "scripts": {"test": "jest"}, "devDependencies": {"jest": "^29.0.0"}}\n',
    "area.js": "module.exports = (width, height) => width * height;\n",
    "area.test.js": "const area = require('./area');\n\ntest('area', () => expect(area(2, 3)).toBe(6));\n",
}

PROJECTS = (
    Project(
        "the runner is missing",
        JEST,
        (
            right(
                "refactor",
                {"area.js": "module.exports = (w, h) => w * h;\n"},
                "unproven",
                "blocked",
                missing=("runner", "jest"),
            ),
            wrong("syntax error", {"area.js": "module.exports = (w, h => w * h;\n"}, SYNTAX, says="area.js"),
        ),
    ),
    Project(
        "a plugin of the runner is missing",
        {**GREEN, "pytest.ini": f"{INI.rstrip()} --cov=shapes --cov-report=term\n"},
        (
            right("refactor", {"shapes.py": REFACTOR}, "held", "reached"),
            wrong("break one", {"shapes.py": BREAKS}, broken=[AREA]),
        ),
    ),
    Project(
        "what uses the change is blocked, another test is red",  # as anywidget without its packages
        {
            "shapes.py": SHAPES,
            "test_shapes.py": f"import nothere_pkg\n{TEST_SHAPES}",
            "test_version.py": "def test_version():\n    assert '1' == '2'\n",
            "pyproject.toml": PYPROJECT,
            "pytest.ini": INI,
        },
        (
            right(
                "refactor",
                {"shapes.py": REFACTOR},
                "unproven",
                "blocked",
                missing=("import", "nothere_pkg"),
                failing=["test_shapes.py", "test_version.py::test_version"],
                blocked=["test_shapes.py"],
            ),
        ),
    ),
    Project(
        "a tool of the Makefile is missing",
        {
            "Makefile": "test:\n\tno-such-generator shapes.in\n\tsh run.sh\n",
            "run.sh": "echo fine\n",
            "shapes.in": "a\n",
        },
        (right("more", {"shapes.in": "b\n"}, "unproven", "blocked", missing=("tool", "no-such-generator")),),
    ),
    Project(
        "linters of the Makefile are missing",
        {
            "Makefile": "check: lint\n\tsh run.sh\n\nlint:\n\tshellcheck-x run.sh\n\truff-x .\n",
            "run.sh": "sh add.sh 1 2 | grep -qx 3\n",
            "add.sh": "echo $(($1 + $2))\n",
        },
        (
            right(
                "more",
                {"add.sh": "echo $(($2 + $1))\n"},
                "unproven",
                "not_reached",
            ),
        ),
    ),
    Project(
        "linters stand before the tests of a Makefile",
        {
            "Makefile": "check:\n\tcodespell .\n\tsh run.sh\n",
            "run.sh": "sh add.sh 1 2 | grep -qx 3\n",
            "add.sh": "echo $(($1 + $2))\n",
        },
        (
            right("more", {"add.sh": "echo $(($2 + $1))\n"}, "unproven", "not_reached"),
            wrong("break it", {"add.sh": "echo $(($1 - $2))\n"}),
        ),
    ),
    Project(
        "a module of others is missing everywhere",
        {
            **GREEN,
            "requirements.txt": "sqlalchemy\n",
            "conftest.py": "import sqlalchemy\n",
        },
        (
            right(
                "refactor", {"shapes.py": REFACTOR}, "unproven", "blocked", missing=("import", "sqlalchemy")
            ),
            wrong(
                "fails when it is imported",
                {"shapes.py": FAILS_AT_ONCE},
                "blocked",
                says="shapes.py no longer loads",
            ),
        ),
    ),
    Project(
        "a module of others is missing in one test",
        {
            **GREEN,
            "requirements.txt": "sqlalchemy\n",
            "test_tables.py": "import sqlalchemy\nfrom shapes import area\n\n\n"
            "def test_table():\n    assert area(1, 1)\n",
        },
        (
            right(
                "refactor",
                {"shapes.py": REFACTOR},
                "held",
                "reached",
                failing=["test_tables.py"],
                blocked=["test_tables.py"],
                missing=("import", "sqlalchemy"),
            ),
            wrong(
                "break one",
                {"shapes.py": BREAKS},
                broken=[AREA],
                failing=["test_tables.py"],
                blocked=["test_tables.py"],
            ),
        ),
    ),
    Project(
        "a service refuses",
        {
            **GREEN,
            "test_store.py": "import socket\n\nimport shapes\n\n\ndef test_store():\n"
            "    assert shapes.area(1, 1)\n    try:\n"
            "        socket.create_connection(('127.0.0.1', 5432), 1)\n    except OSError as error:\n"
            "        raise ConnectionError('127.0.0.1, port 5432: Connection refused') from error\n",
        },
        (
            right(
                "refactor",
                {"shapes.py": REFACTOR},
                "held",
                "reached",
                failing=["test_store.py::test_store"],
                blocked=["test_store.py::test_store"],
                missing=("service", "PostgreSQL (localhost:5432)"),
            ),
            wrong(
                "break one",
                {"shapes.py": BREAKS},
                broken=[AREA],
                failing=["test_store.py::test_store"],
                blocked=["test_store.py::test_store"],
            ),
        ),
    ),
    Project(
        "the network is not there",
        {
            **GREEN,
            "test_web.py": "import urllib.request\n\n\ndef test_web():\n"
            "    assert urllib.request.urlopen('https://example.org/', timeout=5).status == 200\n",
        },
        (
            right(
                "refactor",
                {"shapes.py": REFACTOR},
                "held",
                "reached",
                failing=["test_web.py::test_web"],
                blocked=["test_web.py::test_web"],
                missing=("network", "the network"),
            ),
            right(
                "with another test of the network",
                {
                    "shapes.py": REFACTOR,
                    "test_more.py": "import urllib.request\n\n\ndef test_more():\n"
                    "    urllib.request.urlopen('https://example.org/', timeout=5)\n",
                },
                "held",
                "reached",
                failing=["test_web.py::test_web"],
                blocked=["test_more.py::test_more", "test_web.py::test_web"],
            ),
        ),
    ),
    Project(
        "data of a submodule are not there",
        {
            **GREEN,
            ".gitmodules": '[submodule "data"]\n\tpath = tests/data\n\turl = https://git.example.org/data.git\n',
            "tests/test_data.py": "from pathlib import Path\n\nfrom shapes import area\n\n\n"
            "def test_data():\n    assert area(1, 1) and Path('tests/data/valid.toml').read_text()\n",
        },
        (
            right(
                "refactor",
                {"shapes.py": REFACTOR},
                "held",
                "reached",
                failing=["tests/test_data.py::test_data"],
                blocked=["tests/test_data.py::test_data"],
                missing=("data", "tests/data"),
            ),
            wrong(
                "break one",
                {"shapes.py": BREAKS},
                broken=[AREA],
                failing=["tests/test_data.py::test_data"],
                blocked=["tests/test_data.py::test_data"],
            ),
        ),
    ),
    Project(
        "a compiled extension is not built",
        {
            "pytest.ini": INI,
            "setup.py": "from setuptools import Extension, setup\n\n"
            "setup(name='quick', ext_modules=[Extension('quick._speed', ['quick/_speed.c'])])\n",
            "quick/__init__.py": "",
            "quick/_speed.c": "int speed(void) { return 1; }\n",
            "quick/shapes.py": SHAPES,
            "test_speed.py": "from quick import _speed\n\n\ndef test_speed():\n    assert _speed.speed()\n",
            "test_shapes.py": TEST_SHAPES.replace("import shapes\n", "").replace(
                "from shapes", "from quick.shapes"
            ),
        },
        (
            right(
                "refactor",
                {"quick/shapes.py": REFACTOR},
                "held",
                "reached",
                failing=["test_speed.py"],
                blocked=["test_speed.py"],
                missing=("build", "quick._speed"),
            ),
            wrong(
                "break one",
                {"quick/shapes.py": BREAKS},
                broken=[AREA],
                failing=["test_speed.py"],
                blocked=["test_speed.py"],
            ),
        ),
    ),
    Project(
        "a required package that nobody installed",
        {**GREEN, "pyproject.toml": PYPROJECT, "other.py": "def name():\n    return 'other'\n"},
        (
            right(
                "used in the sources",
                {"shapes.py": NEEDS_IT},
                "unproven",
                "uninstalled",
                end="held",
                blocked=["test_shapes.py"],
                missing=("import", "nothere_pkg"),
            ),
            right(
                "used by all tests",
                {"conftest.py": "import nothere_pkg\n", "shapes.py": REFACTOR},
                "unproven",
                "uninstalled",
                end="held",
                blocked=[AREA, HALF],
                missing=("import", "nothere_pkg"),
            ),
            right("not used", {"shapes.py": REFACTOR}, "held", "reached"),
            wrong(
                "used in one file, and another breaks a test",
                {"other.py": NEEDS_IT, "test_other.py": "import other\n", "shapes.py": BREAKS},
                broken=[AREA],
                blocked=["test_other.py"],
            ),
            wrong(
                "a module that its own package does not have",
                {"shapes.py": f"import shapes.no\n{SHAPES}"},
                broken=[AREA, HALF, "test_shapes.py"],
            ),
        ),
    ),
    Project(
        "a required package of a project that unittest tests",
        {"setup.py": SETUP, "shapes.py": SHAPES, "test_area.py": BY_UNITTEST},
        (
            right(
                "used in the sources",
                {"shapes.py": NEEDS_IT},
                "unproven",
                "uninstalled",
                end="held",
                blocked=["test_area"],
                missing=("import", "nothere_pkg"),
            ),
        ),
    ),
    Project(
        "a required package of a check that is a script",
        {
            "requirements.txt": "nothere-pkg\n",
            "shapes.py": SHAPES,
            "check.sh": "python3 -c 'import shapes'\n",
        },
        (
            right(
                "used in the sources",
                {"shapes.py": NEEDS_IT},
                "unproven",
                "uninstalled",
                end="held",
                missing=("import", "nothere_pkg"),
            ),
            wrong("fails when it is imported", {"shapes.py": FAILS_AT_ONCE}),
        ),
        commands=("sh check.sh",),
        goal=False,
    ),
    Project(
        "a required package, and no tests",
        {
            "setup.cfg": "[options]\ninstall_requires =\n    nothere-pkg>=2\n",
            "shapes.py": SHAPES,
            "uses.py": NEEDS_IT,
            "package.json": '{"name": "a", "dependencies": {"nothere-js": "^1"}}\n',
            "area.js": "module.exports = (width, height) => width * height;\n",
        },
        (
            right(
                "newly used",
                {"shapes.py": NEEDS_IT},
                "unproven",
                "uninstalled",
                end="held",
                missing=("import", "nothere_pkg"),
            ),
            right(
                "used before",
                {"uses.py": f"{NEEDS_IT}\n\ndef more():\n    return 1\n"},
                "unproven",
                "no_tests",
            ),
            right(
                "used by a script",
                {"more.js": "const lib = require('nothere-js');\n\nmodule.exports = lib;\n"},
                "unproven",
                "uninstalled",
                end="held",
                missing=("import", "nothere-js"),
            ),
            right("not used", {"shapes.py": FIXED}, "unproven", "no_tests"),
            right(
                "used where it may be missing",
                {"shapes.py": f"try:\n    import nothere_pkg\nexcept ImportError:\n    pass\n{SHAPES}"},
                "unproven",
                "no_tests",
            ),
            wrong(
                "fails for another reason",
                {"shapes.py": FAILS_AT_ONCE},
                "no_tests",
                says="shapes.py no longer loads",
            ),
        ),
    ),
    Project(
        "programs that start in their own folders, without tests",
        {
            "jobs/report.py": "def total(n):\n    return n\n",
            "jobs/words.py": "def word():\n    return 'a'\n",
            "server/app/__init__.py": "",
            "server/app/main.py": "import json\n",
            "server/app/limits.py": "MOST = 1\n",
            "README.md": "Start with `python jobs/report.py`, or `cd server && python -m app.main`.\n",
        },
        (
            right(
                "a module beside it",
                {"jobs/report.py": "import words\n\n\ndef total(n):\n    return words.word() * n\n"},
                "unproven",
                "no_tests",
            ),
            right(
                "a package of the folder",
                {"server/app/main.py": "import json\n\nfrom app.limits import MOST\n"},
                "unproven",
                "no_tests",
            ),
            wrong(
                "fails when it is imported",
                {"jobs/report.py": "import words\n\nwords.nothing()\n"},
                "no_tests",
                says="has no attribute 'nothing'",
            ),
            wrong(
                "loads only inside its package",
                {"server/app/main.py": "import json\n\nimport limits\n"},
                "no_tests",
                says="No module named 'limits'",
            ),
            wrong(
                "a name that the package has not",
                {"server/app/main.py": "from app.limits import LEAST\n"},
                "unchecked",
                says="LEAST",
            ),
        ),
        slow=True,
    ),
    Project(
        "no tests at all",
        {"shapes.py": SHAPES, "README.md": "Shapes.\n", "run.sh": "echo run\n"},
        (
            right("refactor", {"shapes.py": FIXED}, "unproven", "no_tests"),
            right("words only", {"README.md": "Shapes and colours.\n"}, "unproven", "no_tests"),
            wrong(
                "fails when it is imported",
                {"shapes.py": FAILS_AT_ONCE},
                "no_tests",
                says="shapes.py no longer loads",
            ),
            wrong("syntax error", {"shapes.py": "def (:\n"}, "unchecked", says="shapes.py:1"),
            wrong(
                "an import of nothing",
                {"shapes.py": "import nowhere\n" + SHAPES},
                "unchecked",
                says="nowhere",
            ),
        ),
    ),
    Project(
        "no check at all, as the person wants it",
        GREEN,
        (
            right("refactor", {"shapes.py": REFACTOR}, "unproven", "unchecked"),
            wrong("syntax error", {"shapes.py": "def (:\n"}, "unchecked", says="shapes.py:1"),
        ),
        commands=(),
    ),
)
