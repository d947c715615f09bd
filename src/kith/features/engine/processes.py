"""Processes by who they are, not only by their number, which the system gives away again."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

_POLITE_S = 3.0


def birth(pid: int) -> str:
    """What tells a process from a later one with its number: its start, and the boot; "" if it is not there.

    On Linux field 22 of /proc/PID/stat, in clock ticks since the boot (proc(5)); elsewhere what `ps` says.
    """
    if pid <= 0:
        return ""
    if not sys.platform.startswith("linux"):
        asked = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        return asked.stdout.strip()
    try:
        # The name, in brackets, may hold anything; the state follows it.
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else f"{_boot()} {fields[19]}"


def lives(pid: int, born: str) -> bool:
    """Whether that very process is there. Of one whose birth nobody noted, nothing can be said: no."""
    return bool(born) and birth(pid) == born


def end(pid: int, born: str) -> None:
    """End that very process: first politely, then for good."""
    if not lives(pid, born):
        return
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + _POLITE_S
        while lives(pid, born) and time.monotonic() < until:
            time.sleep(0.02)
        if lives(pid, born):
            os.kill(pid, signal.SIGKILL)


def end_child(process: subprocess.Popen[bytes]) -> int:
    """The same for a child, whose number stays its own until it is waited for; its exit code."""
    process.terminate()
    try:
        return process.wait(_POLITE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def resident_bytes(pid: int) -> int:
    """Memory that a process holds, mapped files included; 0 where the system does not say (proc(5))."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def die_with_parent() -> None:
    """Before a child starts: it ends when its parent does, even by SIGKILL (prctl(2), Linux only)."""
    if sys.platform.startswith("linux"):
        import ctypes

        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)


def _boot() -> str:
    """The name of this boot; "" where the system gives none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
