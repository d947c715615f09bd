"""The words of kith get no harder to read: what the prose check finds may become less, and never more."""

import subprocess
import sys

from places import ROOT


def test_the_prose_check_finds_no_more_than_it_allows() -> None:
    command = [sys.executable, str(ROOT / "tools" / "prose.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\npython tools/prose.py --list shows the places"
