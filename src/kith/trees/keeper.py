"""Ends what kith has started when kith itself dies, however it dies: one small shell waits for that.

bwrap asks the kernel to end it with its parent, but when it is ended so in the middle of its start, the child
that it has just made knows nothing of it, and waits or runs for ever: it is ended first, while bwrap is held.
And without a sandbox nothing ends with its parent at all.
"""

import os
import subprocess
import threading
from functools import cache

MARK = "COMMAND_OF_KITH"  # names a command in the environment of all it starts, where there is no sandbox

# A line holds all groups of processes that run now, with their marks; the last one counts when kith is gone.
_SCRIPT = f"""
while read -r line; do now=$line; done
for each in $now; do
  group=${{each%%:*}}
  kill -STOP "-$group"
  for turn in 1 2 3; do
    read -r below <"/proc/$group/task/$group/children" && kill -9 $below
  done
  kill -9 "-$group"
done
for each in $now; do
  mark=${{each##*:}}
  [ "$mark" ] || continue
  for place in $(grep -lsz "^{MARK}=$mark\\$" /proc/[0-9]*/environ); do
    place=${{place%/environ}}
    kill -9 "${{place##*/}}"
  done
done
"""
_running: dict[int, str] = {}  # process groups and their marks
_turn = threading.Lock()


def keep(group: int, mark: str = "") -> None:
    """Let this group of processes, and all that carry `mark`, die with kith."""
    if os.name == "posix":
        with _turn:
            _running[group] = mark
            _tell()


def let_go(group: int) -> None:
    """This group has come to its end."""
    with _turn:
        if _running.pop(group, None) is not None:
            _tell()


def _tell() -> None:
    line = " ".join(f"{group}:{mark}" for group, mark in _running.items())
    try:
        keeper = _keeper(os.getpid())
        assert keeper.stdin
        keeper.stdin.write(f"{line}\n".encode())
    except OSError:  # no shell, or somebody has killed it: the next command gets another one
        _keeper.cache_clear()


@cache
def _keeper(owner: int) -> "subprocess.Popen[bytes]":
    """The shell that waits; a fork of this process, another `owner`, gets one of its own."""
    return subprocess.Popen(
        ["/bin/sh", "-c", _SCRIPT],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        start_new_session=True,
    )
