"""Ways to run a project's tests, found in projects that are shaped as real ones are."""

import json
import subprocess
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal

import pytest

from kith.agent.ecosystems import ecosystems
from kith.gates.toolchain import PYTHON, Ecosystem, Read, Toolchain
from kith.gates.toolchains import choose_clues, find_candidates
from kith.gates.toolchains.manifests import REMOVE_OBJECTS

PYTEST = "import pytest\n\ndef test_a():\n    assert True\n"
UNITTEST = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n"
PLAIN = f"{PYTHON} -m pytest -q"


def groups(tree: Mapping[str, str]) -> list[list[Toolchain]]:
    contents = {path: text.encode() for path, text in tree.items()}
    clues = {path: contents[path] for path in choose_clues(contents, ecosystems())}
    return [list(group) for group in find_candidates(contents, clues.get, ecosystems())]


def lines(tree: Mapping[str, str]) -> list[str]:
    (group,) = groups(tree)
    return [each.test for each in group]


# --- Python ----------------------------------------------------------------------------------


def test_sources_in_src_come_before_what_is_installed() -> None:
    tree = {"src/pkg/__init__.py": "", "tests/test_a.py": PYTEST, "pyproject.toml": "[tool.pytest]\n"}
    assert lines(tree) == [f"PYTHONPATH=src {PLAIN}", PLAIN]
    assert [each.installed for each in groups(tree)[0]] == [(), ("pkg",)]
    tree["pyproject.toml"] = "[tool.pytest.ini_options]\npythonpath = ['src']\n"
    assert lines(tree) == [PLAIN]
    tree = {
        "lib/pkg/__init__.py": "",
        "tests/test_a.py": PYTEST,
        "setup.cfg": "[options.packages.find]\nwhere = lib\n",
    }
    assert lines(tree)[0] == f"PYTHONPATH=lib {PLAIN}"


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ("--cov=pkg --cov-report=term -n auto --doctest-modules", "addopts=--doctest-modules"),
        ("-ra --strict-markers --strict-config -q --timeout=60", "addopts="),
        (
            "--import-mode=importlib -p no:cacheprovider -n 4",
            "'addopts=--import-mode=importlib -p no:cacheprovider'",
        ),
    ],
)
def test_without_options_that_plugins_know(options: str, left: str) -> None:
    tree = {"pytest.ini": f"[pytest]\naddopts = {options}\n", "tests/test_a.py": PYTEST}
    first, second = lines(tree)
    assert first == PLAIN and second.startswith(f"{PLAIN} -o {left} -W ignore::")


def test_plain_options_need_no_second_way() -> None:
    tree = {"pytest.ini": "[pytest]\naddopts = -ra -q --doctest-modules\n", "tests/test_a.py": PYTEST}
    assert lines(tree) == [PLAIN]


def test_plugins_that_are_demanded_are_let_go() -> None:
    tree = {
        "pyproject.toml": "[tool.pytest.ini_options]\nrequired_plugins = ['pytest-asyncio']\n",
        "test_a.py": PYTEST,
    }
    assert " -o required_plugins= " in lines(tree)[1]


