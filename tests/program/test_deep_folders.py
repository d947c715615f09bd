"""A command that nests folders without end disables nothing: not its own task, and no later one."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kith.trees.copy import make_folders
from kith.trees.walk import remove_tree
from outside import Kith

SANDBOXES = ["auto", pytest.param("off", marks=pytest.mark.slow)]
DEEP = "/".join(["d"] * 1_100)
DIG = f"mkdir -p {DEEP}"
OLD, NEW = "    return sum(numbers) / (len(numbers) + 1)", "    return sum(numbers) / max(len(numbers), 1)"
EDIT = f"utils.py\n```\n<<<<<<< SEARCH\n{OLD}\n=======\n{NEW}\n>>>>>>> REPLACE\n```\n"


@pytest.fixture(autouse=True)
def cleared(tmp_path: Path) -> Iterator[None]:
    """pytest's own way to remove old folders recurses."""
    yield
    remove_tree(tmp_path)


@pytest.fixture
def folder(tmp_path: Path, repository: Path) -> Kith:
    """The same files outside of any repository, beside a deep folder."""
    root = tmp_path / "folder"
    root.mkdir()
    (root / "utils.py").write_text((repository / "utils.py").read_text())
    make_folders(root / DEEP)
    (root / DEEP / "deep.py").write_text("x = 1\n")
    return Kith(root)


def script(tmp_path: Path) -> str:
    (tmp_path / "script.json").write_text(json.dumps([EDIT]))
    return f"replay/{tmp_path / 'script.json'}"


@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_a_check_that_digs_deep_is_a_check(
    kith: Kith, tmp_path: Path, sandbox: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_SANDBOX", sandbox)
    report = kith.run("--yes", "--check", DIG, "-m", script(tmp_path), "Mend mean")
    assert report["applied"]
    subprocess.run(["git", "checkout", "-q", "."], cwd=kith.folder, check=True)
    assert kith.run("--yes", "--check", "none", "-m", script(tmp_path), "Mend mean")["applied"]
    assert not list((Path.home() / ".local/state/kith/trials").iterdir())


@pytest.mark.parametrize("sandbox", SANDBOXES)
@pytest.mark.slow
def test_a_task_beside_a_deep_folder_is_done(
    folder: Kith, tmp_path: Path, sandbox: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_SANDBOX", sandbox)
    assert folder.run("--yes", "--check", "none", "-m", script(tmp_path), "Mend mean")["applied"]
    assert NEW in (folder.folder / "utils.py").read_text()


def test_a_scan_and_edits_beside_a_deep_folder_work(folder: Kith) -> None:
    assert json.loads(folder("scan", "--json").stdout)["size"]["files"] == 2
    folder("edits", "apply", "--write", input=EDIT)
    assert NEW in (folder.folder / "utils.py").read_text()
