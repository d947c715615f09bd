"""What each process of a command may use, as the kernel holds it to that."""

import os
import sys
from collections.abc import Mapping
from typing import Final

from kith.core.workspace import ExecLimits

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
