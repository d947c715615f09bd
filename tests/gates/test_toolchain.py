"""Which toolchains are found, and the commands that run some of their tests."""

import asyncio
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.agent.ecosystems import ecosystems
from kith.core.values import Changes, Ran
from kith.core.workspace import ShellCommand
from kith.gates.toolchain import BUILD_FOLDER, PYTHON, Toolchain, ending_with, narrow
from kith.gates.toolchains import choose_clues, find_toolchains
from kith.trees.local import open_tree
from runners import RUNNERS

UNITTEST = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n"
PYTEST = "def test_a():\n    assert True\n"
NO_TESTS = 'echo "Error: no test specified" && exit 1'


def commands(tree: Mapping[str, str]) -> list[str]:
    contents = {path: text.encode() for path, text in tree.items()}
    return [check.test for check in find_toolchains(contents, contents.get, ecosystems())]


@pytest.mark.parametrize(
    ("tree", "command"),
    [
        ({"pytest.ini": "[pytest]"}, f"{PYTHON} -m pytest -q"),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, f"{PYTHON} -m pytest -q"),
        ({"pyproject.toml": "[dependency-groups]\ndev = ['pytest>=8']\n"}, f"{PYTHON} -m pytest -q"),
        (
            {"pyproject.toml": "[project.optional-dependencies]\ntest = ['pytest']\n"},
            f"{PYTHON} -m pytest -q",
        ),
        ({"setup.cfg": "[tool:pytest]\n"}, f"{PYTHON} -m pytest -q"),
        ({"tox.ini": "[pytest]\n"}, f"{PYTHON} -m pytest -q"),
        ({"tox.ini": "[testenv]\ncommands = pytest {posargs}\n"}, f"{PYTHON} -m pytest -q"),
        ({"tests/test_a.py": PYTEST}, f"{PYTHON} -m pytest -q"),
        ({"tests/conftest.py": "", "tests/test_a.py": UNITTEST}, f"{PYTHON} -m pytest -q"),
        ({"test_a.py": UNITTEST}, f"{PYTHON} -m unittest discover"),
        ({"tests/__init__.py": "", "tests/test_a.py": UNITTEST}, f"{PYTHON} -m unittest discover"),
        ({"tests/test_a.py": UNITTEST}, f"{PYTHON} -m unittest discover -s tests"),
        (
            {"test_a.py": "from harness import TestCase\nclass T(TestCase):\n"},
            f"{PYTHON} -m unittest discover",
        ),
        ({"my tests/test_a.py": UNITTEST}, f"{PYTHON} -m unittest discover -s 'my tests'"),
        ({"Cargo.toml": ""}, "cargo test --offline --no-fail-fast"),
        ({"go.mod": "", "a/a.go": ""}, "go test ./..."),
        ({"package.json": json.dumps({"scripts": {"test": "jest"}})}, "npm test"),
        ({"package.json": json.dumps({"scripts": {"test": "jest"}}), "yarn.lock": ""}, "yarn test"),
        ({"Makefile": ".PHONY: test\ntest: build\n\t./run\n"}, "make test"),
        ({"Makefile": "check:\n\t./run\n"}, "make check"),
    ],
)
def test_each_ecosystem(tree: dict[str, str], command: str) -> None:
    assert commands(tree) == [command]


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"a.py": "", "README.md": "pytest"},
        {"pyproject.toml": "[project]\nname = 'x'\n"},
        {"pyproject.toml": "[dependency-groups]\ndev = ['pytest-cov']\n"},
        {"pyproject.toml": "not toml ["},
        {"tox.ini": "[testenv]\n# pytest\ndeps = pytest-cov\n"},
        {"package.json": json.dumps({"scripts": {"test": NO_TESTS}})},
        {"package.json": "[]"},
        {"package.json": "{"},
        {"CMakeLists.txt": "project(x)\n# enable_testing()\n"},
        {"Makefile": "all:\n\ttrue\ntest := 1\ntests: all\n"},
        {"examples/web/package.json": json.dumps({"scripts": {"test": "jest"}})},
    ],
)
def test_nothing_is_made_up(tree: dict[str, str]) -> None:
    assert commands(tree) == []


def test_a_module_without_sources_of_go_has_no_tests_of_go() -> None:
    assert commands({"go.mod": "", "test/a.bats": ""}) == ["bats test"]


def test_the_most_specific_come_first_and_make_does_not_repeat_them() -> None:
    tree = {"go.mod": "", "a.go": "", "tests/test_a.py": PYTEST, "Makefile": "test:\n\tpython -m pytest\n"}
    assert commands(tree) == [f"{PYTHON} -m pytest -q", "go test ./..."]
    tree["Makefile"] = "test:\n\t./acceptance.sh\n"
    assert commands(tree) == [f"{PYTHON} -m pytest -q", "go test ./...", "make test"]


def test_npm_wants_a_mark_before_options() -> None:
    npm = Toolchain("npm test", "", "", "npm test", RUNNERS["jest"])
    assert narrow(npm, ("a",)).run == "npm test -- -t '^(a)$'"


