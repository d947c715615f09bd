"""What the tests of the tools ask for: a tree to work in, and machines with fewer programs."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tools_bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """An empty folder that is no repository."""
    (tmp_path / "tree").mkdir()
    return Bench(tmp_path / "tree", tmp_path / "state")


@pytest.fixture
def make_path(tmp_path: Path) -> Callable[..., str]:
    """A PATH on which only the named programs are found."""

    def make(*programs: str) -> str:
        folder = tmp_path / "-".join(("bin", *programs))
        folder.mkdir()
        for program in programs:
            found = shutil.which(program)
            if found is None:
                pytest.skip(f"needs {program}, which is not installed")
            (folder / program).symlink_to(found)
        return str(folder)

    return make
