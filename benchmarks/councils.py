"""Whether councils pay, on recorded answers: `python benchmarks/councils.py STREAMS_DIR [--sweep]`.

STREAMS_DIR holds NAME.jsonl.gz with, for each task, how often each model solved it. Who is right, and who is
wrong together with whom, is drawn from that; critics, checks and revisions are chances given as
options. What decides is kith.features.confer.council_rules, the code of the product. Nothing here is a test.
"""

import argparse
import gzip
import json
import statistics
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from council_arms import Arm, Tally, World, arms_of, arms_without_tests, draw

# A local model and a strong one, then two strong ones of different families.
PAIRS = {
    "cruxeval_o": (
        ("deepseek-instruct-33b", "gpt-4o+cot"),
        ("claude-3-opus-20240229+cot", "gpt-4-turbo-2024-04-09+cot"),
    ),
    "lcb400": (("DSCoder-33b-Ins", "GPT-4-Turbo-2024-04-09"), ("Claude-3-Opus", "GPT-4-Turbo-2024-04-09")),
    "swebv_mini": (
        ("Devstral small", "Claude 4.5 Sonnet"),
        ("Gemini 3 Pro Preview", "Claude 4.5 Opus medium"),
    ),
    "routellm_gsm8k": (("mistralai/Mixtral-8x7B-Instruct-v0.1", "gpt-4-1106-preview"),),
}


def main() -> int:
    args = read_arguments()
    print(f"{args.seeds} seeds; {describe(args.world)}\n")
    for stream, pairs in PAIRS.items():
        file = args.folder / f"{stream}.jsonl.gz"
        if file.exists() and args.stream in ("", stream):
            rows = read_rows(file)
            for weak, strong in pairs:
                report(stream, rows, weak, strong, args.world, args.seeds)
                if args.sweep:
                    sweep(rows, weak, strong, args.world, args.seeds)
    return 0


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stream", default="")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument(
        "--sweep", action="store_true", help="vary critics, checks, tests and the size of the work"
    )
    for name, value in World().__dict__.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    args = parser.parse_args()
    args.world = World(**{name: getattr(args, name) for name in World().__dict__})
    return args


def describe(world: World) -> str:
    return ", ".join(f"{name} {value}" for name, value in world.__dict__.items())


