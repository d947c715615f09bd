"""The words of kith get no harder to read: what the prose checks find may become less, and never more."""

import subprocess
import sys

import pytest

from places import ROOT


@pytest.mark.parametrize("tool", ["prose.py", "prose_docs.py"])
def test_the_prose_check_finds_no_more_than_it_allows(tool: str) -> None:
    command = [sys.executable, str(ROOT / "tools" / tool)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\npython tools/{tool} --list shows the places"