@pytest.mark.parametrize(
    ("path", "text", "run"),
    [
        ("tox.ini", "[testenv]\ncommands = pytest --cov pkg {posargs:tests pkg}\n", f"{PLAIN} tests pkg"),
        (
            "tox.ini",
            "[testenv]\ncommands =\n  lint: ruff check\n  python -bb -W error -m pytest \\\n"
            "    --doctest-modules {env_site_packages_dir}/pkg {tox_root}/tests\n",
            f"{PLAIN} --doctest-modules pkg tests",
        ),
        (
            "pyproject.toml",
            "[tool.hatch.envs.default.scripts]\nunit = 'pytest {args:tests pkg}'\ntest = ['lint', 'unit']\n",
            f"{PLAIN} tests pkg",
        ),
        (
            "pyproject.toml",
            "[tool.pdm.scripts]\ntest = {cmd = 'pytest pkg -m \"not slow\"'}\n",
            f"{PLAIN} -m 'not slow' pkg",
        ),
        (
            "pyproject.toml",
            "[tool.tox.env_run_base]\ncommands = [['pytest', '-k', 'not web', 'tests']]\n",
            f"{PLAIN} -k 'not web' tests",
        ),
        (
            "noxfile.py",
            "import nox\n@nox.session\ndef tests(session):\n"
            "    session.run('coverage', 'run', '-m', 'pytest', 'pkg', *session.posargs)\n",
            f"{PLAIN} pkg",
        ),
        (
            ".github/workflows/test.yml",
            "jobs:\n  a:\n    steps:\n      - run: pip install .\n"
            "      - run: |\n          uv run --group dev pytest -n auto pkg/\n",
            f"{PLAIN} pkg",
        ),
        ("Makefile", "test:\n\tpoetry run pytest --cov=pkg pkg\n", f"{PLAIN} pkg"),
        (
            "Makefile",
            "PYTHON = python3\ncheck: lint unit\nlint:\n\truff check .\nunit:\n\t$(PYTHON) -m pytest pkg\n",
            f"{PLAIN} pkg",
        ),
        ("tox.ini", "[testenv]\ncommands = pytest --cov --cov-config .coveragerc pkg\n", f"{PLAIN} pkg"),
        ("AGENTS.md", "Run one: `pytest pkg/test_x.py`\n\n```sh\n$ pytest pkg\n```\n", f"{PLAIN} pkg"),
    ],
)
def test_what_a_project_says_of_its_tests(path: str, text: str, run: str) -> None:
    tree = {path: text, "tests/test_a.py": PYTEST, "pkg/__init__.py": "", "pkg/test_x.py": PYTEST}
    assert lines(tree)[0] == run


def test_a_few_tests_do_not_stand_for_all() -> None:
    tree = {f"tests/test_{name}.py": PYTEST for name in "abc"}
    tree["AGENTS.md"] = "```\npytest tests\n```\n"
    tree["tox.ini"] = "[testenv]\ncommands = pytest tests/test_a.py\n"
    assert lines(tree) == [f"{PLAIN} tests"]
    del tree["AGENTS.md"]
    assert lines(tree) == [PLAIN, f"{PLAIN} tests/test_a.py"]


@pytest.mark.parametrize(
    "text",
    [
        "[testenv]\nchangedir = docs\ncommands = cd sub && pytest sub\n",
        "[testenv]\ncommands = {env:RUNNER} tests\n",
        "[testenv]\ncommands = pytest 'tests\n",
        "not an ini file\n",
        "[testenv]\ncommands = pip install pytest\n",
        "[testenv]\ncommands = pytest {toxworkdir}/elsewhere\n",
    ],
)
def test_what_cannot_be_understood_is_left_alone(text: str) -> None:
    assert lines({"tox.ini": text, "pytest.ini": "[pytest]", "tests/test_a.py": PYTEST}) == [PLAIN]


def test_chosen_tests_take_the_place_of_stated_folders() -> None:
    from kith.gates.toolchain import narrow

    ((first, *_),) = groups(
        {"tox.ini": "[testenv]\ncommands = pytest -k 'not x' a\n", "a/test_a.py": PYTEST, "test_b.py": ""}
    )
    assert narrow(first, ("a/test_a.py::test_a",)).run == f"{PLAIN} -k 'not x' a/test_a.py::test_a"


def test_unittest_projects_have_two_runners() -> None:
    assert lines({"test_a.py": UNITTEST}) == [f"{PYTHON} -m unittest discover", PLAIN]
    tree = {"pyproject.toml": "[tool.pytest]\n", "tests/test_a.py": UNITTEST}
    assert lines(tree) == [PLAIN, f"{PYTHON} -m unittest discover -s tests"]
    tree = {"pkg/__init__.py": "", "pkg/test/__init__.py": "", "pkg/test/web_test.py": UNITTEST}
    assert lines(tree)[0] == f"{PYTHON} -m unittest discover -p '*_test.py'"


