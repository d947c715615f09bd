"""A month of work, simulated from tables of real outcomes: what routing costs and solves beside fixed rules.

    python benchmarks/month.py STREAMS_DIR [--seeds 10] [--dial balanced] [--svg docs/month.svg]

STREAMS_DIR holds `NAME.jsonl.gz` and `NAME.meta.json`: for each task, whether each of several models solved
it, and what that cost. The tasks of all streams that tell costs are mixed, twelve a day for thirty days.
Two models are there: the stream's weak one plays the local model (its money is 0) and its strong one the
frontier model. kith's own learner chooses a plan for each task (`kith.routing`), and learns only from what
it asked. The check after a local run is wrong as often as `--false-pass` and `--false-fail` say. The tables
hold no times: a call of an agent is taken to last `--call-s` seconds (local, frontier), and each table says
how many calls there were.
"""

import argparse
import gzip
import json
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from kith.routing.evidence import Evidence
from kith.routing.learner import Arm, Task, choose
from kith.routing.plans import PRICES, Plan, Utility
from kith.routing.rows import LegRow

LOCAL, FRONTIER = "local", "frontier"
DAYS, A_DAY = 30, 12
SECOND_USD = 0.0002
LONG = 1_500  # characters of a task that a fixed rule calls long


@dataclass(frozen=True, slots=True)
class Outcome:
    """One model's run of one task, as it went."""

    solved: bool
    usd: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Piece:
    """A task of the month: how both models do, and what a check says of the local one's work."""

    words: str
    kind: str
    local: Outcome
    frontier: Outcome
    passes: bool


@dataclass(slots=True)
class Bill:
    """What a month came to."""

    solved: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    escalated: int = 0
    worths: list[float] = field(default_factory=list)


Policy = Callable[[Piece], Plan]


# Words, kind, and of each model its chance, money and seconds.
Recorded = tuple[str, str, dict[str, tuple[float, float, float]]]


