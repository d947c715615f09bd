"""A month of abuse: many sessions with kills, full disks, clock jumps and floods; does anything grow or hang?

    python benchmarks/soak.py --sessions 2000
    python benchmarks/soak.py --sessions 100 --seed 7

Two kiths at a time work in one repository, beside a `kith serve` whose pages are streamed 200 times over. The
model is a stand-in. 70 of 100 sessions are a `kith run`; others are in `soaking.py`. Looked at after every
50 sessions: the log, files, locks and trials of kith's state, temporary files, processes left behind, and
memory and open files of the server. It fails (exit code 1) where a session ends in a bug, outlives its last
event by more than 5 s, or where something grows with the sessions that should not.

Full disks need root (a small tmpfs is mounted), clock jumps Debian's package `faketime`; what cannot be done
here is said and left out.
"""

import argparse
import asyncio
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import httpx2
from soaking import CHECK, MODEL, OTHERS, Starved

from kith.features.demo.standin import serve
from kith.features.demo.standin.http import Request
from kith.memory.log import LOG_FILE

LATE_S = 5.0  # a session may take so long from its last event to its end
MARK = "SOAK_OF"  # a variable of every process: its value is the soak's folder
EVERY = 50  # sessions between two looks
STREAMS = 200
STATE_MB = 512  # of the small disk
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
ENDS = {0, 1, 2, 3, 4, 5, 6, 7, 8, 74, 75, 129, 130, 143}
ENDS |= {-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP}  # before kith could hear them
FILES = 20  # of the repository that sessions write, in turn

# How often a fault is chosen, of 100 sessions.
FAULTS = {
    "none": 42,
    "kill": 14,
    "terminate": 8,
    "interrupt": 6,
    "full disk": 5,
    "clock ahead": 4,
    "clock back": 4,
    "flood of output": 4,
    "flood of words": 4,
    "left process": 3,
    "server error": 3,
    "server gone": 3,
}


@dataclass
class Look:
    """What there is after so many sessions; sizes in bytes."""

    sessions: int
    log: int
    state_files: int
    locks: int
    temporary: int
    trials: int
    trials_size: int
    cache: int
    left: int
    memory: int
    descriptors: int


@dataclass
class Soak:
    """One run: where things are, and what went wrong."""

    root: Path
    random: random.Random
    mounted: bool = False
    wrong: list[str] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)
    late: dict[str, list[float]] = field(default_factory=dict)
    looks: list[Look] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def tree(self) -> Path:
        return self.root / "tree"

    @property
    def state(self) -> Path:
        return self.home / ".local/state/kith"

    def environ(self, url: str) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("KITH_", "XDG_"))}
        return {
            **kept,
            "HOME": str(self.home),
            "TMPDIR": str(self.root / "tmp"),
            "OLLAMA_HOST": url,
            "KITH_RETRIES": "1",
            MARK: str(self.root),
        }

    def note(self, number: int, how: str, code: int, late: float, said: str) -> None:
        """How a session ended, and what was wrong with that."""
        name = f"session {number} ({how})"
        self.late.setdefault(how, []).append(late)
        self.ends[f"{how}: {code}"] += 1
        if late > LATE_S:
            self.wrong.append(f"{name} outlived its last event by {late:.1f} s")
        # Python itself was still starting: nothing of kith can hear the signal then.
        early = said.rstrip().endswith("KeyboardInterrupt") and "/kith/cli.py" not in said
        if (code not in ENDS or "Traceback" in said or "A bug in kith" in said) and not early:
            self.wrong.append(f"{name} ended with {code}: {said[-1500:]}")