def test_a_stated_discovery_keeps_its_pattern() -> None:
    stated = (
        """[tool.hatch.envs.test.scripts]\ntest = 'python -m unittest discover -s pkg -p "*tests.py"'\n"""
    )
    tree = {"pyproject.toml": stated, "pkg/tests/page_tests.py": UNITTEST}  # as mkdocs
    assert lines(tree) == [f"{PYTHON} -m unittest discover -s pkg -p '*tests.py'"]
    tree["pyproject.toml"] = stated.replace("*tests.py", "$TESTS")
    assert groups(tree) == []


@pytest.mark.parametrize(
    "options", ["--doctest-modules '--ignore-glob=*/test_*.py' pkg", "-k test_one", "-m slow"]
)
def test_a_stated_command_for_a_part_follows_the_whole(options: str) -> None:
    tree = {"pixi.toml": f'[tasks]\nsome = "pytest {options}"\n', "pkg/tests/test_a.py": PYTEST}  # as dask
    assert lines(tree)[:2] == [PLAIN, f"{PLAIN} {options}"]


@pytest.mark.parametrize("options", ["-m 'not slow'", "-k 'not slow'", "--doctest-modules pkg"])
def test_a_stated_command_for_nearly_all_tests_comes_first(options: str) -> None:
    tree = {"pixi.toml": f'[tasks]\nmost = "pytest {options}"\n', "pkg/tests/test_a.py": PYTEST}
    assert lines(tree)[0] == f"{PLAIN} {options}"


def test_a_script_that_tests_is_told_by_its_name() -> None:
    tree = {"tox.ini": "[testenv]\ncommands = python utils/convert_attestations.py\n"}  # as sphinx
    assert groups({**tree, "utils/convert_attestations.py": ""}) == []
    tree = {"tox.ini": "[testenv]\ncommands = python utils/alltests.py\n"}
    assert lines({**tree, "utils/alltests.py": ""}) == [f"PYTHONPATH=. {PYTHON} utils/alltests.py"]


LONE = f"{PLAIN} -o python_files='test.py tests.py test_*.py *_test.py'"


def test_one_module_of_tests_beside_the_code_or_in_its_package() -> None:
    tree = {"slugify/__init__.py": "", "test.py": UNITTEST}  # as python-slugify
    assert lines(tree) == [f"{PYTHON} -m unittest discover", LONE]
    tree = {"src/zope/event/__init__.py": "", "src/zope/event/tests.py": UNITTEST}  # as zope.event
    assert lines(tree)[:2] == [
        f"PYTHONPATH=src {PYTHON} -m unittest discover -s src/zope",
        f"PYTHONPATH=src {LONE}",
    ]
    assert groups(tree)[0][-1].installed == ("zope.event",)
    assert lines({"pytest.ini": "[pytest]\npython_files = tests.py\n", "a/tests.py": PYTEST}) == [PLAIN]
    assert lines({"tests.py": PYTEST, "test_a.py": PYTEST}) == [PLAIN]
    assert groups({"train.py": "", "test.py": "import torch\nevaluate()\n"}) == []


def test_discovery_begins_where_most_tests_are() -> None:
    inside = {f"src/pkg/tests/{name}.py": UNITTEST for name in ("__init__", "test_a", "test_b")}
    tree = {"src/pkg/__init__.py": "", **inside, "tests/test_example.py": UNITTEST}  # as incremental
    assert lines(tree)[0] == f"PYTHONPATH=src {PYTHON} -m unittest discover -s src"


def test_scripts_and_packages_that_test() -> None:
    tree = {
        "tox.ini": "[testenv]\ncommands = python -m pkg.test {posargs}\n",
        "pkg/test/web_test.py": UNITTEST,
    }
    assert lines(tree)[-1] == f"{PYTHON} -m pkg.test"
    tree = {"manage.py": "", "app/tests.py": ""}
    assert lines(tree) == [f"{PYTHON} manage.py test --noinput"]
    tree[".travis.yml"] = "script:\n  - A=1 python -W error manage.py test app\n"
    assert lines(tree) == [f"A=1 {PYTHON} manage.py test app --noinput"]
    assert lines({"manage.py": "", "app/test_a.py": UNITTEST})[0] == f"{PYTHON} manage.py test --noinput"
    run = "import sys\nexecute_from_command_line(sys.argv[:1] + ['test'] + sys.argv[1:])\n"
    tree = {"Makefile": "test:\n\t./runtests.py\n", "runtests.py": run, "tests/test_a.py": UNITTEST}
    assert lines(tree)[-1] == f"{PYTHON} runtests.py"  # as django-filter
    assert (
        groups({"README.md": "", "setup.py": "", ".travis.yml": "script:\n  - python setup.py build\n"}) == []
    )


