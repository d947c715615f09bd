"""Speed, as ratios against a baseline of the same run: `python benchmarks/bench.py [NAME ...]`.

Absolute times say more about the machine than about kith; each figure is the median of several runs, taken
in turn with its baseline. Nothing here is a test.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from msgspec.structs import replace

RUNS = 9
# Where modules may not be kept compiled, every start would compile all of them: that measures the compiler.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
MANY, FEW = 20_000, 10


def main(names: list[str]) -> int:
    chosen = names or list(BENCHMARKS)
    for name in chosen:
        if name not in BENCHMARKS:
            print(f"There is no benchmark {name!r}; there are: {', '.join(BENCHMARKS)}.", file=sys.stderr)
            return 2
    for name in chosen:
        print(BENCHMARKS[name](), flush=True)
    return 0


def version() -> str:
    """`kith --version` against `python -c pass`; at most 3 times."""
    kith, bare = in_turn(
        lambda: timed([sys.executable, "-m", "kith", "--version"]),
        lambda: timed([sys.executable, "-c", "pass"]),
    )
    times = f"{kith * 1e3:.0f} ms, python -c pass: {bare * 1e3:.0f} ms"
    return f"kith --version: {times}, ratio {kith / bare:.2f} (at most 3)"


def first() -> str:
    """From start to the first request, 20,000 files against 10: at most 1.5 times, 0.5 s beyond Python."""
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder)) as server:
        many, few = make_repository(Path(folder) / "many", MANY), make_repository(Path(folder) / "few", FEW)
        slow, quick = in_turn(lambda: server.first_request(many), lambda: server.first_request(few))
        bare = statistics.median(timed([sys.executable, "-c", "pass"]) for _ in range(RUNS))
    return (
        f"first request: {slow * 1e3:.0f} ms with {MANY:,} files, {quick * 1e3:.0f} ms with {FEW}, "
        f"ratio {slow / quick:.2f} (1.5); beyond Python's start {(slow - bare) * 1e3:.0f} ms (500)"
    )


def trial() -> str:
    """A trial created and left against `git worktree add`, in 20,000 files; at least 20 times faster."""
    with tempfile.TemporaryDirectory() as folder:
        repository = make_repository(Path(folder) / "many", MANY)
        ours, theirs = in_turn(
            lambda: trial_seconds(repository, Path(folder)),
            lambda: worktree_seconds(repository, Path(folder)),
        )
    times = f"{ours * 1e3:.2f} ms, git worktree add: {theirs * 1e3:.0f} ms"
    return f"trial: {times}, {theirs / ours:.0f} times faster (at least 20)"


def gap() -> str:
    """Harness time between a reply and the next request, without tools; at most 10 ms."""
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder)) as server:
        repository = make_repository(Path(folder) / "few", FEW)
        gaps = [seconds for _ in range(3) for seconds in server.gaps(repository)]
    return f"gap between a reply and the next request: {statistics.median(gaps) * 1e3:.1f} ms (10)"


def route() -> str:
    """Choosing among five models after 3,000 outcomes; at most 5 ms."""
    from kith.features.measure.rows import LegRow
    from kith.features.route.beliefs import Arm, Task
    from kith.features.route.choose import choose
    from kith.features.route.estimates import Utility, fold

    arms = [Arm(f"local{size}", parameters=size) for size in (3, 7, 14, 32)] + [
        Arm("frontier", frontier=True)
    ]
    rng, rows = random.Random(0), list[LegRow]()
    for number in range(3_000):
        model, after = rng.choice(arms).name, rng.choice(["", "other"])
        plain = LegRow("", number, number, "", model, "edit-small", after=after)
        rows.append(replace(plain, reward=float(rng.random() < 0.5), usd=0.01, seconds=rng.expovariate(0.05)))
    evidence, utility = fold(rows), Utility(0.2)
    folding = statistics.median(seconds_of(lambda: fold(rows)) for _ in range(RUNS))
    task = Task("edit-small")
    choosing = statistics.median(
        seconds_of(lambda: choose(evidence, task, arms, utility, rng)) for _ in range(20 * RUNS)
    )
    return f"a decision: {choosing * 1e3:.1f} ms (5); folding 3,000 outcomes: {folding * 1e3:.0f} ms"


BENCHMARKS: dict[str, Callable[[], str]] = {
    "version": version,
    "first": first,
    "trial": trial,
    "gap": gap,
    "route": route,
}


def in_turn(one: Callable[[], float], other: Callable[[], float]) -> tuple[float, float]:
    """The medians of two measurements taken in turn, after a warm-up of each."""
    one(), other()
    pairs = [(one(), other()) for _ in range(RUNS)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def timed(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def make_repository(folder: Path, count: int) -> Path:
    """A git repository of `count` small Python modules in folders of fifty."""
    for number in range(count):
        file = folder / f"package{number // 50}" / f"module_{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"def function_{number}(value):\n    return value + {number}\n")
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "files"]):
        subprocess.run(["git", *identity, *words], cwd=folder, check=True)
    return folder


class Server:
    """The stand-in llama-server, which notes when each request arrived and each reply had left."""

    def __init__(self, folder: Path) -> None:
        self.script, self.times = folder / "serve.py", folder / "times.jsonl"
        self.home = folder / "home"
        self.home.mkdir()

    def __enter__(self) -> "Server":
        self.script.write_text(SERVER)
        command = [sys.executable, str(self.script), str(self.times)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.url = self.process.stdout.readline().strip()
        return self

    def __exit__(self, *reason: object) -> None:
        self.process.terminate()
        self.process.wait()

    def run(self, repository: Path, task: str) -> tuple[float, list[list[float]]]:
        """Start kith; returns when it was started and the (arrived, answered) times of its requests."""
        self.times.write_text("")
        environment = os.environ | {"HOME": str(self.home), "OPENAI_BASE_URL": self.url}
        command = [sys.executable, "-m", "kith", "run", "-m", "openai/standin", "--check", "none", task]
        began = time.time()
        subprocess.run(
            command,
            cwd=repository,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
        return began, [json.loads(line) for line in self.times.read_text().splitlines()]

    def first_request(self, repository: Path) -> float:
        began, times = self.run(repository, "what does function_7 in module_7.py return?")
        return times[0][0] - began

    def gaps(self, repository: Path) -> list[float]:
        _, times = self.run(repository, "loop")
        return [after[0] - before[1] for before, after in pairwise(times)]


SERVER = """
import asyncio, json, sys, time
from kith.features.demo.standin import serve

