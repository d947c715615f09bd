"""Compare kith's router with simple learners on open tables of outcomes, with and without a check.

    python benchmarks/learners.py YARDSTICK_DIR [--seeds 10] [--lam 0.2] [--by-pair] [--json FILE]

YARDSTICK_DIR holds `evaluate.py`, `routers.py` and `streams/`. Needs numpy and scikit-learn, which kith does
not install. Every router plays the same pairs of models and seeds, and sees only what it asked for. The
figures are means over all pairs, in points of 100: value (solved less cost) and its difference from kith's by
seed with a 95 % interval, lift (solved beyond random mixing at the same cost), regret against the best single
model, and the calls to the strong model with the mean half-width of their interval over seeds.

`--by-pair` shows a table for each pair of models, and one of kith beside the best of the simple learners.
`--mixes` adds three mixtures of all streams, each with other pairs. `--false-pass` and `--false-fail` are
the shares of wrong and right answers about which the check errs. `--keep DIR` keeps each router's runs.
"""

import argparse
import json
import os
import random
import statistics
import sys
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

OPEN = ("lcb400", "cruxeval_o", "routellm_gsm8k", "swebv_mini")
MIXES = ("mix 1", "mix 2", "mix 3")
EACH = 300  # tasks of each stream in a mixture
KITH = f"py:{Path(__file__).parent / 'yardstick.py'}:Router"
SIMPLE = ("always-weak", "always-strong", "beta-ts", "beta-ts-cat", "eps-greedy", "linucb", "ts-logreg")
FIXED = ("always-weak", "always-strong")  # these learn nothing
WITH_CHECK = ("cascade",)
BEST = ("irt-ts", "hier-beta")
T95 = {3: 4.30, 5: 2.78, 10: 2.26, 20: 2.09}
Pair = tuple[str, str]


class Seed(NamedTuple):
    """One run, in shares: value, regret against the best single model, calls to the strong one, lift."""

    value: float
    regret: float
    strong: float
    lift: float


def play(folder: str, stream: str, pair: Pair, spec: str, checked: bool, args: Any) -> list[Seed]:
    """All seeds of one router on one pair."""
    sys.path.insert(0, folder)
    import evaluate

    options = argparse.Namespace(
        seeds=args.seeds, lam=args.lam, subsample=0.8, limit=0, order=args.order, delay=0, drift=None,
        verifier=checked, verifier_fpr=args.false_pass, verifier_fnr=args.false_fail, feedback=args.feedback,
        prior_weak=None, prior_strong=None, local_free=False,
    )  # fmt: skip
    rows, meta = mixture(evaluate, stream) if stream in MIXES else evaluate.load(stream)
    evaluate.R._CACHE.clear()
    found = []
    for seed in range(args.seeds):
        world = evaluate.World(rows, meta, *pair, seed, options)
        solved, cost, strong = evaluate.run(world, evaluate.make(spec), args.lam, seed, meta, options)
        value = float((solved - args.lam * cost).mean())
        best = float((world.y - args.lam * world.c).mean(0).max())
        (few, many), (cheap, dear) = world.y.mean(0), world.c.mean(0)
        share = min(max((cost.mean() - cheap) / (dear - cheap), 0.0), 1.0)
        lift = float(solved.mean() - few - (many - few) * share)
        found.append(Seed(value, best - value, float(strong.mean()), lift))
    return found


