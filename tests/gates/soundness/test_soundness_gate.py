"""The gate asks the project's own Python and shell before it calls a change unsound."""

import sys
from pathlib import Path

import pytest

from gating import in_trial, judge, make_repository, write_all
from kith.core.run import Run
from kith.core.values import Verdict
from kith.core.workspace import Trial
from kith.gates.soundness import soundness_gate

FILES = {
    "shop/__init__.py": "",
    "shop/cart.py": "import re\n\n\ndef total(cart):\n    return 0\n",
    "shop/prices.py": "from shop.cart import total\n",
    "run.sh": "#!/bin/sh\necho done\n",
}
MANY = {f"more/m{number}.py": "x = 1\n" for number in range(120)}  # files that git searches sooner
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project", FILES)


def told(project: Path, **files: str | None) -> Verdict:
    """The verdict on files whose paths are written with `__` for slashes and `_py` for `.py`."""
    paths = {name.replace("__", "/").replace("_py", ".py"): text for name, text in files.items()}
    return judge(project, paths, lambda home: soundness_gate())


def test_a_right_change_passes(project: Path) -> None:
    verdict = told(project, shop__cart_py="def total(cart):\n    return sum(cart)\n")
    assert verdict.ok and not verdict.feedback and verdict.by == "soundness"
    assert verdict.figures == {"syntax": 0, "import": 0, "name": 0}


def test_the_letter_says_where_what_and_what_to_do(project: Path) -> None:
    verdict = told(
        project,
        shop__cart_py="def add_up(cart):\n    return fsum(cart)\n",
        shop__tax_py="def tax(:\n",
    )
    assert verdict.figures == {"syntax": 1, "import": 1, "name": 1}
    assert verdict.feedback.splitlines()[2:5] == [
        "shop/cart.py:2: `fsum` is not defined",
        "shop/prices.py:1: `shop.cart` has no `total` to import",
        "shop/tax.py:1: syntax error: invalid syntax",
    ]
    assert "still import" in verdict.feedback


@pytest.mark.parametrize(
    "line", ["import pytest", "import xml.dom", "from os import path", "import yaml.nodes"]
)
def test_what_the_interpreter_finds_is_no_fault(project: Path, line: str) -> None:
    assert told(project, shop__tax_py=f"{line}\n").ok


@pytest.mark.parametrize(
    "line", ["import requestz", "from collections import OrderdDict", "import xml.domm", "import yaml.nodez"]
)
def test_what_the_interpreter_does_not_find_is_one(project: Path, line: str) -> None:
    verdict = told(project, shop__tax_py=f"{line}\n")
    assert not verdict.ok and verdict.figures["import"] == 1


@pytest.mark.parametrize(
    "manifest",
    [
        '[project]\ndependencies = ["Requestz>=2"]\n',
        '[project]\noptional-dependencies.web = ["python-requestz"]\n',
        '[project]\ndependencies = ["no-such-package-here"]\n',  # this is not the project's own Python
        '[project]\nrequires-python = ">=3.99"\n',
    ],
)
def test_a_package_that_may_be_there_is_no_fault(tmp_path: Path, manifest: str) -> None:
    project = make_repository(tmp_path / "project", FILES | {"pyproject.toml": manifest})
    assert told(project, shop__tax_py="import requestz\n").ok


def test_an_environment_without_the_packages_says_nothing(tmp_path: Path) -> None:
    files = FILES | {"shop/web.py": "import requestz\n"}
    project = make_repository(tmp_path / "project", files)
    assert told(project, shop__web_py="import requestz\nimport flazk\n").ok


def test_a_declared_package_is_taken_on_trust(project: Path) -> None:
    verdict = judge(
        project,
        {"pyproject.toml": '[project]\ndependencies = ["beautifulsoup5"]\n', "shop/tax.py": "import bs5\n"},
        lambda home: soundness_gate(),
    )
    assert verdict.ok


def test_newer_syntax_is_for_the_interpreter_to_say(tmp_path: Path) -> None:
    """kith's own Python runs here; where the project asks for a newer one, its no does not count."""
    text = "type Number = int\n"
    needs = '[project]\nrequires-python = ">={}"\n'
    newer = make_repository(tmp_path / "newer", FILES | {"pyproject.toml": needs.format("3.99")})
    assert told(newer, shop__tax_py=text).ok
    same = make_repository(tmp_path / "same", FILES | {"pyproject.toml": needs.format(VERSION)})
    assert told(same, shop__tax_py=text).ok == (sys.version_info >= (3, 12))


def test_a_broken_shell_script_is_a_fault(project: Path) -> None:
    broken = judge(project, {"run.sh": "#!/bin/sh\nif true; then\n  echo\n"}, lambda home: soundness_gate())
    assert not broken.ok and broken.figures["syntax"] == 1
    odd = "#!/bin/bash\ncoproc cat\nshopt -s extglob\n[[ $1 == @(a|b) ]] && echo $((1#2))\n"
    assert judge(project, {"run.sh": odd}, lambda home: soundness_gate()).ok


def test_the_projects_modules_are_not_run(project: Path) -> None:
    mine = {"json.py": "raise SystemExit(3)\n", "shop/tax.py": "import requestz\nimport shop.taxes\n"}
    verdict = judge(project, mine, lambda home: soundness_gate())
    assert verdict.figures["import"] == 2


def test_ignored_and_generated_modules_are_there(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "project", FILES | {".gitignore": "_version.py\n"})
    (project / "shop/_version.py").write_text("version = '1'\n")
    assert told(project, shop__tax_py="from ._version import version\nfrom shop._version import version\n").ok


def test_importers_are_found_in_a_large_tree(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "project", FILES | MANY)
    verdict = told(project, shop__cart_py="def add_up(cart):\n    return 0\n")
    assert not verdict.ok and "shop/prices.py:1" in verdict.feedback


def test_importers_of_earlier_changes_are_found_too(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "project", FILES | MANY)

    async def work(home: Run, run: Run) -> Verdict:
        assert isinstance(run.workspace, Trial)
        await write_all(run.workspace, {"more/m7.py": "from shop.cart import total\n"})
        await write_all(run.workspace, {"shop/cart.py": "def add_up(cart):\n    return 0\n"})
        last = [each for each in await run.workspace.changes() if each.path == "shop/cart.py"]
        return await soundness_gate(home)(run, tuple(last))

    verdict = in_trial(project, work)
    assert "more/m7.py:1" in verdict.feedback and "shop/prices.py:1" in verdict.feedback
