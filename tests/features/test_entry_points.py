"""A feature of another package is found by its entry point, and adds what kith's own add."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mending import CHECK, DONE, NEW, OLD, edit
from places import ROOT

EXAMPLE = ROOT / "examples" / "kith-todos"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example, as an installer would leave it: on the path, with its entry points beside it."""
    told = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    site = tmp_path / "site"
    info = site / f"kith_todos-{told['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {told['name']}\nVersion: {told['version']}\n"
    )
    points = told["entry-points"]["kith.features"]
    lines = [f"{name} = {place}" for name, place in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[kith.features]", *lines, ""]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(site), str(EXAMPLE / "src"))))


def kith(folder: Path, *words: str, code: int = 0) -> str:
    """What a process of its own prints, which finds what is installed; where it fails, on stderr."""
    command = [sys.executable, "-P", "-m", "kith", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=90)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
def test_its_command_its_setting_and_its_gate(repository: Path, script: Any) -> None:
    assert "todos" in kith(repository, "features") and "list TODO comments" in kith(repository, "--help")
    (repository / "later.py").write_text("x = 1  # TODO: two\n# HACK: three\n")
    assert kith(repository, "todos") == "later.py:1: # TODO: two\n"
    kith(repository, "config", "set", "todos.words", "HACK")
    assert kith(repository, "todos") == "later.py:2: # HACK: three\n"
    lazy = {"path": "utils.py", "old": OLD, "new": f"{NEW}  # TODO: more"}
    clean = {"path": "utils.py", "old": "  # TODO: more", "new": ""}
    said = [{"calls": [{"name": "edit", "args": args}]} for args in (lazy, clean)]
    kith(repository, "run", "--yes", "-m", script(said[0], DONE, said[1], DONE), "--check", CHECK, "fix mean")
    text = (repository / "utils.py").read_text()
    assert NEW in text and "TODO" not in text


@pytest.mark.usefixtures("installed")
@pytest.mark.slow
def test_it_is_switched_off_like_any_other(repository: Path, script: Any) -> None:
    assert "Off: todos." in kith(repository, "features", "off", "todos")
    assert "kith todos needs the feature todos, which is off" in kith(repository, "todos", code=2)
    kith(repository, "run", "--yes", "-m", script(edit(), DONE), "--check", CHECK, "fix mean")
    assert "Every feature is on." in kith(repository, "features", "on", "todos")
