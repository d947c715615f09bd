"""The watchdog over kith's commands bites."""

import sys
from pathlib import Path

import pytest

from overdue import run_watched

LINGERS = """
import sys, time
from kith.core.events import RunEnded
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Session
from kith.settings import find_folders
with Session(Log(find_folders()[1] / LOG_FILE), "s") as session:
    session.emit(RunEnded("done", "Done."))
def linger():
    time.sleep(float(sys.argv[1]))
linger()
"""


def test_a_command_that_outlives_its_last_event_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"(?s)outlived its last event.*in linger"):
        run_watched([sys.executable, "-c", LINGERS, "600"], tmp_path, grace_s=0.1)
    assert run_watched([sys.executable, "-c", LINGERS, "0"], tmp_path).returncode == 0
