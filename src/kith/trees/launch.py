"""Start a command under its limits and mounts, and end it when kith dies."""

import os
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from kith.core.workspace import ExecLimits
from kith.trees.limits import process_lines

# Names relative to the trial's folder (`lower` is a link): commas and colons in paths do no harm. Nothing in
# a trial has to be on the disk at once; without `volatile` every unmount would wait for all of the disk.
_LAYERS: Final = "userxattr,volatile,index=off,lowerdir={lower},upperdir=upper,workdir="
BASE: Final = "base"  # a link to the upper layer of the trial below, where there is one
_RESERVED: Final = 310  # process numbers that the kernel keeps back, and the sandbox's own
_PIDS_OF_ITS_OWN: Final = (6, 14)  # the Linux from which a namespace has its own limit on process numbers


class Launch(Struct, frozen=True):
    """The start of a shell: its program (`front`), and the lines to run before the command."""

    front: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()

    def argv(self, command: Sequence[str], first: Sequence[str] = (), last: Sequence[str] = ()) -> list[str]:
        """The command behind such a shell, which runs the lines `first` and `last` around its own."""
        lines = [*first, *self.lines, *last, 'exec "$@"']
        return [*self.front, "/bin/sh", "-c", "\n".join(lines), "kith", *command]


PLAIN: Final = Launch()


def launch_limited(limits: ExecLimits) -> Launch:
    """A start at which root's processes are limited, in a namespace of their own, before anybody watches.

    Other users have a limit of the machine's, and may not be allowed what bubblewrap is.
    """
    if os.geteuid():
        return PLAIN
    return Launch(("unshare", "-Urpf"), (*process_lines(limits), *_limit_of_root(limits)))


@contextmanager
def launch_on(overlay: Path, root: Path, limits: ExecLimits) -> Iterator[Launch]:
    """Launch a command with the overlay of the folder `overlay` mounted at `root`.

    The mount lives in the command's own namespaces and ends with them, and so does every process. The shell,
    which becomes the command, is the first process of its namespace.
    """
    with mount_work(overlay) as work:
        there = mount_line(overlay, root, work)
        yield Launch(("unshare", "-Urmpf"), (there, *process_lines(limits), *_limit_of_root(limits)))


@contextmanager
def mount_work(overlay: Path) -> Iterator[Path]:
    """A work folder for one mount: a volatile overlay refuses one that was used before."""
    work = Path(tempfile.mkdtemp(dir=overlay / "work"))
    try:
        yield work
    finally:
        _remove(work)


def mount_line(overlay: Path, root: Path, work: Path) -> str:
    """The line for a shell that mounts the overlay at `root`.

    In a shell of its own: a shell exports the folder that it left, and the command would see it.
    """
    layers = _LAYERS.format(lower=f"{BASE}:lower" if (overlay / BASE).exists() else "lower")
    mount = f"mount -i -n -t overlay -o {layers}work/{work.name} overlay {shlex.quote(str(root))}"
    return f"(cd -- {shlex.quote(str(overlay))} && {mount}) || exit"


def launch_in(front: Sequence[str], limits: ExecLimits) -> Launch:
    """Launch a command in namespaces that others made: `front` enters them."""
    return Launch(tuple(front), (*process_lines(limits), *_limit_of_root(limits)))


def _remove(work: Path) -> None:
    """Quickly, as each command waits for it; what else is left in there goes with the trial."""
    with suppress(OSError):
        (work / "work").chmod(0o700)
        for each in ("work/incompat/volatile", "work/incompat", "work", "."):
            os.rmdir(os.path.normpath(f"{work}/{each}"))  # noqa: PTH106


def _limit_of_root(limits: ExecLimits) -> list[str]:
    """A limit that binds root, too. On an older kernel the same line would set the whole machine's."""
    numbers = os.uname().release.split("-")[0].split(".")[:2]
    if tuple(int(number) for number in numbers if number.isdigit()) < _PIDS_OF_ITS_OWN:
        return []
    return [f"{{ echo {limits.processes + _RESERVED} >/proc/sys/kernel/pid_max; }} 2>/dev/null"]


# Ends what kith has started when kith itself dies, however it dies: one small shell waits for that.

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