def read_streams(folder: Path, call_s: Sequence[float]) -> list[Recorded]:
    """Every task whose two models tell their cost."""
    tasks = []
    for meta_file in sorted(folder.glob("*.meta.json")):
        weak, strong = json.loads(meta_file.read_text())["default_pair"]
        with gzip.open(str(meta_file).replace(".meta.json", ".jsonl.gz"), "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                found = [row["outcomes"].get(weak), row["outcomes"].get(strong)]
                if any(each is None or each.get("cost") is None for each in found):
                    continue
                made = {
                    name: (each["q"], own * each["cost"], seconds * each.get("calls", 1))
                    for name, each, own, seconds in zip(
                        (LOCAL, FRONTIER), found, (0.0, 1.0), call_s, strict=True
                    )
                }
                tasks.append((row["prompt"], str(row["features"].get("kind", "")), made))
    return tasks


def make_month(
    tasks: Sequence[Recorded], rng: random.Random, false_pass: float, false_fail: float
) -> list[Piece]:
    """The month's tasks in a random order, as many of each kind; all chances are drawn here, once."""
    by_kind: dict[str, list[Recorded]] = {}
    for task in tasks:
        by_kind.setdefault(task[1], []).append(task)
    each = DAYS * A_DAY // len(by_kind)
    month = [task for own in by_kind.values() for task in rng.sample(own, min(each, len(own)))]
    rng.shuffle(month)
    pieces = []
    for words, kind, made in month:
        local, frontier = (Outcome(rng.random() < q, usd, seconds) for q, usd, seconds in made.values())
        wrong = rng.random() < (false_fail if local.solved else false_pass)
        pieces.append(Piece(words, kind, local, frontier, local.solved != wrong))
    return pieces


def run_plan(piece: Piece, plan: Plan) -> tuple[Outcome, list[tuple[str, Outcome]]]:
    """How a plan goes: what comes of it, and each model's part."""
    if plan[0] == FRONTIER:
        return piece.frontier, [(FRONTIER, piece.frontier)]
    if len(plan) == 1 or piece.passes:
        return piece.local, [(LOCAL, piece.local)]
    both = piece.local, piece.frontier
    usd, seconds = sum(each.usd for each in both), sum(each.seconds for each in both)
    return Outcome(piece.frontier.solved, usd, seconds), [(LOCAL, both[0]), (FRONTIER, both[1])]


class Router:
    """kith's learner, which sees only what it asked, and of that what the check (or nobody) says."""

    def __init__(self, utility: Utility, seed: int, usd: float) -> None:
        self.evidence, self.rng, self.utility = Evidence(), random.Random(seed), utility
        self.arms = [Arm(LOCAL, usd=0.0), Arm(FRONTIER, frontier=True, usd=usd)]

    def __call__(self, piece: Piece) -> Plan:
        task = Task(piece.kind, piece.words, verifiable=True)
        return choose(self.evidence, task, self.arms, self.utility, self.rng).plan

    def learn(self, piece: Piece, parts: Sequence[tuple[str, Outcome]]) -> None:
        after = ""
        for name, outcome in parts:
            reward = float(piece.passes) if name == LOCAL else float(outcome.solved)
            row = LegRow(
                *("", 0, 0.0, "", name, piece.kind),
                after=after,
                reward=reward,
                reason="tests",
                passed=bool(reward),
                usd=outcome.usd,
                seconds=outcome.seconds,
            )
            self.evidence.observe(row)
            after = name


def live(month: Sequence[Piece], policy: Policy, utility: Utility) -> Bill:
    """Work through the month; what a task was worth is kept, one after the other."""
    bill = Bill()
    for piece in month:
        outcome, parts = run_plan(piece, policy(piece))
        if isinstance(policy, Router):
            policy.learn(piece, parts)
        bill.solved += outcome.solved
        bill.usd += outcome.usd
        bill.seconds += outcome.seconds
        bill.escalated += len(parts) > 1
        bill.worths.append(outcome.solved - utility.cost(outcome.usd, outcome.seconds))
    return bill


def policies(utility: Utility, seed: int, usd: float) -> dict[str, Policy]:
    """kith, and what people do without it."""
    return {
        "always local": lambda piece: (LOCAL,),
        "always frontier": lambda piece: (FRONTIER,),
        "long tasks to the frontier": lambda piece: (FRONTIER,) if len(piece.words) > LONG else (LOCAL,),
        "local, check, frontier": lambda piece: (LOCAL, FRONTIER),
        "kith": Router(utility, seed, usd),
    }


def main() -> None:
    args = _arguments()
    tasks = read_streams(args.streams, args.call_s)
    mean_usd = fmean(made[FRONTIER][1] for _, _, made in tasks)
    mean_s = fmean(made[FRONTIER][2] for _, _, made in tasks)
    utility = Utility(PRICES[args.dial], mean_usd + SECOND_USD * mean_s, SECOND_USD)
    bills: dict[str, list[Bill]] = {}
    for seed in range(args.seeds):
        month = make_month(tasks, random.Random(seed), args.false_pass, args.false_fail)
        for name, policy in policies(utility, seed, mean_usd).items():
            bills.setdefault(name, []).append(live(month, policy, utility))
    print(_table(bills))
    if args.svg:
        args.svg.write_text(_picture(_regrets(bills)), encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("streams", type=Path)
    add("--seeds", type=int, default=10)
    add("--dial", choices=list(PRICES), default="balanced")
    add("--false-pass", type=float, default=0.1)
    add("--false-fail", type=float, default=0.05)
    add("--call-s", type=float, nargs=2, default=(12.0, 6.0), metavar=("LOCAL", "FRONTIER"))
    add("--svg", type=Path)
    return parser.parse_args()


def _table(bills: dict[str, list[Bill]]) -> str:
    """A row for each policy: means over the months, and the spread of a month."""
    rows = [
        "| | solved of 100 | money | waiting | asked again | worth, points |",
        "|---|---|---|---|---|---|",
    ]
    for name, months in bills.items():
        tasks = len(months[0].worths)
        solved = [100 * each.solved / tasks for each in months]
        worth = [100 * fmean(each.worths) for each in months]
        usd, hours = fmean(each.usd for each in months), fmean(each.seconds for each in months) / 3600
        again = 100 * fmean(each.escalated for each in months) / tasks
        cells = f"{fmean(solved):.1f} ± {_spread(solved)}", f"${usd:.2f}", f"{hours:.1f} h", f"{again:.0f} %"
        rows.append(f"| {name} | {' | '.join(cells)} | {fmean(worth):.1f} ± {_spread(worth)} |")
    return "\n".join(rows)


def _spread(values: Sequence[float]) -> str:
    return f"{stdev(values):.1f}" if len(values) > 1 else "-"


def _regrets(bills: dict[str, list[Bill]]) -> dict[str, list[float]]:
    """Solved tasks lost so far against the best of the fixed rules in hindsight, the mean over the months."""
    fixed = [name for name in bills if name != "kith"]
    curves: dict[str, list[float]] = {name: [] for name in bills}
    best = [
        max(fixed, key=lambda name, at=at: sum(bills[name][at].worths)) for at in range(len(bills["kith"]))
    ]
    for name, months in bills.items():
        sums = [0.0] * len(months)
        for task in range(min(len(each.worths) for each in months)):
            sums = [
                lost + bills[best[at]][at].worths[task] - months[at].worths[task]
                for at, lost in enumerate(sums)
            ]
            curves[name].append(fmean(sums))
    return curves


COLOURS = {"kith": "#2f9e44", "local, check, frontier": "#1971c2", "always local": "#e8590c"}
COLOURS |= {"always frontier": "#9c36b5", "long tasks to the frontier": "#868e96"}


def _picture(curves: dict[str, list[float]]) -> str:
    """The curves as SVG, readable on light and dark pages."""
    width, height, left, top = 640, 300, 46, 16
    wide, high = width - left - 190, height - top - 40
    last = max(len(curve) for curve in curves.values()) - 1
    most = max(max(curve) for curve in curves.values())
    least = min(0.0, *(min(curve) for curve in curves.values()))

    def place(task: int, lost: float) -> str:
        return f"{left + wide * task / last:.1f},{top + high * (most - lost) / (most - least):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'font-family="system-ui, sans-serif" font-size="12">',
        "<title>Solved tasks lost against the best fixed rule in hindsight, over a month</title>",
        "<style>text{fill:#333}.axis{stroke:#999}@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>",
    ]
    step = next(size for size in (1, 2, 5, 10, 20, 50, 100, 1_000) if (most - least) / size <= 7)
    for lost in range(-(int(-least) // step) * step, int(most) + 1, step):
        x, y = place(0, lost).split(",")
        parts.append(f'<path class="axis" stroke-opacity=".3" d="M{x} {y}h{wide}"/>')
        parts.append(f'<text x="{left - 6}" y="{float(y) + 4:.1f}" text-anchor="end">{lost}</text>')
    for day in (0, 10, 20, 30):
        x = left + wide * day / DAYS
        parts.append(f'<text x="{x:.1f}" y="{height - 22}" text-anchor="middle">day {day}</text>')
    labels = sorted(((curve[-1], name) for name, curve in curves.items()), reverse=True)
    lowest = 0.0
    for lost, name in labels:
        points = " ".join(place(task, value) for task, value in enumerate(curves[name]))
        colour, thick = COLOURS[name], 3 if name == "kith" else 1.5
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{thick}"/>')
        lowest = max(lowest + 15, float(place(last, lost).split(",")[1]) + 4)
        parts.append(f'<text x="{left + wide + 8}" y="{lowest:.1f}" style="fill:{colour}">{name}</text>')
    caption = "solved tasks lost against the best fixed rule in hindsight"
    parts.append(f'<text x="{left}" y="{height - 5}">{caption}</text></svg>')
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
