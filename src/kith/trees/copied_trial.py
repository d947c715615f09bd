"""A trial at another place or on another machine, with a copy of each file: contents, modes and times.

Some of a trial's links and notes name the place where it lay. A stamp holds numbers that a copy has not
(see `stamp_of`). Without new ones, all that checks left behind would count as the work's own.
"""

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from kith.trees.compare import BY_PRODUCTS, ByProducts, Stamp
from kith.trees.copy import ALTERNATES, OBJECTS, RECORD, TREE, scan_copy
from kith.trees.files import open_folder
from kith.trees.overlay import UPPER, Layers

_SAME = 3  # the first parts of a stamp, which a copy shares: mode, size, time of the last write
_TIME = 2  # its part with that time
_SKEW_NS = 86_400_000_000_000  # a clock that is wrong by more is none; a file may be dated 2099


def mark_of(trials: Path) -> object:
    """A value that changes whenever a check begins or ends in one of the trials below a folder.

    Where it is the same before and after they were copied, the copies know what checks left behind.
    """
    notes = [ByProducts(each / BY_PRODUCTS) for each in sorted(trials.glob("*"))]
    return [_mark(file) for note in notes for file in (note.file, note.during)]


def _mark(file: Path) -> object:
    try:
        found = file.lstat()
    except OSError:
        return None
    return file, found.st_ino, found.st_mtime_ns


def settle(trial: Path, root: Path) -> None:
    """Make a copied trial one of the tree at `root`, which is as the old one was.

    What checks left behind is known again by its mode, its size and its time. Raises OSError, ValueError.
    """
    _point(trial / "lower", root)
    is_copy = (trial / RECORD).exists()

    def scan() -> dict[str, Stamp]:
        return scan_copy(trial / TREE) if is_copy else _stamps(Layers(root, trial / UPPER))

    copied = scan()
    now = scan() if _leave_the_future(trial / (TREE if is_copy else UPPER), copied) else copied
    by_products = ByProducts(trial / BY_PRODUCTS)
    if known := by_products.load():
        by_products.save(_renewed(known, copied, now))
    if is_copy:
        record = json.loads((trial / RECORD).read_text())
        made = {path: tuple(stamp) for path, stamp in record["stamps"].items()}
        (trial / RECORD).write_text(json.dumps({**record, "stamps": _renewed(made, copied, now)}))
        _borrow_objects(trial, root)


def _stamps(layers: Layers) -> dict[str, Stamp]:
    return {path: entry.stamp for path, entry in layers.scan().items()}


def _leave_the_future(folder: Path, stamps: Mapping[str, Stamp]) -> bool:
    """Move the times of all files back if some are later than now; False where none is.

    The other machine's clock was ahead. A build would take what is edited here for older than what was built
    there, and not build it again.
    """
    times = {path: stamp[_TIME] for path, stamp in stamps.items() if len(stamp) > _TIME}
    now = time.time_ns()
    plain = {path: each for path, each in times.items() if isinstance(each, int) and each < now + _SKEW_NS}
    ahead = max(plain.values(), default=0) - now
    if ahead <= 0:
        return False
    for path, each in plain.items():
        os.utime(folder / path, ns=(each - ahead, each - ahead), follow_symlinks=False)
    return True


def _renewed(
    known: Mapping[str, Stamp], copied: Mapping[str, Stamp], now: Mapping[str, Stamp]
) -> dict[str, Stamp]:
    return {
        path: now[path] if path in now and copied[path][:_SAME] == stamp[:_SAME] else stamp
        for path, stamp in known.items()
    }


def _borrow_objects(trial: Path, root: Path) -> None:
    """Let the copy's repository find the objects of the tree's, as when it was made."""
    objects = trial / OBJECTS
    if not objects.is_symlink():
        return
    _point(objects, root / ".git/objects")
    place, _, name = ALTERNATES.rpartition("/")
    with open_folder(trial / TREE, place) as folder:  # a command may have put a link there
        with suppress(FileNotFoundError):
            folder.unlink(name)
        folder.create(name, os.fsencode(objects) + b"\n", 0, durable=False)


def _point(link: Path, target: Path) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(target)
