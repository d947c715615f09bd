"""Compare learned caps of steps and of tokens with the plain cascade, on published runs of real models.

    python benchmarks/early_stopping.py STREAMS_DIR

Each task goes to a first model, then, if that did not solve it, to a second one. Steps and money of each run
are those of the tables (SWE-bench Verified, mini-swe-agent: `calls` and `cost`); hidden tests judge. The
tables hold no tokens: a run's money is its tokens, weighted by the list prices of reading and writing, so it
stands for the weighted tokens that kith counts.
Assumptions: a run that a cap of steps stops has cost as much of its money as of its steps, one that a cap of
tokens stops has cost that many; what it left is of no use to the second model. kith sees only what it let
happen: of a run that it stopped, not how it would have ended.
"""

import argparse
import gzip
import json
import random
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from kith.features.route.effort_caps import EffortRange, PastRun, Stakes

FIRST = (
    *("Devstral small", "Devstral", "GLM-4.6", "GPT-5 mini", "gpt-oss-120b", "Qwen2.5-Coder 32B Instruct"),
    *("Qwen3-Coder 480B/A35B Instruct", "Llama 4 Maverick Instruct"),
)
SECOND = ("Claude 4.5 Sonnet", "Claude 4.5 Opus medium")
UNCAPPED = 0.1  # as in kith
PART = 0.8  # of the tasks, in each run
EVERY = 5  # tasks, after which the cap is learned anew

Task = tuple[dict[str, Any], dict[str, Any]]
Effort = Literal["calls", "cost"]  # steps, or weighted tokens


class Result(NamedTuple):
    """Worth in points of a hundred tasks without and with a cap; shares of runs cut, and of cut solutions."""

    plain: float
    capped: float
    cut: float
    lost: float


def play(tasks: Sequence[Task], price: float, seed: int, by: Effort) -> Result:
    """One run over a part of the tasks, in another order for each seed."""
    rng = random.Random(seed)
    drawn = rng.sample(tasks, int(PART * len(tasks)))
    unit = statistics.fmean(second["cost"] for _, second in drawn)
    runs: list[PastRun] = []
    plain = capped = steps = cap = 0.0
    cuts = lost = 0
    spent, after, helped = [0.0], [1.0], [0.5]
    for number, (first, second) in enumerate(drawn):
        solved, effort = first["q"] > 0.5, first[by]
        cost, dear = price * first["cost"] / unit, price * second["cost"] / unit
        handed = float(second["q"] > 0.5) - dear
        whole = (1.0 if solved else handed) - cost
        plain += whole
        if number % EVERY == 0:
            gain = 1 - statistics.fmean(helped) + statistics.fmean(after)
            taken = sum(run.effort for run in runs) or 1.0
            known = EffortRange(tuple(sorted(runs)), taken / (steps or 1.0))
            cap = known.cap(Stakes(gain, sum(spent) / taken), rng)
        if cap and effort > cap and rng.random() >= UNCAPPED:
            part = cap / effort
            capped += handed - cost * part
            runs.append(PastRun(cap, cut=True))
            spent.append(cost * part)
            steps += first["calls"] * part
            cuts, lost = cuts + 1, lost + solved
            continue
        capped += whole
        runs.append(PastRun(effort, solved))
        spent.append(cost)
        steps += first["calls"]
        if not solved:
            after.append(dear)
            helped.append(float(second["q"] > 0.5))
    count = len(drawn)
    return Result(100 * plain / count, 100 * capped / count, cuts / count, lost / count)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("streams", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--price", type=float, default=0.2, help="of a mean run of the second model")
    options = parser.parse_args()
    with gzip.open(options.streams / "swebv_mini.jsonl.gz", "rt", encoding="utf-8") as file:
        outcomes = [json.loads(line)["outcomes"] for line in file]
    print("| first model | second model | cascade | cap of steps | cut | lost | cap of tokens | cut | lost |")
    print("|---|---|---|---|---|---|---|---|---|")
    gains: dict[Effort, list[float]] = {"calls": [], "cost": []}
    for first in FIRST:
        for second in SECOND:
            pairs = [(each[first], each[second]) for each in outcomes if first in each and second in each]
            tasks = [
                pair
                for pair in pairs
                if pair[0].get("calls") and None not in (pair[0]["cost"], pair[1]["cost"])
            ]
            cells = [first, second]
            for by, found in gains.items():
                played = [play(tasks, options.price, seed, by) for seed in range(options.seeds)]
                plain, capped, cut, lost = (statistics.fmean(column) for column in zip(*played, strict=True))
                found.append(capped - plain)
                cells += [] if len(cells) > 2 else [f"{plain:.1f}"]
                cells += [f"{capped - plain:+.2f}", f"{cut:.0%}", f"{lost:.1%}"]
            print(f"| {' | '.join(cells)} |", flush=True)
    for by, found in gains.items():
        print(f"{by}: mean {statistics.fmean(found):+.2f}, lowest {min(found):+.2f}")


if __name__ == "__main__":
    main()
