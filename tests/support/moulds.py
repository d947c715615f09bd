"""Folders that many tests begin with: made once in a process, and copied for each of them."""

import atexit
import shutil
import tempfile
from collections.abc import Callable, Hashable
from pathlib import Path

_made: dict[Hashable, Path] = {}


def copied(key: Hashable, make: Callable[[Path], object], folder: Path) -> Path:
    """What `make` puts into an empty folder, in a folder that is new or empty; the same for the same key."""
    if key not in _made:
        place = Path(tempfile.mkdtemp(prefix="kith-mould-"))
        atexit.register(shutil.rmtree, place, ignore_errors=True)
        make(place)
        _made[key] = place
    return Path(shutil.copytree(_made[key], folder, symlinks=True, dirs_exist_ok=True))