def scripted(request: Request) -> dict[str, Any]:
    """The model: what the task's words ask for, then the end of the task."""
    messages = request.body["messages"]
    words = " ".join(str(each["content"]) for each in messages if each["role"] == "user")
    asked = re.findall(r"# soak ([a-z ]+) # (\d+)", words)
    if not asked:  # a title, say
        return {"text": "Nothing."}
    fault, number = asked[-1]
    if messages[-1]["role"] == "tool":
        if fault == "flood of words":
            return {"text": " ".join(f"word{n}" for n in range(4_000))}
        return {"text": f"Done with {number}."}
    if fault == "server error":
        return {"error": {"status": 500, "text": "the soak wants it so"}}
    path = "watched.py" if fault == "watch" else f"file{int(number) % FILES}.txt"
    content = f"N = {number}\n" if fault == "watch" else f"{number} {random.random()}\n"
    calls = [{"name": "write", "args": {"path": path, "content": content}}]
    if fault == "flood of output":
        calls.insert(0, {"name": "run", "args": {"command": "seq 1 300000"}})
    if fault == "left process":
        calls.insert(
            0, {"name": "run", "args": {"command": "(sleep 8640 &) ; setsid sleep 8640 & echo left"}}
        )
    return {"calls": calls, "delay": 0.05}


async def play(soak: Soak, url: str) -> None:
    """One session: a task of `kith run` with its fault, or another way into kith."""
    number = next(soak.numbers)
    others = [share for _, share in OTHERS.values()]
    way = soak.random.choices(["run", *OTHERS], [100 - sum(others), *others])[0]
    if way == "run":
        await run_task(soak, url, number)
        return
    do, chance = OTHERS[way][0], random.Random(soak.random.random())
    ended = await do(soak.tree, soak.environ(url), f"do it # soak {way} # {number}", chance)
    soak.note(number, way, ended.code, ended.late, ended.said)
    if ended.trouble:
        soak.wrong.append(f"session {number} ({way}) {ended.trouble}: {ended.said[-400:]}")


async def run_task(soak: Soak, url: str, number: int) -> None:
    """One `kith run`, with whatever fault falls to it."""
    fault = soak.random.choices([*FAULTS], [*FAULTS.values()])[0]
    environ = soak.environ("http://127.0.0.1:9" if fault == "server gone" else url)
    if fault.startswith("clock"):
        if not FAKETIME.exists():
            fault = "none"
        else:
            ahead = soak.random.uniform(0.1, 60)
            shift = f"{'+' if fault == 'clock ahead' else '-'}{ahead:.1f}d"
            environ |= {"LD_PRELOAD": str(FAKETIME), "FAKETIME": shift, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    if fault == "full disk" and not soak.mounted:
        fault = "none"
    ballast = soak.state / "ballast"
    if fault == "full disk":
        with suppress(OSError), ballast.open("wb") as file:
            while True:
                file.write(bytes(1 << 20))
    words = ("run", "--yes", *MODEL, *CHECK, "--output-format", "stream-json")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kith", *words, f"do it # soak {fault} # {number}"),
        cwd=soak.tree,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        limit=1 << 24,
    )
    starved = Starved(process.pid)
    sent = {"kill": signal.SIGKILL, "terminate": signal.SIGTERM, "interrupt": signal.SIGINT}.get(fault)
    stopping = asyncio.ensure_future(stop(process, sent, soak.random.uniform(0.1, 1.5)))
    try:
        async with asyncio.timeout(120):
            (last, told), errors = await asyncio.gather(listen(process, starved), process.stderr.read())  # type: ignore[union-attr]
            await starved.wait(process, 60.0)
            code = await process.wait()
    except TimeoutError:
        os.killpg(process.pid, signal.SIGKILL)
        soak.wrong.append(f"session {number} ({fault}) did not end within 120 s")
        return
    finally:
        stopping.cancel()
        ballast.unlink(missing_ok=True)
    late = max(time.monotonic() - last - starved.seconds, 0.0) if told else 0.0
    soak.note(number, fault, code, late, errors.decode("utf-8", "replace"))


async def listen(process: asyncio.subprocess.Process, starved: Starved) -> tuple[float, bool]:
    """When the last event came, and whether there was any."""
    last, told = time.monotonic(), False
    assert process.stdout
    async for _ in process.stdout:
        last, told = time.monotonic(), True
        if last - starved.since > 0.1:  # a flood of events is not looked after one by one
            starved.begin()
    return last, told


async def stop(process: asyncio.subprocess.Process, sent: int | None, after_s: float) -> None:
    if sent is None:
        return
    await asyncio.sleep(after_s)
    with suppress(ProcessLookupError):
        process.send_signal(sent)


