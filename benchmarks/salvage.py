"""Count the rows of damaged logs that are saved: by kith, by `sqlite3 .recover`, by plain SQLite.

    python benchmarks/salvage.py [--logs 20] [--sessions 40] [--sqlite3 PROGRAM]

`.recover` needs a program that was built with SQLITE_ENABLE_DBPAGE_VTAB; that of Debian 12 was not. Each log
is damaged once in one of seven ways. A row counts when its number and its text are those from before.
"""

import argparse
import random
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from kith.core.events import Notice, RunStarted
from kith.memory.log import Log
from kith.memory.salvage import salvage
from kith.memory.session import Session

PAGE = 4096
Rows = set[tuple[int, str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--logs", type=int, default=20, help="damaged logs for each kind of damage")
    parser.add_argument("--sessions", type=int, default=40)
    parser.add_argument("--sqlite3", default="sqlite3", help="the command-line program to compare with")
    args = parser.parse_args()
    WAYS[".recover"] = partial(with_recover, args.sqlite3)
    chance = random.Random(7)
    with tempfile.TemporaryDirectory(prefix="salvage-") as folder:
        whole = Path(folder, "whole.sqlite3")
        before = write_log(whole, args.sessions)
        print(f"{len(before):,} events, {whole.stat().st_size // PAGE:,} pages, {args.logs} logs of each")
        for kind, harm in HARMS.items():
            print(f"{kind:24}", compare(whole, before, harm, args.logs, chance), flush=True)


def write_log(path: Path, sessions: int) -> Rows:
    """A log as work leaves it: many short events, and some that take several pages."""
    log = Log(path)
    for number in range(sessions):
        with Session(log, f"s{number}") as session:
            session.emit(RunStarted(f"task {number}", "/p", "", "0"))
            for words in range(30):
                session.emit(Notice(f"{number} {words} " + "z" * (300 if words % 10 else 9_000)))
    log.close()
    return read(path)


def read(path: Path) -> Rows:
    """The rows of a log that is well; of one that is not, those that SQLite reads before it gives up."""
    found: Rows = set()
    with closing(sqlite3.connect(path)) as db:
        db.text_factory = lambda data: data.decode("utf-8", "replace")
        with suppress(sqlite3.Error, UnicodeDecodeError):
            for row in db.execute("SELECT seq, body FROM events NOT INDEXED"):
                found.add(row)
    return found


def compare(
    whole: Path, before: Rows, harm: Callable[[bytes, random.Random], bytes], logs: int, chance: random.Random
) -> str:
    """What each way saved of all the logs, in per cent, what it made up, and how long it took."""
    saved, wrong = defaultdict[str, int](int), defaultdict[str, int](int)
    took = defaultdict[str, float](float)
    for number in range(logs):
        damaged = harm(whole.read_bytes(), chance)
        for name, way in WAYS.items():
            folder = whole.parent / f"{name}-{number}"
            folder.mkdir()
            path = folder / "log.sqlite3"
            path.write_bytes(damaged)
            began = time.monotonic()
            rows = way(path)
            took[name] += time.monotonic() - began
            saved[name] += len(rows & before)
            wrong[name] += len(rows - before)
            shutil.rmtree(folder)
    of = logs * len(before)
    return "  ".join(
        f"{name} {100 * saved[name] / of:5.1f} % (+{wrong[name]} wrong, {took[name] / logs:.2f} s)"
        for name in WAYS
    )


def with_kith(path: Path) -> Rows:
    salvage(path)
    return read(path)


def with_recover(program: str, path: Path) -> Rows:
    """The command-line program of SQLite writes all that it finds as SQL."""
    new = path.with_name("recovered.sqlite3")
    dump = subprocess.run([program, str(path), ".recover"], capture_output=True)
    subprocess.run([program, str(new)], input=dump.stdout, capture_output=True)
    return read(new) if new.exists() else set()


def with_vacuum(path: Path) -> Rows:
    new = path.with_name("vacuumed.sqlite3")
    with closing(sqlite3.connect(path)) as db, suppress(sqlite3.Error):
        db.execute("VACUUM INTO ?", (str(new),))
        return read(new)
    return set()


WAYS: dict[str, Callable[[Path], Rows]] = {
    "kith": with_kith,
    "SELECT": read,
    "VACUUM INTO": with_vacuum,
}


def _flip(data: bytes, chance: random.Random, page: int, bytes_: int) -> bytes:
    harmed = bytearray(data)
    for _ in range(bytes_):
        harmed[page * PAGE + chance.randrange(PAGE)] ^= chance.randrange(1, 256)
    return bytes(harmed)


def _overwrite(data: bytes, chance: random.Random, pages: int) -> bytes:
    harmed = bytearray(data)
    for page in chance.sample(range(1, len(data) // PAGE), pages):
        harmed[page * PAGE : (page + 1) * PAGE] = chance.randbytes(PAGE)
    return bytes(harmed)


HARMS: Mapping[str, Callable[[bytes, random.Random], bytes]] = {
    "one page overwritten": lambda data, chance: _overwrite(data, chance, 1),
    "ten pages overwritten": lambda data, chance: _overwrite(data, chance, 10),
    "40 bytes of a page": lambda data, chance: _flip(
        data, chance, chance.randrange(1, len(data) // PAGE), 40
    ),
    "cut in the middle": lambda data, chance: data[: chance.randrange(PAGE, len(data))],
    "40 bytes of the first": lambda data, chance: _flip(data, chance, 0, 40),
    "first page zeroed": lambda data, chance: bytes(PAGE) + data[PAGE:],
    "first 16 bytes lost": lambda data, chance: bytes(16) + data[16:],
}

if __name__ == "__main__":
    main()
