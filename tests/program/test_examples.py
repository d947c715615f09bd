"""The examples run as they stand."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mending import CHECK, DONE, NEW, OLD, edit
from places import ROOT

EXAMPLES = ROOT / "examples"


@pytest.fixture(autouse=True)
def kith_is_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Path(sys.executable).parent
    if not (here / "kith").exists():
        pytest.skip("kith is not installed beside this Python")
    monkeypatch.setenv("PATH", f"{here}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.slow
def test_review_answers_and_changes_nothing(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"expect": "Two helpers", "text": "Nothing breaks."}]))
    monkeypatch.setenv("KITH_MODEL", f"replay/{script}")
    done = subprocess.run([EXAMPLES / "review.sh"], cwd=repository, capture_output=True, text=True)
    assert done.stdout == "Nothing breaks.\n", done.stderr


@pytest.mark.slow
def test_fix_applies_a_small_change_and_takes_a_large_one_back(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "script.json"
    monkeypatch.setenv("KITH_MODEL", f"replay/{script}")
    command = [sys.executable, EXAMPLES / "fix.py", "fix mean", CHECK]
    script.write_text(json.dumps([edit(OLD, NEW + "    # why\n" * 60), DONE]))
    large = subprocess.run(command, cwd=repository, capture_output=True, text=True)
    assert large.returncode == 3 and OLD in (repository / "utils.py").read_text(), large.stderr
    script.write_text(json.dumps([edit(), DONE]))
    small = subprocess.run(command, cwd=repository, capture_output=True, text=True)
    assert small.returncode == 0 and NEW in (repository / "utils.py").read_text(), small.stderr
    assert small.stdout == "done: 1 files, 2 lines, 1 checks\n"