def test_django_packages_say_which_settings_their_tests_need() -> None:
    tree = {
        "tox.ini": "[testenv]\nsetenv =\n    PYTHONPATH = {toxinidir}\n    PYTHONWARNINGS = d\n"
        "    DB_NAME = {env:DB_NAME:a}\n    py311: A = 1\n    DJANGO_SETTINGS_MODULE = tests.settings\n"
        "commands = python -b -W always -m coverage run -m django test -v2 {posargs:tests}\n",
        "tests/test_a.py": UNITTEST,
    }
    told = f"DJANGO_SETTINGS_MODULE=tests.settings {PYTHON} -m django test"
    assert lines(tree)[0] == f"PYTHONPATH=. {told} -v2 tests --noinput"  # as django-debug-toolbar
    recipe = (
        "test:\n\tDJANGO_SETTINGS_MODULE=tests.settings \\\n\t\tpython -m django test $${TEST_ARGS:-tests}\n"
    )
    tree = {"Makefile": recipe, "tests/test_a.py": UNITTEST}
    assert lines(tree)[0] == f"{told} tests --noinput"
    tree["Makefile"] = (
        'RUN = PYTHONPATH=".:tests:${PYTHONPATH}" python -W error -m django test core --settings=settings\n'
        "test:\n\t$(RUN)\n"
    )
    assert lines(tree)[0] == (
        f"PYTHONPATH=.:tests {PYTHON} -m django test core --settings=settings --noinput"
    )
    tree = {
        "tox.ini": "[testenv]\ncommands = python -m coverage run ./tests/manage.py test core {posargs}\n",
        "tests/manage.py": "",
        "tests/core/test_a.py": UNITTEST,
    }
    assert lines(tree)[0] == f"PYTHONPATH=. {PYTHON} tests/manage.py test core --noinput"
    tree["pytest.ini"] = "[pytest]\n"
    assert lines(tree)[0] == PLAIN


def test_variables_of_tox_hold_for_its_tests_and_not_for_coverage() -> None:
    settings = "setenv =\n    MODE = fast run\n    COVERAGE_PROCESS_START = .coveragerc\n"
    tree = {
        "tox.ini": f"[testenv]\n{settings}commands = - pytest -k 'not web' tests\n",
        "tests/test_a.py": PYTEST,
    }
    assert lines(tree) == [f"MODE='fast run' {PLAIN} -k 'not web' tests", PLAIN]


def test_sources_that_only_pytest_is_told_of() -> None:
    tree = {
        "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['src']\n",
        "src/pkg/__init__.py": "",
        "tests/test_a.py": UNITTEST,
    }
    assert lines(tree) == [PLAIN, f"PYTHONPATH=src {PYTHON} -m unittest discover -s tests"]  # as mistune


def test_a_script_with_the_tests_that_pytest_leaves_out() -> None:
    tree = {
        "Makefile": "test:\n\tcoverage run --source=pkg ./test/test.py -v\n",
        "test/test.py": UNITTEST,
        "test/test_shells.py": UNITTEST,
    }
    assert lines(tree)[0] == f"PYTHONPATH=. {PYTHON} test/test.py -v"  # as argcomplete
    tree["pytest.ini"] = "[pytest]\n"
    assert lines(tree)[0] == PLAIN


