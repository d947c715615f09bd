"""A patch of 1,000 hunks in 200 files, through the edit engine and through `git apply`, in turn.

    python benchmarks/edits.py [--folder FOLDER ...] [--files 200] [--hunks 5] [--rows 300] [--runs 9]

Both do the same: read the patch and the files, find every place, remove the old files and write the new
ones, in that order, with nothing synced. git's time holds the start of its process, as every caller has to
wait for it; the engine is there already. What the journal costs, which makes it all or nothing and to be
undone, is told apart, with and without its fsync. The ratio is to be at most 1.5 on a disk. In memory
(/dev/shm) only the processor's time is left, and there C is ahead.
"""

import argparse
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from kith.core.values import Change, Changes
from kith.core.workspace import SizeLimits
from kith.edits import find_edits, make_changes, paths_of, unified_diff
from kith.trees.journal import apply_changes

LIMITS = SizeLimits(change=1_000_000_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    places = [Path(tempfile.gettempdir()), Path("/dev/shm")]
    parser.add_argument("--folder", type=Path, nargs="+", default=places)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--hunks", type=int, default=5, help="in each file")
    parser.add_argument("--rows", type=int, default=300, help="in each file")
    parser.add_argument("--runs", type=int, default=9)
    args = parser.parse_args()
    changes = make_patch(args.files, args.rows, args.hunks)
    patch = "".join(map(unified_diff, changes))
    count = args.files * args.hunks
    print(f"{count:,} hunks in {args.files} files of {args.rows} rows, {len(patch):,} bytes")
    for folder in args.folder:
        with tempfile.TemporaryDirectory(dir=folder) as root:
            print(f"{folder}: {compare(Path(root), changes, patch, args.runs)}", flush=True)


def compare(root: Path, changes: Changes, patch: str, runs: int) -> str:
    """All ways of applying the patch, each in its turn; medians."""
    (root / "p.diff").write_bytes(patch.encode())
    tree, state = root / "tree", root / "state"

    def journal() -> None:
        apply_changes(tree, state, changes, LIMITS)

    ways: dict[str, Callable[[], object]] = {
        "git apply": lambda: by_git(tree),
        "engine, with files": lambda: by_kith(tree, root / "p.diff"),
        "journal without fsync": lambda: without_sync(journal),
        "journal": journal,
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    busy: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(runs + 1):  # the first one warms up
        for name, way in ways.items():
            lay_out(tree, changes)
            shutil.rmtree(state, ignore_errors=True)
            state.mkdir()
            elapsed, worked = timed(way)
            seconds[name].append(elapsed)
            busy[name].append(worked)
            assert all((tree / change.path).read_bytes() == change.after for change in changes), name
    alone = statistics.median(timed(lambda: in_memory(changes, patch))[1] for _ in range(runs))
    middle = {name: statistics.median(taken[1:]) for name, taken in seconds.items()}
    told = ", ".join(
        f"{name} {taken * 1e3:.0f} ms (processor {statistics.median(busy[name][1:]) * 1e3:.0f})"
        for name, taken in middle.items()
    )
    ratio = middle["engine, with files"] / middle["git apply"]
    return f"{told}; in memory {alone * 1e3:.0f} ms of the processor; ratio {ratio:.2f} (1.5)"


def by_git(tree: Path) -> None:
    quiet = {"GIT_CEILING_DIRECTORIES": "/", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", "apply", "../p.diff"], cwd=tree, env=os.environ | quiet, check=True)


def by_kith(tree: Path, patch: Path) -> None:
    edits = find_edits(patch.read_bytes().decode())
    top = os.open(tree, os.O_RDONLY)
    changes = make_changes(edits, {name: read(top, name) for name in paths_of(edits)})
    for change in changes:
        os.unlink(change.path, dir_fd=top)
    for change in changes:
        file = os.open(change.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=top)
        os.write(file, change.after or b"")
        os.close(file)
    os.close(top)


def read(top: int, name: str) -> bytes:
    file = os.open(name, os.O_RDONLY, dir_fd=top)
    content = os.read(file, os.fstat(file).st_size)
    os.close(file)
    return content


def in_memory(changes: Changes, patch: str) -> None:
    make_changes(find_edits(patch), {change.path: change.before for change in changes})


def without_sync(work: Callable[[], None]) -> None:
    sync, os.fsync = os.fsync, lambda fd: None
    try:
        work()
    finally:
        os.fsync = sync


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds until it was done, and seconds of the processor, its children's too."""
    began, busy = time.perf_counter(), used()
    work()
    return time.perf_counter() - began, used() - busy


def used() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def lay_out(tree: Path, changes: Changes) -> None:
    """The files as they were, on the disk and not on their way there."""
    shutil.rmtree(tree, ignore_errors=True)
    for change in changes:
        path = tree / change.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(change.before or b"")
    os.sync()


def make_patch(files: int, rows: int, hunks: int) -> Changes:
    """Files of made-up code, with some lines of each replaced by one to three others."""
    rng, changes = random.Random(1), []
    step = rows // hunks
    for number in range(files):
        old = [
            f"    value_{number}_{row} = compute({rng.randrange(10**6)})\n" if row % 7 else "\n"
            for row in range(rows)
        ]
        new = list(old)
        for hunk in reversed(range(hunks)):
            at = hunk * step + rng.randrange(4, step - 6)
            new[at : at + 2] = [f"    changed_{hunk} = {rng.random()}\n"] * rng.randrange(1, 4)
        path = f"src/package{number // 20}/module_{number}.py"
        changes.append(Change(path, "".join(old).encode(), "".join(new).encode()))
    return tuple(changes)


if __name__ == "__main__":
    main()
