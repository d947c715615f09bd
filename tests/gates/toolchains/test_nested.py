"""Projects in folders of a tree whose top is none: which are found, and how they start."""

from collections.abc import Mapping

import pytest

from kith.agent.ecosystems import ecosystems
from kith.gates.toolchain import PYTHON, Toolchain, enter, narrow
from kith.gates.toolchains import choose_clues, find_candidates, find_nested, folders_beside
from kith.gates.toolchains.nested import MOST_PROJECTS, project_folders, split_by_folder
from kith.gates.toolchains.python import read_settings

TEST = "def test_a():\n    assert True\n"
UNITTEST = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n"
PLAIN = f"{PYTHON} -m pytest -q"
NODE = '{"scripts": {"test": "node --test"}}'
BOTH = {
    "README.md": "Start with `docker compose up`.",
    "backend/pyproject.toml": "[project]\nname = 'backend'\n",
    "backend/tests/test_a.py": TEST,
    "frontend/package.json": NODE,
    "frontend/a.test.js": "",
}


def groups(tree: Mapping[str, str]) -> list[list[Toolchain]]:
    contents = {path: text.encode() for path, text in tree.items()}
    clues = {path: contents[path] for path in choose_clues(contents, ecosystems())}
    return [list(group) for group in find_candidates(contents, clues.get, ecosystems())]


def lines(tree: Mapping[str, str]) -> list[list[str]]:
    return [[each.test for each in group] for group in groups(tree)]


def test_a_backend_and_a_frontend() -> None:
    """Without a manifest at the top, pytest may start there as well: what serves better is kept."""
    assert lines(BOTH) == [[f"cd backend && {PLAIN}", PLAIN], ["cd frontend && npm test"]]
    assert [group[0].why for group in groups(BOTH)] == [
        "backend/tests/test_a.py is a test module",
        "frontend/package.json has a test script",
    ]


def test_folders_of_apps_and_packages_with_their_own_settings() -> None:
    tree = {
        "package.json": '{"private": true, "devDependencies": {"prettier": "3"}}',
        "apps/web/package.json": '{"scripts": {"test": "vitest run"}}',
        "apps/web/pnpm-lock.yaml": "",
        "services/api/setup.cfg": "[tool:pytest]\ntestpaths = tests\n",
        "services/api/src/api/__init__.py": "",
        "services/api/tests/test_a.py": TEST,
        "services/jobs/go.mod": "module jobs\n",
    }
    assert [each[0] for each in lines(tree)] == [
        "cd apps/web && pnpm test",
        f"cd services/api && PYTHONPATH=src {PLAIN}",
        "cd services/jobs && go test ./...",
    ]