def test_hints_for_what_is_missing() -> None:
    tree = {
        "src/pkg/__init__.py": "",
        "src/pkg/speed.pyx": "",
        "tests/test_a.py": PYTEST,
        "pyproject.toml": "[project]\ndependencies = ['attrs>=20', 'PyYAML']\n"
        "[tool.hatch.build.hooks.vcs]\nversion-file = 'src/pkg/_version.py'\n",
        "requirements-dev.txt": "# tests\nhypothesis==6.0\n-r other.txt\n",
        ".gitmodules": '[submodule "data"]\n\tpath = tests/data\n\turl = https://git.example.org/data.git\n',
    }
    ((first, *_),) = groups(tree)
    assert first.own == ("pkg", "tests")
    assert first.generated == ("pkg._version", "pkg.speed")
    assert {"attrs", "pyyaml", "hypothesis"} <= set(first.requires)
    assert first.absent == (("tests/data", "https://git.example.org/data.git"),)
    assert groups({**tree, "tests/data/a.toml": ""})[0][0].absent == ()


# --- C and C++ -------------------------------------------------------------------------------


def cmake_options(tree: Mapping[str, str]) -> list[str]:
    ((first, *_),) = groups(tree)
    return [word for word in first.configure.split() if word.startswith("-D") and "CMAKE_" not in word]


@pytest.mark.parametrize(
    ("script", "options"),
    [
        (
            'option(FOO_BUILD_TESTS "Tests" OFF)\nif(FOO_BUILD_TESTS)\nadd_subdirectory(test)\nendif()',
            ["-DFOO_BUILD_TESTS=ON"],
        ),
        ('option(FOO_TESTS "Tests")\nadd_subdirectory(test)', ["-DFOO_TESTS=ON"]),
        (
            'cmake_dependent_option(FOO_BUILD_TESTS "T" OFF "BUILD_TESTING" OFF)\nenable_testing()',
            ["-DBUILD_TESTING=ON", "-DFOO_BUILD_TESTS=ON"],
        ),
        ('option(FOO_TEST "Tests" ${TOP})\nenable_testing()', []),
        (
            'option(FOO_BUILD_TESTS "Tests" ON)\noption(FOO_DOC "Docs" ON)\nenable_testing()',
            ["-DFOO_DOC=OFF"],
        ),
        ('option(FOO_CUDA_TEST "x" OFF)\noption(FOO_FUZZ_TESTS "x" OFF)\nenable_testing()', []),
        ("set(FOO_TESTING OFF CACHE BOOL x)\nenable_testing()", ["-DFOO_TESTING=ON"]),
    ],
)
def test_options_that_enable_tests(script: str, options: list[str]) -> None:
    tree = {"CMakeLists.txt": script, "test/CMakeLists.txt": "add_test(NAME a COMMAND a)", "a.cpp": ""}
    assert cmake_options(tree) == options


def test_a_build_that_is_quick_comes_before_the_one_it_says() -> None:
    ((first, second),) = groups({"CMakeLists.txt": "enable_testing()"})
    assert "-DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0" in first.configure
    assert "CMAKE_BUILD_TYPE" not in second.configure and first.run == second.run


def test_without_its_options_where_one_needs_what_is_not_there() -> None:
    script = 'option(ENABLE_SSL_TESTS "x" OFF)\nenable_testing()'
    ((first, _, third),) = groups({"CMakeLists.txt": script})
    assert "-DENABLE_SSL_TESTS=ON" in first.configure
    assert first.configure == third.configure.replace("-O0 &&", "-O0 -DENABLE_SSL_TESTS=ON &&")


def test_a_program_of_tests_that_ctest_is_not_told_of() -> None:
    inner = "project(foo_tests)\nadd_executable(FOO_TESTS a.cpp)\n"
    inner += "set_target_properties(FOO_TESTS PROPERTIES OUTPUT_NAME tests)"
    tree = {"CMakeLists.txt": "project(foo)\nadd_subdirectory(test)", "test/CMakeLists.txt": inner}
    ((first,),) = groups(tree)
    assert (first.runner.name, first.run) == ("program", ".kith-build/test/tests")
    assert first.build.endswith("--target FOO_TESTS")
    tree["test/CMakeLists.txt"] = (
        "set(N unit)\nset(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)\nadd_executable(${N} a.cpp)"
    )
    assert groups(tree)[0][0].run == ".kith-build/bin/unit"


