"""A watchdog over kith's commands: one that lives on 5 s after its last event fails, with its stacks."""

import os
import select
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

GRACE_S: Final = 5.0
LOOK_S: Final = 0.5
OUTLIVED: Final = f"kith outlived its last event by {GRACE_S:g} s"


class Watchdog:
    """Looks into the log of a command that has just begun, in the state folder of its environment."""

    def __init__(self, environment: Mapping[str, str], grace_s: float = GRACE_S) -> None:
        self._grace_s = grace_s
        home = environment.get("HOME", "/nowhere")
        state = environment.get("XDG_STATE_HOME") or f"{home}/.local/state"
        self._log = Path(state, "kith", "log.sqlite3")
        self._begun = self._newest()[0]

    def overdue(self) -> bool:
        """Whether the last event since the beginning is an end that is long past."""
        number, kind, at = self._newest()
        return number > self._begun and kind == "RunEnded" and time.time() - at > self._grace_s

    def _newest(self) -> tuple[int, str, float]:
        with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{self._log}?mode=ro", uri=True)) as log:
            query = "SELECT seq, kind, at FROM events ORDER BY seq DESC LIMIT 1"
            for number, kind, at in log.execute(query):
                return number, kind, at
        return 0, "", 0.0


def wait_watched(child: int, watchdog: Watchdog) -> tuple[int, bool]:
    """Wait for a child of this process: its exit code, and whether it had to be ended.

    It is told by SIGABRT, at which Python's faulthandler prints where each of its threads stands.
    """
    if not hasattr(os, "pidfd_open"):
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), False
    fd, late = os.pidfd_open(child), False
    try:
        while not select.select([fd], [], [], LOOK_S)[0]:
            if watchdog.overdue():
                os.kill(child, signal.SIGKILL if late else signal.SIGABRT)
                late = True
    finally:
        os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), late


def run_watched(
    command: Sequence[str], cwd: Path, grace_s: float = GRACE_S, **options: Any
) -> subprocess.CompletedProcess[str]:
    """`subprocess.run` with its output captured as text; fails where the command outlives its last event."""
    watchdog = Watchdog(os.environ, grace_s)
    environment = {**os.environ, "PYTHONFAULTHANDLER": "1"}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, cwd=cwd, env=environment, stdout=out, stderr=err, **options)
        process.returncode, late = wait_watched(process.pid, watchdog)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    assert not late, f"{OUTLIVED}\n{texts[1]}"
    return subprocess.CompletedProcess(list(command), process.returncode, *texts)