# --- what there is ---------------------------------------------------------------------------


def look(soak: Soak, sessions: int, server: int, url: str) -> Look:
    """Look at what is there after one more start, which tidies up as each does."""
    task = ("run", "--yes", *MODEL, *CHECK, f"do it # soak none # {sessions}")
    command = [sys.executable, "-m", "kith", *task]
    subprocess.run(command, cwd=soak.tree, env=soak.environ(url), capture_output=True, check=False)
    log = sum(path.stat().st_size for path in soak.state.glob(f"{LOG_FILE}*") if path.is_file())
    files = sum(1 for path in soak.state.rglob("*") if path.is_file())
    cache = sum(path.stat().st_size for path in (soak.home / ".cache").rglob("*") if path.is_file())
    trials = soak.state / "trials"
    kept = len([*trials.iterdir()]) if trials.is_dir() else 0
    changes = sum(path.lstat().st_size for path in trials.rglob("*"))
    locks = sum(len([*(soak.state / name).glob("*.lock")]) for name in ("locks", "workers"))
    temporary = len([*(soak.root / "tmp").iterdir()]) + len([*soak.tree.rglob("*.kith-tmp*")])
    memory = next(
        int(line.split()[1]) << 10
        for line in Path(f"/proc/{server}/status").read_text().splitlines()
        if line.startswith("VmRSS")
    )
    descriptors = len([*Path(f"/proc/{server}/fd").iterdir()])
    left = len(left_behind(soak, server))
    return Look(sessions, log, files, locks, temporary, kept, changes, cache, left, memory, descriptors)


def left_behind(soak: Soak, server: int) -> list[int]:
    """Processes of this soak that still run, but for the server."""
    found, mark = [], f"{MARK}={soak.root}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) not in (server, os.getpid()):
            with suppress(OSError):
                if mark in (entry / "environ").read_bytes() or (
                    b"sleep\x008640" in (entry / "cmdline").read_bytes()
                ):
                    found.append(int(entry.name))
    return found


@asynccontextmanager
async def serving(soak: Soak, url: str) -> AsyncIterator[tuple[int, httpx2.AsyncClient]]:
    """`kith serve` for the repository; its process, and a client that it lets in."""
    environ = soak.environ(url)
    environ.pop(MARK)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kith", "serve", "--port", "0"),
        cwd=soak.tree,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout
    address = ""
    while "token=" not in address:
        address = (await process.stdout.readline()).decode()
    address = next(word for word in address.split() if "token=" in word)
    base, _, token = address.partition("/?token=")
    headers = {"Authorization": f"Bearer {token}"}
    limits = httpx2.Limits(max_connections=2 * STREAMS)
    async with httpx2.AsyncClient(base_url=base, headers=headers, timeout=30, limits=limits) as client:
        try:
            yield process.pid, client
        finally:
            began = time.monotonic()
            process.terminate()
            await process.wait()
            if (took := time.monotonic() - began) > LATE_S:
                soak.wrong.append(f"kith serve took {took:.1f} s to end")


async def stream(soak: Soak, client: httpx2.AsyncClient) -> None:
    """Many open streams of one session at once, all let go of again."""
    listed = (await client.get("/api/sessions")).json()["sessions"]
    if not listed:
        return
    path = f"/api/sessions/{listed[0]['id']}/events"

    async def read() -> bool:
        async with client.stream("GET", path, headers={"Accept": "text/event-stream"}) as answer:
            async for _ in answer.aiter_bytes():
                return answer.status_code == 200
        return False

    answered = await asyncio.gather(*(read() for _ in range(STREAMS)), return_exceptions=True)
    if (good := sum(each is True for each in answered)) < STREAMS:
        soak.wrong.append(f"only {good} of {STREAMS} streams were answered: {answered[0]!r:.200}")


