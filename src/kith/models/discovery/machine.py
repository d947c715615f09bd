"""Read this machine's facts: name, free memory, graphics cards, cores and programs."""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from kith.models.discovery.memory import GIB, Memory

NVIDIA_S = 2.0  # a driver that takes longer is not waited for
UNKNOWN_SHARE = 0.7  # of all memory, where the system does not say how much is free
# What makers put around a processor's name: marks, the kind of thing it is, its clock, its cores.
_ORNAMENTS = re.compile(r"\((R|TM|r|tm)\)|\bCPU\b|\bProcessor\b|@.*|\b\d+-Core\b|\bwith .*")


def read_memory(*, cards: bool = False, root: Path = Path("/")) -> Memory:
    """Read the memory that a model may use now. `cards`: ask for graphics cards too (up to two seconds).

    On Linux: MemAvailable of /proc/meminfo, and the limits of every control group that this process is in
    (Documentation/admin-guide/cgroup-v2.rst; memory.txt for version 1).
    """
    total, available = _windows_memory() if sys.platform == "win32" else _posix_memory(root)
    gpu, limit = (_card_memory(root) if cards else 0), ""
    room = min(_group_rooms(root), default=available)
    if room < available:
        available, limit = room, "of this container"
    return Memory(total, available, gpu, limit)


@cache
def machine_name(root: Path = Path("/")) -> str:
    """This machine in a few words that stay the same: what a model's speed here depends on.

    Such as "AMD EPYC 7R13, 2 cores, 23 GiB", with its graphics cards where they can be told at once.
    """
    cores = usable_cores(root)
    parts = [_processor(root), f"{cores} core{'s' if cores > 1 else ''}", f"{total_memory() / GIB:.0f} GiB"]
    return ", ".join([*parts, *_card_names(root)])


def busy() -> float:
    """Processes that want to run now, for each core: the load of the last minute; 0.0 where nobody counts."""
    try:
        return os.getloadavg()[0] / _cores()
    except (AttributeError, OSError):
        return 0.0


@cache
def _cores() -> int:
    return usable_cores()


def _processor(root: Path) -> str:
    """The processor's name as its maker gives it, without ornaments; else its architecture."""
    said = re.search(r"^(?:model name|Model|Hardware)\s*:\s*(.+)$", _text(root / "proc/cpuinfo"), re.M)
    name = said[1] if said else _apple_processor() or os.environ.get("PROCESSOR_IDENTIFIER", "")
    return " ".join(_ORNAMENTS.sub(" ", name).split()) or platform.machine() or "unknown processor"


def _apple_processor() -> str:
    """As `sysctl -n machdep.cpu.brand_string` tells: "Apple M3 Pro"."""
    if sys.platform != "darwin":
        return ""
    try:
        return subprocess.run(
            ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"],
            capture_output=True, text=True, timeout=NVIDIA_S, check=False,
        ).stdout.strip()  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _card_names(root: Path) -> list[str]:
    """Graphics cards as the NVIDIA and amdgpu drivers name them in files; the same ones counted."""
    said = [_text(each) for each in sorted((root / "proc/driver/nvidia/gpus").glob("*/information"))]
    names = [
        line.partition(":")[2].strip() for text in said for line in text.splitlines() if "Model:" in line
    ]
    cards = sorted((root / "sys/class/drm").glob("card[0-9]*/device/mem_info_vram_total"))
    names += [_text(each.parent / "product_name").strip() or "AMD graphics" for each in cards]
    counted = {name: names.count(name) for name in names}
    return [f"{number} x {name}" if number > 1 else name for name, number in counted.items()]


def total_memory() -> int:
    """The machine's memory in bytes; 8 GiB where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 * GIB


def usable_cores(root: Path = Path("/")) -> int:
    """Logical cores that this process may keep busy; containers often get fewer than the machine has."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min([here, *_group_cores(root)])


