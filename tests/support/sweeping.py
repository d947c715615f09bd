"""Lets every call that touches the disk fail, or be the last, and checks what is left: see `main`.

`faults.c` is loaded before libc, so that the calls of Python, SQLite and ctypes are all met. A nursery
with kith's modules loaded forks one child for each point; the parent looks at what it left behind.
"""

import argparse
import collections
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kith.core.events import Notice
from kith.core.values import EXECUTABLE, Change
from kith.memory.log import Log
from kith.trees.journal import apply_changes, list_applied, recover
from kith.trees.records import find_records, open_journal
from nursery import EVENTS, FATES, ONLY, SETS, build

ACTIONS: Final = ("apply one", "apply mixed", "apply sixty", "undo mixed", "save", "recovery")
Tree = dict[str, tuple[bytes, int]]


@dataclass(slots=True)
class Sweep:
    """How many points of which kind were tried, and what was wrong at which."""

    points: "collections.Counter[str]" = field(default_factory=collections.Counter)
    calls: "collections.Counter[str]" = field(default_factory=collections.Counter)
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class End:
    """How a child ended: its exit code, last words, calls, and which saves it knew to be written."""

    code: int
    words: str
    calls: list[str]
    saved: bytes


Try = Callable[[Path, str, int, str], End]


def open_nursery(library: Path) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(Path(__file__).with_name("nursery.py"))]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def try_point(process: "subprocess.Popen[bytes]", base: Path, action: str, nth: int, fate: str) -> End:
    assert process.stdin and process.stdout
    request = "\0".join((str(base), action, str(nth), fate)).encode()
    process.stdin.write(struct.pack("I", len(request)) + request)
    process.stdin.flush()
    code, size = struct.unpack("iI", process.stdout.read(8))
    saved = process.stdout.read(EVENTS)
    words, _, calls = process.stdout.read(size).decode().partition("\n")
    return End(code, words, calls.split(), saved)


def compile_faults(folder: Path) -> Path | None:
    """The library of `faults.c`; None where there is no compiler or no such system."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not sys.platform.startswith("linux") or not compiler:
        return None
    library = folder / "faults.so"
    source = Path(__file__).with_name("faults.c")
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
    return library if subprocess.run(command, capture_output=True).returncode == 0 else None


def snapshot(root: Path) -> Tree:
    """Files and links with content and mode; folders are git's business, and may stay where none was."""
    found: Tree = {}
    for place, _, names in os.walk(root):
        for path in (Path(place, name) for name in names):
            mode = path.lstat().st_mode
            content = os.fsencode(path.readlink()) if stat.S_ISLNK(mode) else path.read_bytes()
            found[str(path.relative_to(root))] = (content, mode)
    links = [Path(place, name) for place, folders, _ in os.walk(root) for name in folders]
    found |= {str(each.relative_to(root)): (b"", stat.S_IFLNK) for each in links if each.is_symlink()}
    return found


def sides_of(base: Path, which: str) -> tuple[Tree, Tree]:
    """The tree before and after a set of changes."""
    build(base)
    old = snapshot(base / "root")
    apply_changes(base / "root", base / "state", SETS[which])
    return old, snapshot(base / "root")


def check_tree(base: Path, sides: tuple[Tree, Tree], undo: bool, end: End | None = None) -> list[str]:
    """Wholly old or wholly new, nothing left over, the journal agrees, and the next change can be made."""
    root, state, faults = base / "root", base / "state", list[str]()
    recover(root, state)
    now, journal = snapshot(root), open_journal(state)
    if now not in sides:
        return [f"half done: {sorted(path for path, _ in now.items() ^ sides[0].items())}"]
    states = dict(find_records(root, journal))
    faults += [f"an open record: {name}" for name, how in states.items() if how != "applied"]
    wanted = undo + ((now == sides[1]) != undo)
    faults += [f"{len(states)} applied, {wanted} expected"] if len(states) != wanted else []
    strangers = [path.name for path in journal.iterdir() if path.suffix not in (".applied", ".lock")]
    faults += [f"left in the journal: {name}" for name in strangers]
    faults += ["a second recovery had something to do"] if recover(root, state) else []
    if end and end.code == 0 and end.words != "done":
        told = "is applied" in end.words
        faults += (
            [] if now == sides[undo] or told or "half done" in end.words else ["it was refused, and is done"]
        )
        faults += ["it was told to be applied, and is not"] if told and now != sides[not undo] else []
        files = {path for side in sides for path in side}
        known = (str(base), *files, *(path.partition("/")[0] for path in files))
        faults += [] if any(path in end.words for path in known) else [f"no path in {end.words!r}"]
    content = now["untouched"][0]
    again = apply_changes(root, state, (Change("untouched", content, b"again\n", EXECUTABLE, EXECUTABLE),))
    faults += [] if again in list_applied(root, state) else ["kith cannot be used afterwards"]
    return faults