def judge(soak: Soak) -> None:
    """Compare the last looks with those after a quarter of the way: what should be flat is."""
    last = soak.looks[-1]
    for number, what in (
        (last.left, "processes"),
        (last.locks, "locks"),
        (last.temporary, "temporary files"),
    ):
        if number:
            soak.wrong.append(f"{number} {what} were left behind")
    if len(soak.looks) < 8:
        return
    quarter = len(soak.looks) // 4
    early, late = soak.looks[quarter : 2 * quarter], soak.looks[-quarter:]

    def mid(looks: list[Look], name: str) -> float:
        return median(getattr(each, name) for each in looks)

    for name, most in (("memory", 1.15), ("descriptors", 1.2)):
        before, after = mid(early, name), mid(late, name)
        if after > most * before:
            soak.wrong.append(f"{name} grew from {before:,.0f} to {after:,.0f}")
    # The log keeps every session, and the cache what is measured of each.
    for name in ("log", "cache"):
        rates = [
            (getattr(b, name) - getattr(a, name)) / (b.sessions - a.sessions)
            for a, b in ((early[0], early[-1]), (late[0], late[-1]))
        ]
        if rates[1] > 1.5 * max(rates[0], 1.0):
            soak.wrong.append(f"a session adds {rates[1]:,.0f} bytes to the {name}, before {rates[0]:,.0f}")


def show(looks: list[Look]) -> None:
    """A row for each look; sizes and the server's memory in MB."""
    sizes = {"log", "trials_size", "cache", "memory"}
    print(" ".join(f"{name.replace('_', ' '):>11}" for name in Look.__dataclass_fields__))
    for each in looks:
        found = asdict(each).items()
        cells = (f"{value / 1e6:,.1f} MB" if name in sizes else f"{value}" for name, value in found)
        print(" ".join(f"{cell:>11}" for cell in cells))


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sessions", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=2, help="kiths at a time, all in one repository")
    given = parser.parse_args()
    # What starts this in the background, or `nohup`, has signals ignored; each session has to hear them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, lambda *_: None)
    soak = Soak(Path(tempfile.mkdtemp(prefix="kith-soak-")), random.Random(given.seed))
    prepare(soak)
    began = time.monotonic()
    try:
        async with (
            serve(scripted, "ollama", window=32_768) as model,
            serving(soak, model.url) as (server, client),
        ):
            for done in range(0, given.sessions, EVERY):
                waiting = iter(range(min(EVERY, given.sessions - done)))

                async def work(waiting: Iterator[int] = waiting, url: str = model.url) -> None:
                    for _ in waiting:
                        await play(soak, url)

                await asyncio.gather(*(work() for _ in range(given.at_once)))
                await stream(soak, client)
                await asyncio.sleep(1.0)  # what was killed has a moment to go
                soak.looks.append(await asyncio.to_thread(look, soak, done + EVERY, server, model.url))
                show(soak.looks[-1:])
                for line in soak.wrong:
                    print(f"WRONG: {line}", flush=True)
    finally:
        if soak.mounted:
            subprocess.run(["umount", "-l", str(soak.state)], check=False)
        shutil.rmtree(soak.root, ignore_errors=True)
    judge(soak)
    print(f"\n{given.sessions} sessions in {(time.monotonic() - began) / 60:.0f} min")
    show(soak.looks)
    for name, late in sorted(soak.late.items()):
        print(f"from the last event to the end, {name}: median {median(late):.2f} s, most {max(late):.2f} s")
    for name, number in sorted(soak.ends.items()):
        print(f"{number:6}  {name}")
    for line in soak.wrong:
        print(f"WRONG: {line}")
    return 1 if soak.wrong else 0


def prepare(soak: Soak) -> None:
    soak.state.mkdir(parents=True)
    if os.geteuid() == 0:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={STATE_MB}m", "tmpfs", str(soak.state)]
        soak.mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    if not soak.mounted:
        print("Full disks are left out: a small disk cannot be mounted here.")
    if not FAKETIME.exists():
        print("Clock jumps are left out: Debian's package `faketime` is not installed.")
    (soak.root / "tmp").mkdir()
    soak.tree.mkdir()
    (soak.tree / "watched.py").write_text("N = 0\n")
    for number in range(FILES):
        (soak.tree / f"file{number}.txt").write_text("0\n")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "Begin")):
        identity = ("-c", "user.name=soak", "-c", "user.email=soak@example.org")
        subprocess.run(("git", *identity, *words), cwd=soak.tree, check=True)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