def test_tests_with_a_project_of_their_own() -> None:
    tree = {
        "include/a.hpp": "",
        "tests/CMakeLists.txt": "project(t)\nenable_testing()\nadd_test(NAME a COMMAND a)",
    }
    assert lines(tree)[0].startswith("cmake -S tests -B .kith-build ")
    tree["CMakeLists.txt"] = "project(a)\nenable_testing()\nadd_subdirectory(tests)"
    assert lines(tree)[0].startswith("cmake -S . -B .kith-build ")
    ((first,),) = groups({"utf8.h": "", "test/CMakeLists.txt": "project(t)\nadd_executable(t1 main.c)\n"})
    assert (first.runner.name, first.run, first.build[-11:]) == ("program", ".kith-build/t1", "--target t1")


def test_a_preset_is_another_way() -> None:
    presets = {
        "configurePresets": [{"name": "base", "hidden": True}, {"name": "windows-dev"}, {"name": "dev"}],
        "testPresets": [{"name": "t", "configurePreset": "dev"}],
    }
    tree = {"CMakeLists.txt": "enable_testing()", "CMakePresets.json": json.dumps(presets)}
    assert lines(tree)[-1].startswith("cmake --preset dev -B .kith-build/preset ")
    assert len(lines({**tree, "CMakePresets.json": "[{"})) == 2


@pytest.mark.parametrize(
    ("script", "target"),
    [
        ("ADD_CUSTOM_TARGET(test\n  ./run.sh ${PROGRAM}\n  WORKING_DIRECTORY t)", "test"),
        ("add_custom_target(check DEPENDS a b COMMAND a)", "check"),
        (
            "add_custom_target(run_tests COMMAND sh run.sh)\nadd_custom_target(all_docs COMMAND d)",
            "run_tests",
        ),
        ("add_custom_target(tests DEPENDS a b)", ""),  # it only builds them
        ("add_custom_target(tests)\nadd_custom_target(docs COMMAND d)", ""),
        ("add_custom_target(check COMMAND ctest)\nenable_testing()", ""),
    ],
)
def test_a_target_that_tests_without_ctest(script: str, target: str) -> None:
    found = groups({"CMakeLists.txt": f"project(a C)\n{script}\n"})
    run = [each.run for group in found for each in group if each.runner.name != "ctest"]
    assert run == ([f"cmake --build .kith-build --target {target}"] if target else [])


def test_make_beside_cmake_is_another_way_to_the_same_tests() -> None:
    tree = {
        "CMakeLists.txt": "include(CTest)",
        "Makefile": "CXXFLAGS = -g\ntest: unit\n\t./unit\n",
        "a.cpp": "",
    }
    assert [line.split()[0] for line in lines(tree)] == ["cmake", "cmake", "make", "make", "make"]
    assert lines({"Makefile": tree["Makefile"]})[1] == "make test"


# --- Make ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "alone"),
    [
        ("check:\n\truff check .\n\t./acceptance.sh\n", "./acceptance.sh"),
        (
            "check: lint build\n\t./acceptance.sh\nlint:\n\tshellcheck *.sh\nbuild:\n\tcc a.c\n",
            "make build && ./acceptance.sh",
        ),
        ("test:\n\t./acceptance.sh\n", ""),
        ("check:\n\truff check .\n\t./acceptance.sh $(WHERE)\n", ""),
    ],
)
def test_a_target_without_its_linters(script: str, alone: str) -> None:
    found = list(dict.fromkeys(lines({"Makefile": script})))
    assert found[1:] == ([alone] if alone else [])


def test_scripts_that_start_each_other_take_no_time() -> None:
    scripts = {"test": "run-s" + " test unit" * 500, "unit": "npm run test && mocha"}
    tree = {"package.json": json.dumps({"scripts": scripts})}
    assert "npx --no-install mocha" in lines(tree)


