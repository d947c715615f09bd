"""Kills running tasks at random moments and looks for what they left: `python tests/support/killing.py 1000`.

Each task runs commands in the sandbox that do not want to end (daemons of sessions of their own, children
that hold the pipe, shells that ignore signals), changes files, and applies them. The signal goes to kith, or
to a process below it. Afterwards nothing of it may be alive, mounted or locked, the tree must be wholly old
or wholly new, the log whole, and the session can be gone on with.
"""

import argparse
import asyncio
import collections
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from victims import NEW, OLD, World, make_world, reset, start_task

MOST_S = 60.0  # how long what was killed may take to be gone; the time it really took is reported
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
EXECUTED = 10  # one task in so many starts as a program of its own, the others are forked from this one
AIMED = 0.5  # the share of kills just after a process has begun, while the sandbox is being set up
SETUP_S = 0.03
RESUMED = 10  # one interrupted session in so many is gone on with to its end


@dataclass(slots=True)
class Outcome:
    """What one kill was, how long its processes lived on, and what was wrong afterwards."""

    signal: str
    victim: str
    moment: float
    lived: float
    side: str
    faults: list[str]


def kill_once(world: World, chance: random.Random, longest: float, number: int) -> Outcome:
    """One task, one kill, one look at what is left."""
    reset(world)
    which = chance.choice(SIGNALS)
    pid = start_task(world, (f"task {number}",), execute=number % EXECUTED == EXECUTED - 1)
    moment = chance.uniform(0, longest)
    time.sleep(moment)
    if chance.random() < AIMED:
        wait_for_birth(pid)
        time.sleep(chance.uniform(0, SETUP_S))
    family = {pid, *below(pid)}
    victim = pid if chance.random() < 0.75 else chance.choice(sorted(family))
    name = "kith" if victim == pid else name_of(victim)
    known = {each: started(each) for each in family}
    with suppress(ProcessLookupError):
        os.kill(victim, which if victim == pid else signal.SIGKILL)
    since = time.monotonic()
    faults = list[str]()
    wait_for_exit(pid, known, faults, MOST_S if victim == pid else 60.0)
    if victim != pid:  # only a command was killed: kith went on, and came to its end
        since = time.monotonic()
    lived = wait_until_alone(world, known, since, faults)
    side = look_around(world, faults, spared=victim != pid)
    return Outcome(which.name if victim == pid else "SIGKILL", name, moment, lived, side, faults)


def wait_for_birth(pid: int) -> None:
    """Until another process begins below this one, for a second at most."""
    before, until = set(below(pid)), time.monotonic() + 1.0
    while set(below(pid)) <= before and time.monotonic() < until and started(pid):
        time.sleep(0.0005)


def wait_for_exit(pid: int, known: dict[int, str], faults: list[str], most: float = MOST_S) -> None:
    until = time.monotonic() + most
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        known.update({each: started(each) for each in below(pid)})
        if time.monotonic() > until:
            faults.append("kith did not end")
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return
        time.sleep(0.005)


def wait_until_alone(world: World, known: dict[int, str], since: float, faults: list[str]) -> float:
    """Wait until nothing of the task is alive; returns how long that took, in seconds."""
    while left := alive(world, known):
        if time.monotonic() - since > MOST_S:
            faults.append(f"still alive: {', '.join(f'{pid} {describe(pid)}' for pid in left)}")
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            break
        time.sleep(0.01)
    return time.monotonic() - since


def alive(world: World, known: dict[int, str]) -> list[int]:
    """Processes that the task started, and whatever was called with a path of its world."""
    found = [pid for pid, start in known.items() if start and started(pid) == start]
    base = os.fsencode(world.base)
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if base in Path(entry.path, "cmdline").read_bytes():
                    found.append(int(entry.name))
    return sorted(set(found))


def below(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, task.read_text().split()):
                yield child
                yield from below(child)


