"""Projects that others wrote, for builds that are played."""

from pathlib import Path

import pytest

from building import copy_package


@pytest.fixture
def toolz(tmp_path: Path, sandbox: None) -> Path:
    """toolz, with the pytest tests of its `dicttoolz` only."""
    kept = {"tests/__init__.py", "tests/test_dicttoolz.py"}
    folder = tmp_path / "toolz"
    folder.mkdir()
    return copy_package("toolz", folder, lambda path: "tests" not in path or path in kept)


@pytest.fixture
def pyflakes(tmp_path: Path, sandbox: None) -> Path:
    """pyflakes, with the unittest tests of two of its modules only."""
    kept = {"test/__init__.py", "test/harness.py", "test/test_imports.py", "test/test_custom_builtins.py"}
    folder = tmp_path / "pyflakes"
    folder.mkdir()
    return copy_package("pyflakes", folder, lambda path: not path.startswith("test") or path in kept)