times = open(sys.argv[1], "a")
arrived = []

def reply(request):
    said = sum(message["role"] == "assistant" for message in request.body["messages"])
    looping = "# Task\\nloop" in request.body["messages"][1]["content"]
    if looping and said < 15:
        return {"calls": [{"name": "todo", "args": {"items": [{"text": f"step {said}", "state": "active"}]}}]}
    return {"text": "It adds a number."}

async def main():
    tell = lambda request: arrived.append(time.time())
    async with serve(reply, "llama-server", window=100000, tell=tell) as server:
        print(server.url, flush=True)
        told = 0
        while True:
            await asyncio.sleep(0.001)
            while told < len(arrived):
                print(json.dumps([arrived[told], arrived[told]]), file=times, flush=True)
                told += 1

asyncio.run(main())
"""


def trial_seconds(repository: Path, folder: Path) -> float:
    """Create and leave one trial, in this process."""
    import asyncio

    from kith.trees.local import open_tree

    tree = open_tree(repository, folder / "state", folder / "cache")

    async def once() -> float:
        began = time.perf_counter()
        async with tree.trial():
            pass
        return time.perf_counter() - began

    return asyncio.run(once())


def worktree_seconds(repository: Path, folder: Path) -> float:
    """Create and remove one git worktree."""
    place = str(folder / "worktree")
    began = time.perf_counter()
    subprocess.run(["git", "worktree", "add", "-q", "--detach", place], cwd=repository, check=True)
    took = time.perf_counter() - began
    subprocess.run(["git", "worktree", "remove", "--force", place], cwd=repository, check=True)
    return took


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