def started(pid: int) -> str:
    """When a process started, "" when it is gone or waits to be buried."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    return ""


def name_of(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return "gone"


def describe(pid: int) -> str:
    with suppress(OSError):
        process = Path("/proc", str(pid))
        words = (process / "cmdline").read_bytes().replace(b"\0", b" ")[:60].decode(errors="replace")
        parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
        return f"{words} (waits in {(process / 'wchan').read_text()}, parent {parent})"
    return "gone"


# --- looking around ------------------------------------------------------------------------------


def look_around(world: World, faults: list[str], *, spared: bool) -> str:
    """What the next start finds: says on which side the tree is, and adds to `faults`.

    Where kith was spared and a command of its killed instead, what that should have removed is still there.
    """
    mounts = Path("/proc/self/mountinfo").read_text()
    faults += ["a mount was left"] if str(world.base) in mounts else []
    faults += [f"a temporary file: {path.name}" for path in (world.base / "tmp").iterdir()]
    faults += log_faults(world)
    try:
        asyncio.run(start_again(world))
    except Exception as error:
        faults.append(f"the next start failed: {error!r}")
    trials = world.state / "trials"
    nameless = (
        [path.name for path in trials.iterdir() if path.name.startswith("~")] if trials.is_dir() else []
    )
    faults += [f"a trial was left: {name}" for name in nameless]
    journal = world.state / "journal"
    unfinished = [path.name for path in journal.iterdir() if path.suffix not in (".applied", ".lock")]
    faults += [f"an open record: {name}" for name in unfinished]
    faults += held_locks(world)
    side = side_of(world.root, NEW | {"gone.txt": OLD["gone.txt"]} if spared else NEW)
    faults += [f"half done: {list_files(world.root)}"] if side == "neither" else []
    return side


def log_faults(world: World) -> list[str]:
    if not (world.state / "log.sqlite3").exists():
        return []
    with sqlite3.connect(world.state / "log.sqlite3") as db:
        (words,) = db.execute("PRAGMA integrity_check").fetchone()
    return [] if words == "ok" else [f"the log: {words}"]


async def start_again(world: World) -> None:
    """What every start does: recover, sweep, begin a trial."""
    from kith.trees.local import open_tree

    tree = open_tree(world.root, world.state, world.base / "home" / ".cache" / "kith")
    await tree.recover()
    async with tree.trial() as trial:
        await trial.files()


def held_locks(world: World) -> list[str]:
    import fcntl

    faults = []
    for path in [*(world.state / "locks").glob("*"), *(world.state / "journal").glob("*.lock")]:
        with path.open("r+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                faults.append(f"a lock is held: {path.name}")
    return faults


def side_of(root: Path, new: dict[str, str] = NEW) -> str:
    found = list_files(root)
    return "old" if found == OLD else "new" if found in (NEW, new) else "neither"


def list_files(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(root)): path.read_text() for path in files}


def resume(world: World) -> list[str]:
    """Go on with the session that was interrupted last; says what is wrong with that."""
    from kith.memory.log import Log

    log = Log(world.state / "log.sqlite3")
    try:
        newest = next(iter(log.sessions()), None)
    finally:
        log.close()
    if newest is None or newest.status != "unfinished":
        return []
    faults = list[str]()
    pid = start_task(world, ("--resume", newest.id), execute=False)
    wait_for_exit(pid, {}, faults, 60.0)
    log = Log(world.state / "log.sqlite3")
    ended = log.sessions()[0]
    log.close()
    said = (world.base / "said").read_text()[-1000:]
    return [*faults, *([] if ended.status != "unfinished" else [f"{newest.id} not resumed: {said}"])]


def kill_many(base: Path, count: int, seed: int, say: bool = False) -> list[Outcome]:
    """`count` kills in one world below `base`; the moments are spread over an undisturbed task's time."""
    import kith.terminal.one_task  # noqa: F401  (loaded once, for all that are forked from this process)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may ignore them
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    world, chance = make_world(base), random.Random(seed)
    began = time.monotonic()
    calm = start_task(world, ("undisturbed",), execute=False)
    assert os.waitstatus_to_exitcode(os.waitpid(calm, 0)[1]) == 0, (base / "said").read_text()
    assert side_of(world.root) == "new"
    longest, outcomes = time.monotonic() - began, list[Outcome]()
    for number in range(count):
        outcome = kill_once(world, chance, longest, number)
        if number % RESUMED == 0 and outcome.victim == "kith":
            outcome.faults += resume(world)
        outcomes.append(outcome)
        if say and (outcome.faults or number % 50 == 49):
            print(number, outcome, flush=True)
    return outcomes


def report(outcomes: list[Outcome]) -> str:
    times = sorted(each.lived for each in outcomes)
    kinds = collections.Counter(f"{each.signal} to {each.victim}" for each in outcomes)
    return "\n".join(
        (
            f"{len(outcomes)} kills, {sum(bool(each.faults) for each in outcomes)} with faults",
            f"sides: {dict(collections.Counter(each.side for each in outcomes))}",
            f"kinds: {dict(kinds.most_common())}",
            f"alone after: median {times[len(times) // 2]:.2f} s, "
            f"99 % {times[len(times) * 99 // 100]:.2f} s, at most {times[-1]:.2f} s",
            *(
                f"{each.signal} to {each.victim} at {each.moment:.3f} s: {each.faults}"
                for each in outcomes
                if each.faults
            ),
        )
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kith-killing-") as folder:
        outcomes = kill_many(Path(folder, "world"), chosen.count, chosen.seed, say=True)
    print(report(outcomes))
    return int(any(each.faults for each in outcomes))


if __name__ == "__main__":
    sys.exit(main())
