"""Required packages that nobody installed, told from modules that the change only invents."""

import pytest

from kith.core.values import Ran
from kith.gates.packages import Declared
from kith.gates.reports import CaseResult, SuiteReport
from kith.gates.results.uninstalled import Required, find_uninstalled
from kith.gates.toolchains.python import own_modules, required_by

REQUIRED = Required(
    frozenset({"pyyaml", "attrs", "google-cloud-storage", "nothere", "pkg"}),
    frozenset({"lodash", "@scope/part"}),
    Declared(frozenset({"brand_new"})),
    frozenset({"pkg", "tests"}),
)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("ModuleNotFoundError: No module named 'yaml'", "yaml"),
        ("ModuleNotFoundError: No module named 'attr'", "attr"),
        ("No module named 'google.cloud'", "google.cloud"),
        ("No module named 'brand_new'", "brand_new"),
        ("Cannot find module 'lodash/fp' from 'a.js'", "lodash"),
        ("Cannot find package '@scope/part' imported from /a.mjs", "@scope/part"),
        ("No module named 'yaml.nodes_of_mine'", ""),  # PyYAML is there and has no such module
        ("No module named 'pkg'", ""),  # the project's own
        ("No module named 'unknown'", ""),
        ("Cannot find module './lodash' from 'a.js'", ""),
        ("Cannot find module 'left-pad' from 'a.js'", ""),
        ("NameError: name 'yaml' is not defined", ""),
    ],
)
def test_what_a_program_lacks(text: str, missing: str) -> None:
    found = REQUIRED.lacks(text)
    assert (found.what if found else "") == missing


def test_each_manifest_requires_packages() -> None:
    files = {
        "pyproject.toml": b'[project]\ndependencies = ["one>=1", "two"]\n[dependency-groups]\nx=["three"]\n',
        "setup.cfg": b"[options]\ninstall_requires =\n    four\n    five>=2; python_version > '3'\n",
        "setup.py": b"setup(install_requires=['six[all]~=1.0'], extras_require={'test': ['seven']})\n",
        "requirements/test.txt": b"eight==1\n# nine\n",
        "requirements-dev.txt": b"-r requirements.txt\nTen_Eleven\n",
    }
    found = required_by(files, files.get)
    assert found >= {"one", "two", "three", "four", "five", "six", "seven", "eight", "ten-eleven"}
    assert "nine" not in found


def test_the_projects_own_modules_lie_in_any_source_folder() -> None:
    assert own_modules(["src/pkg/a.py", "tool.py", "lib/b.py", "README.md"]) == {"pkg", "tool", "b"}


def test_only_broken_tests_lack_what_is_not_installed() -> None:
    lost = CaseResult("test_a.py", "error", "No module named 'nothere'")
    old = CaseResult("test_b.py", "error", "No module named 'yaml'")
    wrong = CaseResult("test_c.py::test_c", "failed", "assert 1 == 2")
    after = SuiteReport(Ran("run", 1, "", 1.0), (lost, old, wrong))
    assert [*find_uninstalled(after, {lost.id, wrong.id}, REQUIRED)] == ["test_a.py"]
    nothing = SuiteReport(Ran("run", 4, "E   ModuleNotFoundError: No module named 'nothere'", 1.0))
    assert [*find_uninstalled(nothing, {"test_a.py::test_a"}, REQUIRED)] == ["test_a.py::test_a"]
    assert not find_uninstalled(nothing, (), REQUIRED)
