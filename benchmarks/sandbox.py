"""What the sandbox costs: a command in a trial against the same one run plainly, turn by turn.

    python benchmarks/sandbox.py [--rounds 200]

The bar, on a quiet machine with two cores: 15 ms more in the median, 30 ms more at the 95th percentile.
"""

import argparse
import asyncio
import os
import resource
import statistics
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from kith.core.workspace import ShellCommand
from kith.trees.local import open_tree

LINE = "true"
Times = list[tuple[float, float]]  # wall and CPU, in milliseconds


async def run_plainly() -> None:
    """As any program would: one process, its output read to the end."""
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", LINE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    await process.communicate()


async def measure(rounds: int, folder: Path) -> dict[str, Times]:
    root = folder / "tree"
    root.mkdir()
    tree = open_tree(root, folder / "state", folder / "cache", sandbox="require")
    async with tree.trial() as trial:

        async def run_in_trial() -> None:
            await trial.exec(ShellCommand(LINE))

        kinds: dict[str, Callable[[], Awaitable[None]]] = {"plain": run_plainly, "in a trial": run_in_trial}
        times: dict[str, Times] = {name: [] for name in kinds}
        for number in range(rounds + 5):
            for name, run in kinds.items():
                began, used = time.perf_counter(), cpu_seconds()
                await run()
                if number >= 5:  # the first ones find out what is remembered later
                    wall = time.perf_counter() - began
                    times[name].append((wall * 1000, (cpu_seconds() - used) * 1000))
        return times


def cpu_seconds() -> float:
    """Of this process and of those that it has waited for."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    with TemporaryDirectory() as folder:
        times = asyncio.run(measure(rounds, Path(folder)))
    print(f"{rounds} rounds, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'ms':<12}{'median':>9}{'p95':>9}{'least':>9}{'CPU':>9}")
    for name, rows in times.items():
        walls, cpu = [wall for wall, _ in rows], statistics.median(used for _, used in rows)
        print(f"{name:<12}{statistics.median(walls):9.1f}{percentile(walls):9.1f}{min(walls):9.1f}{cpu:9.1f}")
    more = [boxed[0] - plain[0] for plain, boxed in zip(times["plain"], times["in a trial"], strict=True)]
    print(f"{'difference':<12}{statistics.median(more):9.1f}{percentile(more):9.1f}{min(more):9.1f}")


def percentile(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1] if len(values) > 1 else values[0]


if __name__ == "__main__":
    main()
