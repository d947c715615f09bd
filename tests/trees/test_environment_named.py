"""The name of an environment changes with what is installed in it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kith.trees.environment import name_environment


def install_tool(root: Path) -> None:
    (root.parent / "bin" / "tool").touch()


def install_package(root: Path) -> None:
    (root / ".venv" / "lib" / "python3.11" / "site-packages" / "pkg-1.dist-info").mkdir()


def install_for_node(root: Path) -> None:
    (root / "node_modules" / "pkg").mkdir()


def install_in_a_scope(root: Path) -> None:
    """npm writes its list of what is installed; the folder itself stays as it is."""
    (root / "node_modules" / "@scope" / "pkg").mkdir()
    (root / "node_modules" / ".package-lock.json").write_text("{}")


@pytest.mark.parametrize(
    "install",
    [install_tool, install_package, install_for_node, install_in_a_scope],
    ids=lambda each: each.__name__,
)
def test_an_installation_changes_the_name(
    install: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, programs = tmp_path / "project", tmp_path / "bin"
    for folder in (
        programs,
        root / ".venv" / "lib" / "python3.11" / "site-packages",
        root / "node_modules" / "@scope",
    ):
        folder.mkdir(parents=True)
    (root / "node_modules" / ".package-lock.json").touch()
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.defpath}")
    for path in (*tmp_path.rglob("*"), tmp_path):
        os.utime(path, (1, 1))
    before = name_environment(root)
    assert name_environment(root) == before
    install(root)
    assert name_environment(root) != before


@pytest.mark.parametrize("holder", ["", "backend"])
def test_a_project_in_a_folder_uses_what_is_installed_there_and_at_the_top(
    holder: str, tmp_path: Path
) -> None:
    libraries = tmp_path / holder / ".venv" / "lib" / "python3.11" / "site-packages"
    libraries.mkdir(parents=True)
    os.utime(libraries, (1, 1))
    before = name_environment(tmp_path, "backend")
    (libraries / "pkg").mkdir()
    assert name_environment(tmp_path, "backend") != before