def test_scripts_of_a_cmake_project_are_its_own() -> None:
    tree = {"CMakeLists.txt": "enable_testing()\n", "test/test_output.py": PYTEST}
    assert [each.split()[0] for each in commands(tree)] == ["cmake"]
    assert commands({**tree, "pyproject.toml": "[project]\n"})[0] == f"{PYTHON} -m pytest -q"


def test_why_names_what_spoke_for_it() -> None:
    (check,) = find_toolchains(["CMakeLists.txt"], lambda path: b"include(CTest)\n", ecosystems())
    assert (check.name, check.why) == ("ctest", "CMakeLists.txt has include(CTest)")


def test_clues_are_what_is_read() -> None:
    tree = {"pyproject.toml": "", "Makefile": "", "src/a.py": "", "deep/pyproject.toml": "", "Cargo.toml": ""}
    tree |= {f"tests/test_{n:02}.py": UNITTEST for n in range(30)}
    asked: list[str] = []

    def read(path: str) -> bytes:
        asked.append(path)
        return tree[path].encode()

    find_toolchains(tree, read, ecosystems())
    assert set(asked) <= set(choose_clues(tree, ecosystems()))
    assert len(choose_clues(tree, ecosystems())) == 12


CMAKE = """\
cmake_minimum_required(VERSION 3.20)
project(sample C)
enable_testing()
add_executable(sample sample.c)
add_test(NAME sample COMMAND sample)
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not shutil.which("ctest") or not shutil.which("cc"), reason="needs CMake and a C compiler"
)
def test_ctest_runs_out_of_the_sources_and_leaves_nothing_in_the_change(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "CMakeLists.txt").write_text(CMAKE)
    (root / "sample.c").write_text("int main(void) { return 1; }\n")

    async def run() -> tuple[Ran, Ran, Changes]:
        tree = open_tree(root, tmp_path / "state", tmp_path / "cache")
        contents = {path: await tree.read(path) for path in await tree.files()}
        (check,) = find_toolchains(contents, contents.get, ecosystems())
        async with tree.trial() as trial:
            failed = await trial.exec(ShellCommand(check.test))
            await trial.write("sample.c", b"int main(void) { return 0; }\n")
            return failed, await trial.exec(ShellCommand(check.test)), await trial.changes()

    failed, passed, changes = asyncio.run(run())
    assert failed.code != 0 and "sample (Failed)" in failed.output
    assert passed.code == 0, passed.output
    assert [change.path for change in changes] == ["sample.c"]
    assert not (root / BUILD_FOLDER).exists()


@pytest.mark.parametrize(
    ("runner", "only", "run"),
    [
        ("pytest", ("a b.py::t[x]",), "run 'a b.py::t[x]'"),
        ("unittest", ("tests/test_a.py", "m.T.t"), "run -k '*test_a.*' -k '*m.T.t'"),
        ("ctest", ("a.b", "c++"), r"run -R '^(a\.b|c\+\+)$'"),
        (
            "ctest",
            ("unit::A.b", "unit::P/A.b/0"),
            "GTEST_FILTER=A.b:P/A.b/0 run -R '^(unit|unit::A\\.b|unit::P/A\\.b/0)$'",
        ),
        ("ctest", ("unit::A.b", "other"), r"run -R '^(unit|unit::A\.b|other)$'"),
        ("ctest", ("tests/a.cpp",), "run"),
        ("cargo", ("m::a", "m::b"), "run -- --exact m::a m::b"),
        ("cargo", ("m::a", "m::a (2)"), "run -- --exact m::a"),
        ("go", ("x.org/p.TestA/sub", "x.org/p.TestB"), "run x.org/p -run '^(TestA|TestB)$'"),
        ("jest", ("adds (two)",), r"run -t '^(adds \(two\))$'"),
        ("vitest", ("a.test.ts",), "run a.test.ts"),
        ("mocha", ("adds (two)",), r"run -g '^(adds \(two\))$'"),
        ("mocha", ("a.test.js::sums > adds ${n}[1]",), "run -g '^(sums (?:> )?adds .*)$'"),
        ("mocha", ("a.test.ts",), "run"),
        ("command", ("anything",), "run"),
        ("pytest", (), "run"),
    ],
)
def test_some_tests_only(runner: str, only: tuple[str, ...], run: str) -> None:
    line = "run ./..." if runner == "go" else "run"
    assert narrow(Toolchain("t", "", "", line, RUNNERS[runner], build="make"), only).test == f"make && {run}"


_NAMES = st.text("a.tx", min_size=1, max_size=5)
_ENDINGS = st.one_of(st.sampled_from((".t", ".x", ".tx", "a.t", ".a.t")), _NAMES.map("/{}".format))


@given(st.frozensets(st.lists(_NAMES, min_size=1, max_size=3).map("/".join)), st.lists(_ENDINGS, min_size=1))
def test_a_set_of_files_is_searched_as_a_list_is(files: frozenset[str], endings: list[str]) -> None:
    found = sorted(ending_with(files, tuple(endings)))
    assert found == sorted(ending_with([*files], tuple(endings)))
    assert found == sorted(path for path in files if path.endswith(tuple(endings)))
