"""Any call of a whole `kith run` that touches the disk may fail; here some are tried, by turns."""

import datetime
import subprocess
import sys

import pytest

from places import SUPPORT

NO_COMPILER = 77
pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("sandbox"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="LD_PRELOAD is Linux's"),
]


# `.ci/soak` takes all 3,500 points in over an hour; this takes other ones each day.
def test_nothing_is_half_applied_and_kith_goes_on() -> None:
    sweep("--most=25", f"--from={datetime.date.today().toordinal()}")


def test_what_a_dead_disk_leaves_behind_goes_with_the_next_start() -> None:
    sweep("--sorts=fsync", "--every=4", "--from=3")  # every other point is one where all fails for good


def sweep(*options: str) -> None:
    command = [sys.executable, str(SUPPORT / "sweeping_sessions.py"), *options]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode == NO_COMPILER:
        pytest.skip("there is no C compiler")
    assert ran.returncode == 0, ran.stdout + ran.stderr
