"""Many sessions at once through `kith serve`: is every event delivered once, how fast, in how much memory?

    python benchmarks/streams.py --seconds 60

Writers in a few processes emit events at a steady pace, one in ten of them stored and the others pieces of
replies; readers in another process follow every session by server-sent events, and one more reader takes
hardly anything from its stream. Stored events must come once each. A piece may be overtaken by the stored
event that ends it: it holds what the pieces said, so that is counted, and is no loss.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from kith.core.events import Delta, Notice, RunStarted
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Session

STORED = 10  # one event in so many is stored
SLOW_S = 1.0  # the slow reader takes so long over a few bytes
_FIRST = re.compile(r"(http://127\.0\.0\.1:(\d+))/\?token=(\S+)")


@dataclass
class Told:
    """What the readers of all sessions heard: latencies in seconds."""

    stored: int = 0
    lost: int = 0
    doubled: int = 0
    pieces: int = 0
    overtaken: int = 0
    latencies: list[float] = field(default_factory=list)


def write(state: Path, root: Path, sessions: Sequence[str], rate: float, seconds: float, late: Any) -> None:
    """Emit `rate` events a second in each of these sessions; tells how long the slowest emit took."""
    log, slowest = Log(state / LOG_FILE), 0.0
    open_ones = [Session(log, id).__enter__() for id in sessions]
    for session in open_ones:
        session.emit(RunStarted("A stream.", str(root), "none", "0"))
    time.sleep(3)  # the readers come
    began, number = time.monotonic(), 0
    while (now := time.monotonic()) - began < seconds:
        number += 1
        for session in open_ones:
            body = json.dumps({"n": number, "t": time.time(), "words": "word " * 8})
            before = time.monotonic()
            session.emit(Notice(body) if number % STORED == 0 else Delta(body))
            slowest = max(slowest, time.monotonic() - before)
        time.sleep(max(0.0, began + number / rate - now))
    for session in open_ones:
        session.emit(Notice(json.dumps({"n": -1, "t": time.time()})))
    time.sleep(2)  # the readers hear of it
    for session in open_ones:
        session.__exit__(None, None, None)
    late.put((slowest, number))


async def read(port: int, token: str, id: str, told: Told) -> None:
    """Follow one session to its last event, and compare what came with what was written."""
    stream, _ = await _open(port, token, id)
    last_stored, last = 0, 0
    async for line in stream:
        if not line.startswith(b"data: "):
            continue
        event = json.loads(line[6:])
        if "words" not in event["event"].get("text", ""):
            if '"n": -1' in event["event"].get("text", ""):
                return
            continue
        body, now = json.loads(event["event"]["text"]), time.time()
        told.latencies.append(now - body["t"])
        if event["kind"] == "Notice":
            told.stored += 1
            told.lost += max(0, (body["n"] - last_stored) // STORED - 1)
            told.doubled += body["n"] <= last_stored
            told.overtaken += body["n"] - last - 1
            last_stored = last = body["n"]
        else:
            told.pieces += 1
            told.overtaken += max(0, body["n"] - last - 1)
            told.doubled += body["n"] <= last
            last = body["n"]


async def dawdle(port: int, token: str, id: str) -> None:
    """A reader that takes a few bytes a second."""
    stream, _ = await _open(port, token, id)
    while await stream.read(64):
        await asyncio.sleep(SLOW_S)


async def _open(port: int, token: str, id: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    head = f"GET /api/sessions/{id}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}"
    writer.write(f"{head}\r\n\r\n".encode())
    await writer.drain()
    status = await reader.readline()
    assert b" 200 " in status, status
    return reader, writer


def read_all(port: int, token: str, sessions: Sequence[str], found: Any) -> None:
    """All readers, in a process of their own."""

    async def all() -> Told:
        told = Told()
        slow = asyncio.ensure_future(dawdle(port, token, sessions[0]))
        await asyncio.gather(*(read(port, token, id, told) for id in sessions))
        slow.cancel()
        return told

    found.put(asdict(asyncio.run(all())))


@contextmanager
def serving(folder: Path) -> Iterator[tuple[int, str, int]]:
    """`kith serve` with a home of its own: its port, its token, its process."""
    root = folder / "project"
    (root / ".git").mkdir(parents=True)
    places = {"HOME": folder, "XDG_STATE_HOME": folder / "state", "XDG_CONFIG_HOME": folder / "config"}
    environ = {**os.environ, **{name: str(place) for name, place in places.items()}}
    command = [sys.executable, "-m", "kith", "serve", "--port", "0"]
    process = subprocess.Popen(command, cwd=root, env=environ, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        first = next(found for line in process.stdout if (found := _FIRST.search(line)))
        yield int(first[2]), first[3], process.pid
    finally:
        process.terminate()
        assert process.wait() == 0, f"the server ended by itself: {process.returncode}"


def memory_of(pid: int) -> float:
    """Resident megabytes of a process."""
    return int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0]) / 1024


def seconds_of(pid: int) -> float:
    """Seconds of CPU that a process has used."""
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """One run, as figures."""
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as (port, token, pid):
        folder, context = Path(name), multiprocessing.get_context("fork")
        state, root = folder / "state" / "kith", folder / "project"
        ids = [f"stream{number}" for number in range(args.sessions)]
        shares = [ids[number :: args.writers] for number in range(args.writers)]
        late, found = context.Queue(), context.Queue()
        writers = [
            context.Process(target=write, args=(state, root, share, args.rate, args.seconds, late))
            for share in shares
        ]
        reader = context.Process(target=read_all, args=(port, token, ids, found))
        for process in writers:
            process.start()
        time.sleep(1)
        reader.start()
        memory, used, began = [memory_of(pid)], seconds_of(pid), time.monotonic()
        while reader.is_alive() and found.empty():
            time.sleep(min(5, args.seconds / 4))
            memory.append(memory_of(pid))
        used, took = seconds_of(pid) - used, time.monotonic() - began
        told = Told(**found.get())
        ends = [late.get() for _ in writers]
        return figures(args, told, memory, used / took, ends)


def figures(
    args: argparse.Namespace, told: Told, memory: list[float], busy: float, ends: list[tuple[float, int]]
) -> dict[str, Any]:
    """What was measured, as it is printed."""
    wanted = sum(number // STORED for _, number in ends) * args.sessions // len(ends)
    cuts = statistics.quantiles(told.latencies, n=100)
    half = len(memory) // 2
    return {
        "sessions": args.sessions,
        "events_per_second": round(len(told.latencies) / args.seconds),
        "stored": {"written": wanted, "read": told.stored, "lost": told.lost, "doubled": told.doubled},
        "pieces": {"read": told.pieces, "overtaken": told.overtaken},
        "ms": {"p50": ms(cuts[49]), "p99": ms(cuts[98]), "max": ms(max(told.latencies))},
        "slowest_emit_ms": ms(max(slowest for slowest, _ in ends)),
        "server_mb": {"first": memory[0], "half": memory[half], "last": memory[-1], "most": max(memory)},
        "server_busy": round(busy, 2),
    }


def ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--rate", type=float, default=50.0, help="events a second in each session")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--writers", type=int, default=4, help="processes that write")
    print(json.dumps(measure(parser.parse_args()), indent=2))


if __name__ == "__main__":
    main()
