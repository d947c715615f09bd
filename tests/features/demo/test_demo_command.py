"""`kith demo`: the first thing that a person sees does what the README says."""

import re
import shutil
from pathlib import Path

import pytest

from outside import Kith


@pytest.mark.usefixtures("sandbox")
def test_the_demo_takes_two_tries_and_proves_its_change(tmp_path: Path) -> None:
    said = Kith(tmp_path)("demo")
    told = f"{said.stdout}{said.stderr}"
    assert told.index("✗ python3 -m unittest discover: not there yet, 1 failing as before") < told.index(
        "✓ python3 -m unittest discover: 3 pass, 1 fixed"
    )
    assert "Proven: a test that failed before passes now" in told
    assert "Undid" in told and "stats.py is as it was." in told and not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_the_demo_keeps_its_project_if_asked(tmp_path: Path) -> None:
    said = Kith(tmp_path)("demo", "--keep")
    (kept,) = re.findall(r"cd (/\S+)", f"{said.stdout}{said.stderr}")
    assert (Path(kept) / "stats.py").is_file()
    shutil.rmtree(Path(kept).parent)
