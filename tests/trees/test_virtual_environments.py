"""The environment of a project is found where Poetry, Pipenv or Hatch keep it."""

import os
import sys
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from kith.trees.environment import environment_of, find_surroundings, name_environment
from kith.trees.virtual_environments import find_environment


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    for name in ("VIRTUAL_ENV", "POETRY_CACHE_DIR", "POETRY_VIRTUALENVS_PATH", "WORKON_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    return home


def make(path: Path, seconds: int = 1) -> Path:
    (path / "bin").mkdir(parents=True)
    (path / "bin/python").symlink_to(sys.executable)
    (path / "pyvenv.cfg").write_text("home = /usr/bin\n")
    os.utime(path, (seconds, seconds))
    return path


# As Poetry 2.5, Pipenv 2026.10 and Hatch 1.18 named the environment of a project in /srv/shop.
@pytest.mark.parametrize(
    "name",
    [
        ".cache/pypoetry/virtualenvs/my-shop-58fqC6Q1-py3.11",
        ".local/share/virtualenvs/shop-F2F75yho",
        ".local/share/hatch/env/virtual/hs/58fqC6Q1/hs",
    ],
)
def test_an_environment_is_found_by_the_folder_of_its_project(name: str, home: Path) -> None:
    root = Path("/srv/shop")
    assert find_environment(root) is None
    made = make(home / name)
    assert find_environment(root) == made
    assert find_environment(root / "inner") is None


def test_the_newest_one_serves_and_the_active_one_comes_first(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / ".cache/pypoetry/virtualenvs"
    make(folder / "my-shop-58fqC6Q1-py3.10")
    newer = make(folder / "my-shop-58fqC6Q1-py3.12", 2)
    assert find_environment(Path("/srv/shop")) == newer
    active = make(tmp_path / "active")
    monkeypatch.setenv("VIRTUAL_ENV", str(active))
    assert find_environment(Path("/srv/shop")) == active


def test_one_without_its_interpreter_is_left_out(home: Path) -> None:
    folder = home / ".cache/pypoetry/virtualenvs"
    older = make(folder / "my-shop-58fqC6Q1-py3.10")
    python = make(folder / "my-shop-58fqC6Q1-py3.12", 2) / "bin/python"
    python.unlink()
    python.symlink_to(home / "gone")
    assert find_environment(Path("/srv/shop")) == older


def test_commands_use_it_unless_the_tree_has_its_own(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    key = urlsafe_b64encode(sha256(os.fsencode(root)).digest()).decode()[:8]
    made = make(home / f".cache/pypoetry/virtualenvs/shop-{key}-py3.11")
    name = name_environment(root)
    (made / "lib/python3.11/site-packages/pkg").mkdir(parents=True)
    assert name_environment(root) != name
    around = find_surroundings(root)
    assert environment_of(root, around, {})["VIRTUAL_ENV"] == str(made)
    own = make(root / ".venv")
    assert environment_of(root, around, {})["VIRTUAL_ENV"] == str(own)