def mixture(evaluate: Any, name: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Some tasks of every stream; costs count in runs of the stream's own strong model."""
    number, rows = MIXES.index(name), list[dict[str, Any]]()
    for stream in OPEN:
        some, meta = evaluate.load(stream)
        pairs = meta.get("pairs") or [meta["default_pair"]]
        weak, strong = pairs[number % len(pairs)]
        some = [row for row in some if weak in row["outcomes"] and strong in row["outcomes"]]
        both = [[row["outcomes"][model].get("cost") for model in (weak, strong)] for row in some]
        paid = [row for row, costs in zip(some, both, strict=True) if None not in costs]
        usual = (
            statistics.fmean(row["outcomes"][strong]["cost"] for row in paid) if len(paid) >= EACH else 0.0
        )
        for row in random.Random(number).sample(paid if usual else some, EACH):
            two = (row["outcomes"][weak], row["outcomes"][strong])
            costs = [each["cost"] / usual for each in two] if usual else [0.02, 1.0]
            outcomes = {
                role: {"q": each["q"], "cost": cost}
                for role, each, cost in zip(("weak", "strong"), two, costs, strict=True)
            }
            rows.append({**row, "id": f"{stream} {row['id']}", "order": None, "outcomes": outcomes})
    return rows, {"models": {"weak": {"local": True}, "strong": {}}}


def pairs_of(folder: Path, stream: str) -> list[Pair]:
    if stream in MIXES:
        return [("weak", "strong")]
    meta = json.loads((folder / "streams" / f"{stream}.meta.json").read_text("utf-8"))
    return [(weak, strong) for weak, strong in meta.get("pairs") or [meta["default_pair"]]]


def half(values: list[float]) -> float:
    """The 95 % interval's half-width of a mean over seeds."""
    if len(values) < 2:
        return 0.0
    nearest = min(T95, key=lambda count: abs(count - len(values)))
    return T95[nearest] * statistics.stdev(values) / len(values) ** 0.5


def show(name: str, runs: list[list[Seed]], own: list[list[Seed]]) -> str:
    """A row of the table; the lists hold the seeds of each pair."""
    by_seed = list(zip(*runs, strict=True))
    apart = [
        statistics.fmean(100 * (one.value - two.value) for one, two in zip(seeds, others, strict=True))
        for seeds, others in zip(by_seed, zip(*own, strict=True), strict=True)
    ]
    value, regret, strong, lift = (
        100 * statistics.fmean(column) for column in zip(*chain(*runs), strict=True)
    )
    spread = [half([100 * seed.strong for seed in seeds]) for seeds in runs]
    difference = f"{statistics.fmean(apart):+.1f} ± {half(apart):.1f}" if name != "kith" else ""
    calls = f"{strong:.0f} % (± {statistics.fmean(spread):.0f}, at most {max(spread):.0f})"
    return f"| {name} | {value:.1f} | {difference} | {lift:+.1f} | {regret:.1f} | {calls} |"


HEAD = (
    "| router | value | beside kith | lift | regret | calls to the strong model |\n|---|---|---|---|---|---|"
)


def mean_of(runs: list[Seed], field: str) -> float:
    return 100 * statistics.fmean(getattr(seed, field) for seed in runs)


def beside_the_best(name: str, runs: dict[str, list[Seed]]) -> str:
    """kith on one pair beside the best simple learner of that pair, by value and by lift."""
    own, learners = runs["kith"], [each for each in runs if each not in ("kith", "cascade", *FIXED)]
    parts = [name]
    for field in ("value", "lift"):
        best = max(learners, key=lambda each: mean_of(runs[each], field), default="kith")
        sign = "+" if field == "lift" else ""
        parts.append(f"{mean_of(own, field):{sign}.1f}")
        if field == "value" and "cascade" in runs:
            parts.append(f"{mean_of(runs['cascade'], field):.1f}")
        parts.append(f"{mean_of(runs[best], field):{sign}.1f} ({best})")
    calls = [100 * seed.strong for seed in own]
    spread = f"± {half(calls):.0f}, from {min(calls):.0f} to {max(calls):.0f}"
    return f"| {' | '.join([*parts, f'{statistics.fmean(calls):.0f} % ({spread})'])} |"


def runs_of(
    pool: ProcessPoolExecutor, args: Any, name: str, spec: str, checked: bool, pairs: list[tuple[str, Pair]]
) -> list[list[Seed] | Future[list[Seed]]]:
    """The runs of one router on every pair, from the folder of kept ones where they are there."""
    found = list[list[Seed] | Future[list[Seed]]]()
    for stream, pair in pairs:
        kept = kept_at(args, name, checked, stream, pair)
        if kept and kept.exists():
            found.append([Seed(*each) for each in json.loads(kept.read_text("utf-8"))])
        else:
            found.append(pool.submit(play, str(args.folder), stream, pair, spec, checked, args))
    return found


def kept_at(args: Any, name: str, checked: bool, stream: str, pair: Pair) -> Path | None:
    if not args.keep:
        return None
    check = f"check-{args.false_pass}-{args.false_fail}-{args.feedback}" if checked else "none"
    words = f"{name} {check} {args.order} {args.lam} {args.seeds} {stream} {pair[0]}".replace(
        "/", "_"
    ).replace(" ", "_")
    return Path(args.keep) / f"{words}.json"


def settle(args: Any, name: str, checked: bool, pairs: Any, runs: Any) -> list[list[Seed]]:
    found = []
    for (stream, pair), each in zip(pairs, runs, strict=True):
        done = each if isinstance(each, list) else each.result()
        if kept := kept_at(args, name, checked, stream, pair):
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(done), "utf-8")
        found.append(done)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="YARDSTICK_DIR")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--lam", type=float, default=0.2, help="price of a mean call of the strong model")
    parser.add_argument("--only", action="append", metavar="NAME", help="only kith and these learners")
    parser.add_argument("--check", choices=("yes", "no"), action="append", help="only with, or without one")
    parser.add_argument("--false-pass", type=float, default=0.0, help="wrong answers that the check passes")
    parser.add_argument("--false-fail", type=float, default=0.0, help="right answers that it fails")
    parser.add_argument(
        "--feedback", choices=("truth", "verified"), default="truth", help="what learners hear"
    )
    parser.add_argument("--order", choices=("time", "shuffle"), default="time", help="of streams with dates")
    parser.add_argument("--by-pair", action="store_true", help="a table for each pair of models")
    parser.add_argument("--mixes", action="store_true", help="three mixtures of the streams, too")
    parser.add_argument("--kith", default=KITH, help="another router in its place")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="read runs from here, and keep new ones")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    streams = (*OPEN, *(MIXES if args.mixes else ()))
    pairs = [(stream, pair) for stream in streams for pair in pairs_of(args.folder, stream)]
    labels = [stream if stream in MIXES else f"{stream}, {weak}" for stream, (weak, _) in pairs]
    kept: dict[str, Any] = {}
    with ProcessPoolExecutor(args.jobs) as pool:
        for checked in (each == "yes" for each in args.check or ("no", "yes")):
            names = [*SIMPLE, *(WITH_CHECK if checked else ()), *BEST]
            names = [each for each in names if not args.only or each in args.only]
            specs = {"kith": args.kith, **{name: f"builtin:{name}" for name in names}}
            waiting = {name: runs_of(pool, args, name, spec, checked, pairs) for name, spec in specs.items()}
            print(f"\n{'with' if checked else 'without'} a check, {len(pairs)} pairs, {args.seeds} seeds\n")
            print(HEAD)
            found = dict[str, list[list[Seed]]]()
            for name, some in waiting.items():
                found[name] = runs = settle(args, name, checked, pairs, some)
                kept[f"{name}, {'check' if checked else 'no check'}"] = dict(zip(labels, runs, strict=True))
                print(show(name, runs, found["kith"]), flush=True)
            if args.by_pair:
                print_pairs(labels, found)
    if args.json:
        args.json.write_text(json.dumps(kept, indent=1), "utf-8")


def print_pairs(labels: list[str], found: dict[str, list[list[Seed]]]) -> None:
    cascade = "cascade | " if "cascade" in found else ""
    head = f"| pair | value | {cascade}best simple | lift | best simple | calls to the strong model |"
    print(f"\n{head}\n{'|---' * (head.count('|') - 1)}|")
    for number, label in enumerate(labels):
        print(beside_the_best(label, {name: runs[number] for name, runs in found.items()}))
    for number, label in enumerate(labels):
        print(f"\n{label}\n\n{HEAD}")
        for name, runs in found.items():
            print(show(name, [runs[number]], [found["kith"][number]]))


if __name__ == "__main__":
    main()