def check_log(base: Path, end: End) -> list[str]:
    """The log is whole, and holds, in order, at least all that was acknowledged."""
    log = Log(base / "state" / "log.sqlite3")
    try:
        ((words,),) = log.query("PRAGMA integrity_check")
        faults = [] if words == "ok" else [f"integrity: {words}"]
        found = [_number(record.event) for record in log.events("swept")]
        answers = {key for (key,) in log.query("SELECT key FROM post")}
        log.append("swept", Notice("afterwards"), ())
    finally:
        log.close()
    faults += ["out of order"] if found != sorted(set(found)) else []
    for number in range(EVENTS):
        if end.saved[number] and number not in found:
            faults.append(f"event {number} was acknowledged, and is lost")
        if end.saved[number] and number % 2 and f"question {number}" not in answers:
            faults.append(f"answer {number} was acknowledged, and is lost")
    return faults


def _number(event: object) -> int:
    words = event.text if isinstance(event, Notice) else getattr(event, "question_id", "")
    return int(words.rpartition(" ")[2])


def sweep(base: Path, process: Any, action: str, fates: Sequence[str], share: slice = slice(None)) -> Sweep:
    """Try every point of an action, or a share of them, with each of the fates."""
    found, which = Sweep(), action.partition(" ")[2]
    sides = sides_of(base / "sides", which or "mixed") if action != "save" else ({}, {})
    build(base / "calm", *([which] if action.startswith("undo") else []))
    calls = try_point(process, base / "calm", action, 0, "").calls
    found.calls.update(calls)
    for nth in range(1, len(calls) + 1)[share]:
        for fate in fates:
            if calls[nth - 1] not in ONLY.get(fate, calls):
                continue
            found.points[f"{action}, {fate}"] += 1
            try:
                wrong = try_once(base / "world", process, action, nth, fate, sides)
            except Exception as error:
                wrong = [repr(error)]
            found.faults += [f"{action}, {fate} at {nth} ({calls[nth - 1]}): {each}" for each in wrong]
    return found


def try_once(
    base: Path, process: Any, action: str, nth: int, fate: str, sides: tuple[Tree, Tree]
) -> list[str]:
    shutil.rmtree(base, ignore_errors=True)
    undo = action.startswith("undo")
    build(base, *([action.partition(" ")[2]] if undo else []))
    end = try_point(process, base, action, nth, fate)
    if end.code not in (0, -signal.SIGKILL):
        return [f"it died: {end.code} {end.words}"]
    return check_log(base, end) if action == "save" else check_tree(base, sides, undo, end)


def sweep_recovery(base: Path, process: Any, first: range, second: range, third: range) -> Sweep:
    """Kill an apply, its recovery, and the recovery of that; the fourth one finds the tree whole."""
    found, sides = Sweep(), sides_of(base / "sides", "mixed")
    world = base / "world"
    for one in first:
        for two in second:
            for three in third:
                shutil.rmtree(world, ignore_errors=True)
                build(world)
                ends = [
                    try_point(process, world, action, nth, fate)
                    for action, nth, fate in (
                        ("apply mixed", one, "KILL"),
                        ("recover", two, "TORN"),
                        ("recover", three, "KILL"),
                    )
                ]
                found.points["recovery, killed at depth 3"] += 1
                wrong = check_tree(world, sides, undo=False)
                found.faults += [f"recovery, {one} {two} {three}: {each}" for each in wrong]
                if ends[2].code == 0:
                    break
            if ends[1].code == 0:
                break
    return found


def sweep_all(base: Path, actions: Sequence[str], start: int, every: int) -> Iterator[tuple[str, Sweep]]:
    """Every action with every fate, at one point in `every`, beginning with number `start`."""
    base.mkdir(exist_ok=True)
    library = compile_faults(base)
    assert library, "there is no compiler for faults.c"
    with open_nursery(library) as process:
        for action in actions:
            here = base / action.replace(" ", "-")
            if action == "recovery":
                first = range(1 + start, 250, 4 * every)
                yield action, sweep_recovery(here, process, first, range(1, 400, 9), range(1, 400, 23))
            else:
                yield action, sweep(here, process, action, tuple(FATES), slice(start, None, every))


def main() -> int:
    """Sweep, and tell of it: `python tests/support/sweeping.py --every 7 --from 3` for one point in seven."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--from", type=int, default=0, dest="start")
    parser.add_argument("--actions", default=",".join(ACTIONS))
    chosen = parser.parse_args()
    points, bad = 0, 0
    with tempfile.TemporaryDirectory(prefix="kith-sweep-", dir=quick_place()) as folder:
        for action, found in sweep_all(
            Path(folder, "sweep"), chosen.actions.split(","), chosen.start, chosen.every
        ):
            print(f"{action}: {found.points.total()} points, {len(found.faults)} faults")
            print("  calls:", dict(found.calls), "\n  points:", dict(found.points))
            print(*(f"  FAULT {each}" for each in found.faults[:30]), sep="\n", flush=True)
            points, bad = points + found.points.total(), bad + len(found.faults)
    print(f"{points} points, {bad} faults")
    return bool(bad)


def quick_place() -> str | None:
    """A folder in memory, where there is one: the same calls, and no disk to wait for."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


if __name__ == "__main__":
    sys.exit(main())
