"""A feature of another package is found by its entry point, and adds what kith's own add."""

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mending import CHECK, DONE, NEW, OLD, edit
from outside import Kith
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


@pytest.mark.usefixtures("installed")
def test_its_command_its_setting_and_its_gate(kith: Kith, script: Any) -> None:
    assert "todos" in kith("features").stdout and "list TODO comments" in kith("--help").stdout
    (kith.folder / "later.py").write_text("x = 1  # TODO: two\n# HACK: three\n")
    assert kith("todos").stdout == "later.py:1: # TODO: two\n"
    kith("config", "set", "todos.words", "HACK")
    assert kith("todos").stdout == "later.py:2: # HACK: three\n"
    lazy = {
        "calls": [{"name": "edit", "args": {"path": "utils.py", "old": OLD, "new": f"{NEW}  # TODO: more"}}]
    }
    clean = {"calls": [{"name": "edit", "args": {"path": "utils.py", "old": "  # TODO: more", "new": ""}}]}
    kith.run("--yes", "-m", script(lazy, DONE, clean, DONE), "--check", CHECK, "fix mean")
    text = (kith.folder / "utils.py").read_text()
    assert NEW in text and "TODO" not in text


@pytest.mark.usefixtures("installed")
def test_it_is_switched_off_like_any_other(kith: Kith, script: Any) -> None:
    assert "Off: todos." in kith("features", "off", "todos").stdout
    kith("todos", code=2)
    kith.run("--yes", "-m", script(edit(), DONE), "--check", CHECK, "fix mean")
    assert "Every feature is on." in kith("features", "on", "todos").stdout