def test_a_project_at_the_top_decides_alone() -> None:
    for top in (
        {"package.json": NODE},
        {"Makefile": "test:\n\t./all.sh\n"},
        {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-q'\n"},
        {"pyproject.toml": "", "tests/test_top.py": TEST},
        {"go.work": "use ./backend\n"},
    ):
        assert not any(each.folder for group in groups({**BOTH, **top}) for each in group), top


def test_a_manifest_at_the_top_that_only_holds_settings_of_linters_does_not() -> None:
    assert lines({**BOTH, "pyproject.toml": "[tool.ruff]\nline-length = 100\n"}) == lines(BOTH)


def test_tests_that_nothing_tells_of_may_start_in_their_folder() -> None:
    tree = {"service/main.py": "", "service/tests/test_a.py": TEST}
    assert lines(tree) == [[PLAIN, f"cd service && {PLAIN}"]]
    assert lines({**tree, "jobs/test_b.py": TEST}) == [[PLAIN]]
    assert lines({"a.py": "", "tests/test_a.py": TEST}) == [[PLAIN]]


def test_what_is_no_project_of_its_own_is_left_out() -> None:
    files = [
        *("examples/app/package.json", "docs/requirements.txt", "frontend/node_modules/x/package.json"),
        *("vendor/lib/CMakeLists.txt", ".github/setup.py", "a/b/c/package.json", "tests/data/setup.py"),
        *("api/pyproject.toml", "api/sub/package.json", "api-client/package.json"),
    ]
    assert project_folders(files) == ["api", "api-client"]


def test_of_many_projects_those_that_a_change_touches_are_checked() -> None:
    tree = {f"service{n}/package.json": NODE for n in range(MOST_PROJECTS + 1)}
    assert groups(tree) == []
    assert folders_beside(tree, [], ["service1/a.js", "README.md", "service12/a.js"]) == ["service1"]
    ((only,),) = find_nested("service1", tree, lambda path: tree[path].encode(), ecosystems())
    assert only.test == "cd service1 && npm test"
    del tree["service0/package.json"]
    assert len(groups(tree)) == MOST_PROJECTS
    assert folders_beside(tree, groups(tree), ["service1/a.js"]) == []


def test_beside_a_project_at_the_top_those_that_a_change_touches() -> None:
    tree = {**BOTH, "pyproject.toml": "[tool.pytest.ini_options]\n", "tests/test_top.py": TEST}
    assert folders_beside(tree, groups(tree), ["frontend/a.js"]) == ["frontend"]
    assert folders_beside(tree, groups(tree), ["a.py"]) == []
    tree |= {"Makefile": "test:\n\t./everything.sh\n"}  # nobody knows what it starts
    assert folders_beside(tree, groups(tree), ["frontend/a.js"]) == []


def test_tests_are_named_from_the_top_and_chosen_by_those_names() -> None:
    pytest_, *_ = groups(BOTH)[0]
    assert narrow(pytest_, ["backend/tests/test_a.py::test_a", "frontend/a.test.js"]).test == (
        f"cd backend && {PLAIN} tests/test_a.py::test_a"
    )
    assert narrow(pytest_, ["frontend/a.test.js"]) == pytest_
    assert pytest_.holds("backend/a.py") and not pytest_.holds("backend2/a.py")
    tree = {"my app/setup.py": "", "my app/test_a.py": UNITTEST}
    by_unittest = next(each for each in groups(tree)[0] if each.runner.name == "unittest")
    assert narrow(by_unittest, ["my app.test_a.T.test_a"]).run.endswith("-k '*test_a.T.test_a'")
    start = by_unittest.runner.direct
    assert (
        start
        and start(by_unittest, ["my app/test_a.py"]).test == f"cd 'my app' && {PYTHON} -m unittest test_a.py"
    )


def test_tests_beside_the_projects_start_at_the_top() -> None:
    tree = {"lib/setup.py": "", "lib/tests/test_a.py": TEST, "tests/test_top.py": TEST}
    assert lines(tree) == [[f"cd lib && {PLAIN}"], [f"{PLAIN} tests"]]
    tree |= {f"service{n}/setup.cfg": "[metadata]\n" for n in range(MOST_PROJECTS)}
    tree |= {f"service{n}/test_a.py": TEST for n in range(MOST_PROJECTS)}
    assert lines(tree) == [[PLAIN]]  # of so many projects none starts alone
    shared = {"a/lib/setup.py": "", "a/lib/test_a.py": TEST, "a/test_b.py": TEST}
    assert lines(shared) == [[f"cd a/lib && {PLAIN}"], [f"{PLAIN} a/test_b.py"]]


def test_a_folder_that_looks_like_an_option() -> None:
    tree = {"-web/setup.cfg": "[metadata]\n", "-web/test_a.py": TEST}
    assert lines(tree)[0][0] == f"cd ./-web && {PLAIN}"
    assert enter("-web").startswith("cd ./-web || exit\n")


def test_of_many_folders_the_first_are_asked_and_those_that_a_change_touches() -> None:
    tree = {f"part{n}/package.json": "{}" for n in range(2 * MOST_PROJECTS)} | {"z/go.mod": "module z\n"}
    assert groups(tree) == []
    assert folders_beside(tree, [], ["z/a.go"]) == ["z"]


def test_the_files_of_each_folder() -> None:
    files = ["a.py", "api/b.py", "apps/web/c.js", "apps/d.js", "api2/e.py"]
    assert split_by_folder(["", "api", "apps/web"], files) == {
        "": files,
        "api/": ["b.py"],
        "apps/web/": ["c.js"],
    }


@pytest.mark.parametrize(
    ("paths", "folder", "left_out"),
    [
        ("", "exporters/one", False),
        ("core/tests", "exporters/one", True),
        ("core exporters", "exporters/one", False),
        ("./exporters/one/tests/", "exporters/one", False),
        ("exporters/onerous", "exporters/one", True),
        ("exporters/*/tests", "exporters/one", False),
        (".", "exporters/one", False),
    ],
)
def test_paths_of_pytest_at_the_top_may_leave_out_a_project(paths: str, folder: str, left_out: bool) -> None:
    told = f"[pytest]\ntestpaths = {paths}\n" if paths else "[pytest]\n"
    settings = read_settings({"pytest.ini"}, lambda path: told.encode())
    assert settings.leaves_out(folder) is left_out
    listed = f"[tool.pytest.ini_options]\ntestpaths = {paths.split()}\n"
    settings = read_settings({"pyproject.toml"}, lambda path: listed.encode())
    assert settings.leaves_out(folder) is left_out
