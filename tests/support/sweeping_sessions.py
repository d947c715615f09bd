"""Repeats a whole `kith run` with one call to the disk failing, and checks what is left: see `main`.

The process loads `faults.c` before libc, and forks a kith for each point with its modules loaded already.
The tree is then wholly old or wholly new, kith says one sentence, and what follows works: `kith sessions`,
`kith run --resume`, `kith undo`.
"""

import argparse
import collections
import ctypes
import importlib
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from killing import list_files, log_faults, side_of
from nursery import FATES
from sweeping import compile_faults, quick_place
from victims import NEW, OLD, World, become_kith, make_world

# What can fail how.
SORTS: Final = {
    "write": ("ENOSPC", "EIO", "ENOSPC for good"),
    "pwrite": ("ENOSPC", "EIO", "ENOSPC for good"),
    "create": ("ENOSPC", "EMFILE", "EACCES", "EROFS for good"),
    "open": ("EMFILE", "EIO"),
    "rename": ("ENOSPC", "EIO"),
    "renameat": ("ENOSPC", "EIO"),
    "renameat2": ("EIO",),
    "fsync": ("EIO", "EIO for good"),
    "fdatasync": ("EIO", "EIO for good"),
    "mkdir": ("ENOSPC", "EROFS for good"),
    "mkdirat": ("ENOSPC",),
    "ftruncate": ("EIO",),
    "ftruncate64": ("EIO",),
    "unlink": ("EIO", "EACCES"),
    "unlinkat": ("EIO", "EACCES"),
    "rmdir": ("EIO",),
}
CODES: Final = {0, 1, 5, 6, 8, 74, 75}  # of docs/using.md: done, failed, and what a disk can cause
CHECK: Final = "test -f added/three.txt"


@dataclass(frozen=True, slots=True)
class Point:
    """The `nth` call of a sort fails in this way."""

    sort: str
    nth: int
    fate: str

    def __str__(self) -> str:
        return f"{self.sort} {self.nth}, {self.fate}"


@dataclass(frozen=True, slots=True)
class End:
    """How a kith ended, and what it said on both streams."""

    code: int
    said: str


@dataclass(slots=True)
class Sweep:
    """How many points were tried, how kith ended there, and what was wrong at which."""

    ends: "collections.Counter[int]" = field(default_factory=collections.Counter)
    faults: list[str] = field(default_factory=list)


class Worlds:
    """Fresh worlds below `base`, all alike: a repository and a scripted model that changes it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.pattern = make_world(base / "pattern")
        writes = [{"name": "write", "args": {"path": name, "content": text}} for name, text in NEW.items()]
        remove = {"name": "bash", "args": {"command": "rm gone.txt"}}
        done = {"calls": [{"name": "done", "args": {"summary": "done"}}]}
        script = [{"calls": writes[:1]}, {"calls": [*writes[1:], remove]}, done, done, done]
        self.pattern.script.write_text(json.dumps(script))

    def fresh(self) -> World:
        world = World(self.base / "world")
        shutil.rmtree(world.base, ignore_errors=True)
        shutil.copytree(self.pattern.base, world.base)
        return world


def run_kith(world: World, *arguments: str, point: Point | None = None) -> End:
    """A kith in the world; every call that touches the disk is told of in the file `calls`."""
    said = world.base / "said"
    said.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        faults = ctypes.CDLL(None)
        with suppress(BaseException):
            become_kith(world, list(arguments), lambda: _arm(faults, point), lambda: _note(faults, world))
        os._exit(99)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return End(code, said.read_text(errors="replace") if said.exists() else "")


def _arm(faults: ctypes.CDLL, point: Point | None) -> None:
    what, lasting = FATES[point.fate] if point else (0, 0)
    faults.faults_count((point.sort if point else "").encode())
    faults.faults_arm(ctypes.c_long(point.nth if point else 0), what, lasting)


def _note(faults: ctypes.CDLL, world: World) -> None:
    faults.faults_disarm.restype = ctypes.c_char_p
    (world.base / "calls").write_bytes(faults.faults_disarm())
    (world.base / "modules").write_text(json.dumps([*sys.modules]))


def start(world: World, *words: str, point: Point | None = None) -> End:
    arguments = ("run", "--yes", "-m", f"replay/{world.script}", "--check", CHECK, *words)
    return run_kith(world, *arguments, point=point)


def calm(worlds: Worlds) -> "collections.Counter[str]":
    """The calls of an undisturbed task, by sort; its modules stay loaded for the others."""
    world = worlds.fresh()
    end = start(world, "undisturbed")
    assert end.code == 0 and side_of(world.root) == "new", end.said
    for name in json.loads((world.base / "modules").read_text()):
        with suppress(ImportError):
            importlib.import_module(name)
    world = worlds.fresh()
    assert start(world, "undisturbed").code == 0
    return collections.Counter((world.base / "calls").read_text().split())


def points_of(calls: "collections.Counter[str]") -> Iterator[Point]:
    for sort, fates in SORTS.items():
        for nth in range(1, calls[sort] + 1):
            yield from (Point(sort, nth, fate) for fate in fates)


def check(world: World, end: End) -> list[str]:
    """What is wrong after a task that met its fate; the person goes on as they would."""
    faults = _wrong_words(end, "the task")
    faults += [] if end.code in CODES else [f"exit code {end.code}"]
    side = side_of(world.root)
    # Where a tool failed the model heard of it: less was changed then, and all of that is applied.
    if end.code in (0, 74) and side == "neither" and is_each_whole(world):
        side = "new"
    # On a disk that does nothing more, kith's own temporary file stays until the next start: looked at below.
    if end.code == 1 and side == "neither" and is_old_but_for_temporaries(world):
        side = "old"
    wanted = {0: ("new",), 74: ("new",), 8: ("old", "new", "neither")}.get(end.code, ("old",))
    faults += [] if side in wanted else [f"exit code {end.code}, and the tree is {side}"]
    faults += [] if end.code == 0 or end.said.strip() else ["it failed without a word"]
    faults += log_faults(world)
    listed = run_kith(world, "sessions", "--json")
    faults += _wrong_words(listed, "kith sessions")
    faults += [] if listed.code == 0 else [f"kith sessions: {listed.code} {listed.said}"]
    faults += _go_on(world, end, _newest(listed))
    faults += [f"a temporary file: {path.name}" for path in (world.base / "tmp").iterdir()]
    journal = world.state / "journal"
    faults += [
        f"journal: {each.name}" for each in journal.iterdir() if each.suffix not in (".applied", ".lock")
    ]
    trials = world.state / "trials"
    left = [each.name for each in trials.iterdir() if each.name.startswith("~")] if trials.is_dir() else []
    return [*faults, *(f"a trial was left: {name}" for name in left)]


def is_each_whole(world: World) -> bool:
    """True if every file is as before the change or as after it."""
    found = list_files(world.root)
    return all(found.get(path) in (OLD.get(path), NEW.get(path)) for path in {*found, *OLD, *NEW})


def is_old_but_for_temporaries(world: World) -> bool:
    """True if every file is as before the change, and all others are temporary files of kith's."""
    found = list_files(world.root)
    return {path: text for path, text in found.items() if ".kith-tmp" not in path} == OLD