def test_a_makefile_in_the_folder_of_tests() -> None:
    inner = "CFLAGS += -Wall\nall: $(PROGS) run_tests\nrun_tests: $(PROGS)\n\tperl $(TEST_TARGET)\n"
    assert {*lines({"src/uthash.h": "", "tests/Makefile": inner})} == {"make -C tests"}
    assert {*lines({"test/Makefile": f"{inner}check: all\n"})} == {"make -C test check"}
    assert groups({"tests/Makefile": f"clean:\n\trm -f x\n{inner}"}) == []
    assert groups({"test/Makefile": ""}) == []
    assert len(groups({"Cargo.toml": "", "tests/Makefile": inner})) == 1


def test_a_target_of_linters_alone_tests_nothing() -> None:
    assert groups({"Makefile": "check: lint\n\t@echo done\nlint:\n\tblack --check .\n"}) == []
    assert groups({"Makefile": "check:\n\t@ruff check . || (echo 'a; b'; exit 1)\n"}) == []


def test_a_line_that_says_something_and_then_tests() -> None:
    for line in ("@echo 'Tests: all' && ./run", "@printf x; ./run", "black . & ./run", '"./run"'):
        assert lines({"Makefile": f"test:\n\t{line}\n"}) == ["make test"], line


@pytest.mark.parametrize("recipe", ["tox -p", "uv run pytest", "pixi run test-all", "python -m unittest"])
def test_make_that_starts_python_tests_is_no_second_suite(recipe: str) -> None:
    tree = {"Makefile": f"test:\n\t{recipe}\n", "test_a.py": PYTEST}
    assert len(groups(tree)) == 1


# --- the others ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scripts", "found"),
    [
        ({"test": "vitest run"}, [("npm test", "vitest")]),
        ({"test": "cross-env A=1 c8 mocha test"}, [("npm test", "mocha")]),
        ({"test": "NODE_ENV=test jest --ci"}, [("npm test", "jest")]),
        ({"test": "tsc && node --test"}, [("npm test", "node"), ("tsc && node --test", "node")]),
        (
            {"pretest": "npm run build", "build": "tsc", "test": "ava", "posttest": "xo"},
            [("npm test", "command"), ("tsc && npx --no-install ava --tap && xo", "command")],
        ),
        # Where a command is for the next ones, or for the case that one fails, the tests run without it.
        (
            {"test": "cd lib && mocha"},
            [("npm test", "mocha"), ("npx --no-install mocha", "mocha")],
        ),
        (
            {"test": "npm run lint && mocha", "lint": "eslint . || true"},
            [("npm test", "mocha"), ("npx --no-install mocha", "mocha")],
        ),
        (
            {"test": "mocha || echo no"},
            [("npm test", "command"), ("npx --no-install mocha", "mocha")],
        ),
        (
            {"test": "npm run lint && npm run unit", "lint": "eslint .", "unit": "nyc mocha src"},
            [
                ("npm test", "command"),
                ("eslint . && npx --no-install mocha src", "mocha"),
                ("npm run unit", "mocha"),
            ],
        ),
        (
            {"test": "eslint . && vitest | tee log"},
            [("npm test", "command"), ("npx --no-install vitest", "vitest")],
        ),
        ({"test:unit": "jest"}, [("npm run test:unit", "jest")]),
        # As defu, slugify, secure-json-parse, kleur and node-lru-cache.
        (
            {"test": "pnpm lint && pnpm vitest run", "lint": "oxlint"},
            [("npm test", "vitest"), ("oxlint && npx --no-install vitest run", "vitest")],
        ),
        (
            {"test": "xo && ava && tsd"},
            [("npm test", "command"), ("xo && npx --no-install ava --tap && tsd", "command")],
        ),
        (
            {
                "test": "nyc npm run test:unit && npm run types",
                "test:unit": "tape 'test/*.js'",
                "types": "tsd",
            },
            [
                ("npm test", "command"),
                ("npx --no-install tape 'test/*.js' && tsd", "command"),
                ("npm run test:unit", "command"),
            ],
        ),
        (
            {"test": "run-s lint unit", "lint": "eslint .", "unit": "mocha src"},
            [
                ("npm test", "command"),
                ("eslint . && npx --no-install mocha src", "mocha"),
                ("npm run unit", "mocha"),
            ],
        ),
        # A piece of a command, with an open quote or bracket, does not stand beside the tests.
        *(
            ({"test": f"jest && {other}"}, [("npm test", kind), ("npx --no-install jest", "jest")])
            for other, kind in (("echo 'a && b'", "command"), ("(tsc && tsd)", "command"))
        ),
        ({"test": "uvu -r esm"}, [("npm test", "command")]),
        ({"test": "tap"}, [("npm test", "command"), ("npx --no-install tap --reporter=tap", "command")]),
        ({"test": "react-scripts test"}, [("CI=true npm test", "command")]),
    ],
)
def test_scripts_of_a_package(scripts: dict[str, str], found: list[tuple[str, str]]) -> None:
    (group,) = groups({"package.json": json.dumps({"scripts": scripts})})
    lines = [" && ".join((*each.first, each.test, *each.last)) for each in group]
    assert [(line, each.runner.name) for line, each in zip(lines, group, strict=True)] == found


