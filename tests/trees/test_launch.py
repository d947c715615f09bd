"""What kith has started does not outlive it, whatever ends it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX's")
# Runs the command given, without a sandbox, and would wait for it for a long time.
KITH = """
import asyncio, sys
from pathlib import Path
from kith.core.workspace import ShellCommand, ExecLimits
from kith.trees.environment import Surroundings
from kith.trees.sandbox import run_plain
place = Path(sys.argv[1])
command = ShellCommand(sys.argv[2])
asyncio.run(run_plain(place, place / "scratch", Surroundings(), command, ExecLimits(seconds=60)))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="marks are read from /proc")
def test_a_command_and_its_daemons_die_with_kith(tmp_path: Path) -> None:
    daemon = "setsid sh -c 'echo $$ > daemon; exec sleep 60' >/dev/null 2>&1 &"
    command = [sys.executable, "-c", KITH, str(tmp_path), f"{daemon} echo $$ > shell; sleep 60 & sleep 60"]
    with subprocess.Popen(command) as kith:
        pids = [wait_for_pid(tmp_path / name) for name in ("daemon", "shell")]
        assert all(map(is_alive, pids))
        kith.send_signal(signal.SIGKILL)
    until(lambda: not any(map(is_alive, pids)), "they outlived kith")


def wait_for_pid(file: Path) -> int:
    until(lambda: file.exists() and file.read_text().endswith("\n"), f"{file.name} did not start")
    return int(file.read_text())


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