def find_program(name: str) -> str:
    """The path of a program on the PATH, "" without one.

    Relative folders of the PATH do not count: the current one may be anybody's repository.
    """
    folders = (folder for folder in os.get_exec_path() if Path(folder).is_absolute())
    return shutil.which(name, path=os.pathsep.join(folders)) or ""


def _posix_memory(root: Path) -> tuple[int, int]:
    """All memory and what is free of it."""
    said = _fields(root / "proc/meminfo")
    total = said.get("MemTotal", 0) * 1024 or total_memory()
    return total, said.get("MemAvailable", 0) * 1024 or int(total * UNKNOWN_SHARE)


def _windows_memory() -> tuple[int, int]:
    """The same from GlobalMemoryStatusEx."""
    import ctypes

    # MEMORYSTATUSEX: two 32-bit numbers (its own size, the load), then seven of 64 bits.
    status = (ctypes.c_uint64 * 8)(64)
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009 (it exists on Windows alone)
    if not kernel.GlobalMemoryStatusEx(ctypes.byref(status)):
        return total_memory(), int(total_memory() * UNKNOWN_SHARE)
    return status[1], status[2]


# --- control groups --------------------------------------------------------------------------


def _group_rooms(root: Path) -> Iterator[int]:
    """Yield the memory left in each control group that limits it."""
    for folder, newer in _groups(root, "memory"):
        limit, used = ("max", "current") if newer else ("limit_in_bytes", "usage_in_bytes")
        most = _text(folder / f"memory.{limit}").strip()
        if most.isdecimal():
            taken = _text(folder / f"memory.{used}").strip()
            # File pages that nobody uses are given up when memory is wanted.
            idle = "inactive_file" if newer else "total_inactive_file"
            held = int(taken) - _fields(folder / "memory.stat").get(idle, 0) if taken.isdecimal() else 0
            yield max(0, int(most) - max(0, held))


def _group_cores(root: Path) -> Iterator[int]:
    """Yield the cores that each control group with a limit grants, at least one."""
    for folder, newer in _groups(root, "cpu"):
        files = ("cpu.max",) if newer else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        quota, period = (*" ".join(_text(folder / file) for file in files).split(), "", "")[:2]
        if quota.isdecimal() and period.isdecimal() and int(period):
            yield max(1, int(quota) // int(period))


def _groups(root: Path, controller: str) -> Iterator[tuple[Path, bool]]:
    """The control groups that this process is in, from its own up, and whether they are of version 2.

    Inside a container the group's own folder is mounted as the root, so not all of them may be there.
    """
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and controller not in controllers.split(","):
            continue
        mounted = root / "sys/fs/cgroup" / (controller if controllers else "")
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for depth in range(len(parts), -1, -1):
            yield mounted.joinpath(*parts[:depth]), not controllers


# --- graphics cards --------------------------------------------------------------------------


def _card_memory(root: Path) -> int:
    """Free bytes on graphics cards of their own, all together. Apple's share the machine's memory: 0."""
    return _amd_memory(root) + _nvidia_memory(root)


def _amd_memory(root: Path) -> int:
    """As the amdgpu driver tells (Documentation/gpu/amdgpu/driver-misc.rst)."""
    free = 0
    for device in sorted((root / "sys/class/drm").glob("card[0-9]*/device")):
        total, used = (_text(device / f"mem_info_vram_{kind}").strip() for kind in ("total", "used"))
        if total.isdecimal() and used.isdecimal():
            free += max(0, int(total) - int(used))
    return free


def _nvidia_memory(root: Path) -> int:
    program = find_program("nvidia-smi")
    if not program or (sys.platform == "linux" and not (root / "proc/driver/nvidia").exists()):
        return 0
    query = [program, "--query-gpu=memory.free", "--format=csv,noheader,nounits"]
    try:
        said = subprocess.run(query, capture_output=True, text=True, timeout=NVIDIA_S, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return sum(int(line) << 20 for line in said.split() if line.isdecimal())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _fields(path: Path) -> Mapping[str, int]:
    """`Name: 12 kB` or `name 12` a line, as numbers by name."""
    rows = (line.replace(":", " ").split() for line in _text(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdecimal()}
