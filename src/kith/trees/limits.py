"""Limits of a command: each process by the kernel's limits, all of them together by watching."""

import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from kith.core.workspace import ExecLimits
from kith.trees.scratch import Scratch

_OPEN_FILES: Final = 4096
_UNLIMITED: Final = -1


def memory_limit(limits: ExecLimits) -> int:
    """The memory that a command's processes may use together, in bytes."""
    return limits.memory or (machine_memory() * 3 // 4) or sys.maxsize


def machine_memory() -> int:
    """The machine's memory in bytes, 0 where it is not known."""
    if sys.platform == "win32":
        return 0
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def limit_lines(limits: ExecLimits) -> list[str]:
    """Lines for a POSIX shell: limits for all that it starts, which is ended first when memory runs out."""
    most = _resource_limits(limits)
    lines = [f"ulimit -{option} {value // unit}" for (option, unit), value in most.items() if value >= 0]
    if sys.platform == "linux":
        lines.append("{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null")
    return lines


def process_lines(limits: ExecLimits) -> list[str]:
    """The same for how many processes a user may have, in this namespace; root is not bound by it."""
    import resource

    most = _lowered(resource.RLIMIT_NPROC, limits.processes)
    # dash and busybox call it -p, others -u.
    return [f"ulimit -p {most} 2>/dev/null || ulimit -u {most} 2>/dev/null"] if most >= 0 else []


def _resource_limits(limits: ExecLimits) -> Mapping[tuple[str, int], int]:
    """Limits by the option of `ulimit` and its unit in bytes, negative where there is none.

    The default for memory is not among them, but watched over: address sanitizers reserve terabytes that
    they never touch, and RLIMIT_DATA counts them.
    """
    import resource

    return {
        ("d", 1024): _lowered(resource.RLIMIT_DATA, limits.memory or _UNLIMITED),
        ("f", 512): _lowered(resource.RLIMIT_FSIZE, limits.file_size),
        ("n", 1): _lowered(resource.RLIMIT_NOFILE, _OPEN_FILES),
        ("c", 512): 0,
    }


def _lowered(which: int, most: int) -> int:
    """A limit can be lowered only: the smaller of `most` and what holds for kith itself."""
    import resource

    hard = resource.getrlimit(which)[1]
    known = [each for each in (most, hard) if each not in (_UNLIMITED, resource.RLIM_INFINITY)]
    return min(known, default=_UNLIMITED)


# What the processes of a command use together, watched while it runs: the kernel limits each, if at
# all.

_LOOK_S: Final = 0.5  # between two looks into the scratch folder, and how many times as long as one took
_PAUSE: Final = 20
_LITTLE: Final = 32  # a machine that has one part in so many left of its memory has almost none


class Allowance:
    """The memory, processes and disk (that of `place`) that a command may use from now on.

    Limits on processes do not bind root. Memory may belong to no process (files in memory), and many small
    files fill a disk as well.
    """

    def __init__(self, limits: ExecLimits, place: Path | None = None, scratch: Scratch | None = None) -> None:
        self._scratch, self._next_look = scratch, time.monotonic() + _LOOK_S
        self._memory, self._processes, self._place = memory_limit(limits), limits.processes, place
        self._was_short = _is_short()
        self._room = _room_on(place)

    def excess(self, pid: int) -> str:
        """Describe the limit that the process `pid` and all below it exceed; "" while there is none."""
        pids = [pid, *islice(below(pid), self._processes + 1)]
        if sum(map(_threads_of, pids)) > self._processes + 1:
            return f"it started more than {self._processes:,} processes"
        if _memory_of(pids, self._memory) > self._memory:
            return f"it used more than {self._memory:,} bytes of memory"
        if not self._was_short and _is_short():
            return "the machine had almost no memory left"
        if any(now < before // 2 for now, before in zip(_room_on(self._place), self._room, strict=True)):
            return "it used half of what was free on the disk"
        if self._scratch and self._fills_scratch():
            return f"it left too much in {self._scratch.seen}"
        return ""

    def _fills_scratch(self) -> bool:
        """Look into the scratch folder now and then: counting many files takes long."""
        began = time.monotonic()
        if not self._scratch or began < self._next_look:
            return False
        overdrawn = self._scratch.overdrawn()
        ended = time.monotonic()
        self._next_look = ended + max(_LOOK_S, _PAUSE * (ended - began))
        return overdrawn


def below(pid: int) -> Iterator[int]:
    """The descendants of a process, parents first, where there is a /proc to read them from."""
    waiting = [pid]
    while waiting:
        children = children_of(waiting.pop())
        yield from children
        waiting += children


def children_of(pid: int) -> list[int]:
    """The processes that a process started, as far as they still live."""
    found = list[int]()
    with suppress(OSError):  # it has ended meanwhile
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208  (names are enough)
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return found


def _threads_of(pid: int) -> int:
    """As the kernel counts processes."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/task").stat().st_nlink - 2
    return 1


def _memory_of(pids: Sequence[int], most: int) -> int:
    """Memory in use, in bytes; what several share is told apart only where that decides."""
    private, whole = 0, 0
    for pid in pids:
        with suppress(OSError, ValueError):
            resident, shared = map(int, Path(f"/proc/{pid}/statm").read_text().split()[1:3])
            private, whole = private + resident - shared, whole + resident
    page = os.sysconf("SC_PAGE_SIZE") if whole else 0
    return sum(map(_share_of, pids)) if private * page <= most < whole * page else private * page


def _share_of(pid: int) -> int:
    """A process's part of the memory that it uses with others or alone, files on disks left out."""
    with suppress(OSError):
        return sum(_kilobytes(Path(f"/proc/{pid}/smaps_rollup"), ("Pss_Anon:", "Pss_Shmem:"))) * 1024
    return 0


def _is_short() -> bool:
    with suppress(OSError):
        return sum(_kilobytes(Path("/proc/meminfo"), ("MemAvailable:",))) * 1024 < machine_memory() // _LITTLE
    return False


def _kilobytes(file: Path, names: Iterable[str]) -> Iterator[int]:
    wanted = tuple(names)
    for line in file.read_text().splitlines():
        if line.startswith(wanted):
            yield int(line.split()[1])


def _room_on(place: Path | None) -> tuple[int, int]:
    """Free bytes and free files on the disk of a folder, as far as it counts them."""
    if place:
        with suppress(OSError):
            found = os.statvfs(place)
            return found.f_bavail * found.f_frsize, found.f_favail
    return 0, 0
