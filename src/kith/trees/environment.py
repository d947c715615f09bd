"""What the results of a tree's commands depend on beside its files: programs and installed packages."""

import os
from hashlib import sha256
from pathlib import Path
from typing import Final

from kith.trees.toolchains import VENVS, path_variable

_INSTALLED: Final = ("lib/python3*/site-packages", "lib/python3*/dist-packages")


def name_environment(root: Path) -> str:
    """A digest that changes when PATH does, or when something is installed where the tree's commands look."""
    told = [path_variable(root), os.environ.get("VIRTUAL_ENV", "")]
    prefixes = [Path(folder).parent for folder in told[0].split(os.pathsep)]
    prefixes += [root / name for name in VENVS]
    folders = [found for prefix in prefixes for pattern in _INSTALLED for found in prefix.glob(pattern)]
    for folder in [*folders, root / "node_modules"]:
        try:
            told.append(f"{folder} {folder.stat().st_mtime_ns}")
        except OSError:
            continue
    return sha256("\0".join(told).encode("utf-8", "surrogateescape")).hexdigest()[:16]