@pytest.mark.parametrize(
    ("rule", "clean"),
    [
        ("clean:", "make clean"),
        ("clean distclean:", "make clean"),
        ("clean::", "make clean"),
        ("distclean:", REMOVE_OBJECTS),
        ("clean := all", REMOVE_OBJECTS),
        (".PHONY: clean", REMOVE_OBJECTS),
    ],
)
def test_a_makefile_that_can_clean_up(rule: str, clean: str) -> None:
    for compiled in ("CC = cc\n", "unit: unit.c\n\t@gcc -o unit unit.c\n"):
        (group,) = groups({"Makefile": f"{compiled}test: unit\n\t./unit\n{rule}\n"})
        assert {each.clean for each in group} == ({clean, ""} if clean == REMOVE_OBJECTS else {clean})
        assert group[0].clean == clean
    (group,) = groups({"Makefile": f"test:\n\tsh test.sh\n{rule}\n"})
    assert {each.clean for each in group} == {""}


def test_programs_of_any_name_are_removed_and_nothing_that_others_built(tmp_path: Path) -> None:
    built = ("test.out", "a.exe", "unit", "lib/x.so.1", "x.o")
    others = ("run.sh", "vendor/y.a", "env/bin/python3.11", "env/site-packages/z.so", "picture.png")
    for path in (*built, *others):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"#!/bin/sh\n" if path == "run.sh" else b"\x7fELF\0")
        file.chmod(0o644 if path.endswith((".o", ".png")) else 0o755)
    subprocess.run(["sh", "-c", REMOVE_OBJECTS], cwd=tmp_path, check=True)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {*others}


def test_workspaces() -> None:
    package = json.dumps({"workspaces": ["packages/*"]})
    assert lines({"package.json": package}) == ["npm test --workspaces --if-present"]
    assert lines({"package.json": package, "yarn.lock": ""}) == ["yarn workspaces run test"]
    assert lines({"Cargo.toml": "[workspace]\nmembers = ['a']\n"}) == [
        "cargo test --offline --workspace --no-fail-fast"
    ]
    assert lines({"go.work": "use ./a\n", "a/go.mod": ""}) == ["go test $(go list -m -f '{{.Dir}}/...')"]


def test_when_an_ecosystem_is_asked() -> None:
    def known(name: str, asked: Literal["always", "late", "last"]) -> Ecosystem:
        def find(files: Collection[str], read: Read) -> list[Toolchain]:
            return [Toolchain(name, "", "", name)] if read("x.toml") else []

        return Ecosystem(find, r"x\..*", asked)

    kinds = (known("always", "always"), known("late", "late"), known("last", "last"))

    def asked(tree: Mapping[str, bytes], kinds: Sequence[Ecosystem]) -> list[str]:
        read = {path: tree[path] for path in choose_clues(tree, kinds)}
        return [group[0].run for group in find_candidates(tree, read.get, kinds)]

    tree = {"x.toml": b"[x]\n"}
    assert asked(tree, kinds) == ["always", "late"]
    assert asked(tree, kinds[2:]) == ["last"]
    assert asked({**tree, "Makefile": b"test:\n\t./run\n"}, kinds) == ["always", "make test"]
    assert asked({"y.toml": b""}, ()) == []
