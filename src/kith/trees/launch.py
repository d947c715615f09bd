"""What is put around a sandbox: the overlay that it shows as the tree, and a limit on processes."""

import os
from pathlib import Path
from typing import Final

from kith.core.workspace import ExecLimits
from kith.trees.limits import process_lines

# Names relative to the trial's folder (`lower` is a link): commas and colons in paths do no harm.
_MOUNT: Final = (
    '(cd -- "$1" && exec mount -i -n -t overlay'
    " -o userxattr,index=off,lowerdir=lower,upperdir=upper,workdir=work overlay"
    ' "$2") || exit'
)
_RESERVED: Final = 310  # process numbers that the kernel keeps back, and the sandbox's own
_PIDS_OF_ITS_OWN: Final = (6, 14)  # the Linux from which a namespace has its own limit on process numbers


def overlay_launcher(folder: Path, root: Path, limits: ExecLimits) -> list[str]:
    """What to put in front of a command so that it finds the overlay of `folder` mounted at `root`.

    The mount lives in namespaces of the command's own and ends with them, and so does every process: the
    shell, which becomes the command, is the first one of its namespace.
    """
    lines = [_MOUNT, *process_lines(limits), *_limit_of_root(limits), 'shift 2; exec "$@"']
    return ["unshare", "-Urmpf", "sh", "-c", "\n".join(lines), "kith", str(folder), str(root)]


def _limit_of_root(limits: ExecLimits) -> list[str]:
    """A limit that binds root, too. On an older kernel the same line would set the whole machine's."""
    numbers = os.uname().release.split("-")[0].split(".")[:2]
    if tuple(int(number) for number in numbers if number.isdigit()) < _PIDS_OF_ITS_OWN:
        return []
    return [f"{{ echo {limits.processes + _RESERVED} >/proc/sys/kernel/pid_max; }} 2>/dev/null"]