def read_rows(file: Path) -> list[dict[str, float]]:
    """For each task, the share of tries in which each model solved it."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        tasks = [json.loads(line)["outcomes"] for line in lines]
    return [{model: each["q"] for model, each in outcomes.items()} for outcomes in tasks]


# --- the report ----------------------------------------------------------------------------------


def play(
    rows: list[dict[str, float]], arms: dict[str, Arm], world: World, seeds: int, models: Sequence[str]
) -> dict[str, Tally]:
    """Every arm on every task, with the same luck of the models in each seed."""
    known = [row for row in rows if all(model in row for model in models)]
    ability = {model: statistics.fmean(row[model] for row in known) for model in models}
    tallies = {name: Tally() for name in arms}
    for number, row in enumerate(known):
        for name, arm in arms.items():
            ends = [
                arm(draw(row, ability, f"{number}/{seed}"), world, tallies[name].seen)
                for seed in range(seeds)
            ]
            tallies[name].solved.append(statistics.fmean(solved for solved, _ in ends))
            tallies[name].tokens.append(statistics.fmean(tokens for _, tokens in ends))
    return tallies


def report(
    stream: str, rows: list[dict[str, float]], weak: str, strong: str, world: World, seeds: int
) -> None:
    print(f"## {stream}: {weak} and {strong}\n")
    for title, make in (("with tests", arms_of), ("without tests", arms_without_tests)):
        tallies = play(rows, make(weak, strong), world, seeds, (weak, strong))
        print(f"| {title} | solved % | tokens | solved per 1,000 tokens | against none at equal cost |")
        print("|---|---|---|---|---|")
        plain = [name for name in tallies if "R0" not in name and "council" not in name]
        for name, tally in tallies.items():
            gain = (
                ""
                if name in plain
                else interval(*gain_at_equal_cost(tally, [tallies[each] for each in plain]))
            )
            rate = 1000 * sum(tally.solved) / sum(tally.tokens)
            half = 1000 * spread(ratio_residuals(tally)) / statistics.fmean(tally.tokens)
            solved = interval(100 * statistics.fmean(tally.solved), 100 * spread(tally.solved), sign="")
            tokens = f"{statistics.fmean(tally.tokens):,.0f}"
            print(f"| {name} | {solved} | {tokens} | {rate:.4f} ± {half:.4f} | {gain} |")
        seen = tallies[list(tallies)[-1]].seen
        print(f"\n{tell(seen)}\n")


def tell(seen: Counter[str]) -> str:
    councils = seen["councils"]
    parts = [
        f"early stop {seen['early'] / councils:.0%}",
        f"revised {seen['revised'] / councils:.1%} of councils",
    ]
    parts += [f"{name} {seen[name] / councils:.2%}" for name in ("wrong -> right", "right -> wrong")]
    return ", ".join(
        [*parts, f"revisions without a claim that holds: {seen['revised without a claim that holds']}"]
    )


def gain_at_equal_cost(tally: Tally, others: Sequence[Tally]) -> tuple[float, float]:
    """Points of solved tasks above the best mixture of the others at the same cost, and the 95 % half-width.

    The mixture: two of them, tossed for, on the upper hull of (tokens, solved); nothing, for nothing, is one.
    """
    zero = Tally([0.0] * len(tally.solved), [0.0] * len(tally.tokens))
    points = sorted(
        (statistics.fmean(t.tokens), statistics.fmean(t.solved), n) for n, t in enumerate((zero, *others))
    )
    hull: list[tuple[float, float, int]] = []
    for point in points:
        if hull and point[1] <= hull[-1][1]:
            continue
        while len(hull) > 1 and slope(hull[-2], hull[-1]) <= slope(hull[-2], point):
            hull.pop()
        hull.append(point)
    cost, every = statistics.fmean(tally.tokens), (zero, *others)
    mixed = every[hull[-1][2]].solved
    for left, right in pairwise(hull):
        if left[0] <= cost <= right[0]:
            share = (cost - left[0]) / (right[0] - left[0])
            mixed = [
                (1 - share) * a + share * b
                for a, b in zip(every[left[2]].solved, every[right[2]].solved, strict=True)
            ]
    gains = [a - b for a, b in zip(tally.solved, mixed, strict=True)]
    return 100 * statistics.fmean(gains), 100 * spread(gains)


def slope(one: tuple[float, float, int], other: tuple[float, float, int]) -> float:
    return (other[1] - one[1]) / max(1e-9, other[0] - one[0])


def ratio_residuals(tally: Tally) -> list[float]:
    """For the interval of a ratio of means, by the delta method."""
    rate = sum(tally.solved) / sum(tally.tokens)
    return [solved - rate * tokens for solved, tokens in zip(tally.solved, tally.tokens, strict=True)]


def spread(values: Sequence[float]) -> float:
    """Half of the 95 % interval of the mean over tasks."""
    return 1.96 * statistics.stdev(values) / len(values) ** 0.5


def interval(value: float, half: float, sign: str = "+") -> str:
    return f"{value:{sign}.1f} ± {half:.1f}"


def sweep(rows: list[dict[str, float]], weak: str, strong: str, world: World, seeds: int) -> None:
    """The gain of councils at equal cost, for other critics, checks, tests and sizes of the work."""
    print("| changed | R0 + tests | council + tests | R0 + judge | council + judge |\n|---|---|---|---|---|")
    variants: dict[str, dict[str, float]] = {
        "perfect tests": {"passes_wrong": 0.0, "fails_right": 0.0},
        "tests pass 30 % of what is wrong": {"passes_wrong": 0.3},
        "recall .8": {"recall": 0.8, "blind": 0.3},
        "recall .8, all shown, mended .7": {"recall": 0.8, "blind": 0.4, "show": 1.0, "mend": 0.7},
        "precision .3, 20 % slip through": {"precision": 0.3, "slip": 0.2},
        "judge .5": {"judge": 0.5},
        "judge .8": {"judge": 0.8},
        "work of 2,000 tokens": {"work": 2_000},
        "work of 100,000 tokens": {"work": 100_000},
    }
    for name, change in variants.items():
        other = replace(world, **change)
        cells = []
        for make in (arms_of, arms_without_tests):
            tallies = play(rows, make(weak, strong), other, max(2, seeds // 2), (weak, strong))
            plain = [tally for each, tally in tallies.items() if "R0" not in each and "council" not in each]
            cells += [interval(*gain_at_equal_cost(tallies[each], plain)) for each in list(tallies)[-2:]]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print()


if __name__ == "__main__":
    sys.exit(main())