def _newest(listed: End) -> tuple[str, str]:
    """The id and the status of the newest session; empty where there is none."""
    with suppress(ValueError):
        for each in json.loads(listed.said):
            return each["id"], each["status"]
    return "", ""


def _go_on(world: World, end: End, newest: tuple[str, str]) -> list[str]:
    """Resume what was cut off, or do the task once more; then undo it."""
    session, status = newest
    faults = list[str]()
    if end.code == 8:
        undone = run_kith(world, "undo")
        faults += [] if undone.code == 0 else [f"kith undo of what is half done: {undone.code} {undone.said}"]
        faults += [] if side_of(world.root) == "old" else ["kith undo left it half done"]
    if end.code not in (0, 74):
        # What was rolled back may count as edited since: the session's trial is refused then, and says so.
        resumes = status == "unfinished" and end.code != 8
        words = ("--resume", session) if resumes else ("once more",)
        again = start(world, *words)
        faults += _wrong_words(again, " ".join(words))
        faults += [] if again.code == 0 else [f"{words[0]}: {again.code} {again.said}"]
        faults += [] if side_of(world.root) == "new" else [f"{words[0]}: the tree is {side_of(world.root)}"]
    undone = run_kith(world, "undo")
    faults += _wrong_words(undone, "kith undo")
    faults += [] if undone.code == 0 else [f"kith undo: {undone.code} {undone.said}"]
    return [*faults, *([] if side_of(world.root) == "old" else [f"after kith undo: {side_of(world.root)}"])]


def _wrong_words(end: End, what: str) -> list[str]:
    bad = [each for each in ("Traceback", "A bug in kith", "Exception ignored") if each in end.said]
    return [f"{what}: {end.said[-1500:]}"] if bad else []


def sweep(worlds: Worlds, points: list[Point], seconds: float = float("inf")) -> Sweep:
    """Try the points one by one, and begin none after so many seconds."""
    found, began = Sweep(), time.monotonic()
    for point in points:
        if time.monotonic() - began > seconds:
            break
        world = worlds.fresh()
        try:
            end = start(world, "the task", point=point)
            found.ends[end.code] += 1
            wrong = check(world, end)
        except Exception as error:
            wrong = [repr(error)]
        found.faults += [f"{point}: {each}" for each in wrong]
    return found


def main() -> int:
    """Sweep, and tell of it: `python tests/support/sweeping_sessions.py --every 7` for one in seven."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--from", type=int, default=0, dest="start")
    parser.add_argument("--most", type=int, default=1 << 30, help="points, spread over all")
    parser.add_argument("--sorts", default=",".join(SORTS))
    parser.add_argument("--seed", type=int, help="try the points in a random order")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no point after these")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kith-sweep-", dir=quick_place()) as folder:
        if "faults.so" not in os.environ.get("LD_PRELOAD", ""):
            return _start_with_faults(Path(folder))
        worlds = Worlds(Path(folder))
        calls = calm(worlds)
        points = [each for each in points_of(calls) if each.sort in chosen.sorts.split(",")]
        every = max(chosen.every, -(-len(points) // chosen.most))
        wanted = points[chosen.start % every :: every]
        if chosen.seed is not None:
            wanted = random.Random(chosen.seed).sample(wanted, len(wanted))
        found = sweep(worlds, wanted, 60 * chosen.minutes)
    print(f"{len(points)} points of {calls.total()} calls:", dict(calls))
    print(f"{found.ends.total()} tried, {len(found.faults)} faults; exit codes: {dict(found.ends)}")
    print(*(f"FAULT {each}" for each in found.faults), sep="\n")
    return bool(found.faults)


def _start_with_faults(folder: Path) -> int:
    """The same once more, with the library loaded before libc."""
    library = compile_faults(folder)
    if not library:
        print("there is no C compiler")
        return 77
    environment = {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": os.pathsep.join(sys.path)}
    return os.spawnve(os.P_WAIT, sys.executable, [sys.executable, *sys.argv], environment)


if __name__ == "__main__":
    sys.exit(main())
