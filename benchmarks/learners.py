"""Compare kith's router with simple learners on open tables of outcomes, with and without a check.

    python benchmarks/learners.py YARDSTICK_DIR [--seeds 10] [--lam 0.2] [--json FILE]

YARDSTICK_DIR holds `evaluate.py`, `routers.py` and `streams/`. Needs numpy and scikit-learn, which kith does
not install. Every router plays the same pairs of models and seeds, and sees only what it asked for. The
figures are means over all pairs, in points of 100: value (solved less cost) and its difference from kith's by
seed with a 95 % interval, regret against the best single model, and the calls to the strong model with the
mean half-width of their interval over seeds.
"""

import argparse
import json
import os
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

OPEN = ("lcb400", "cruxeval_o", "routellm_gsm8k", "swebv_mini")
KITH = f"py:{Path(__file__).parent / 'yardstick.py'}:Router"
SIMPLE = ("always-weak", "always-strong", "beta-ts", "beta-ts-cat", "eps-greedy", "linucb", "ts-logreg")
WITH_CHECK = ("cascade",)
BEST = ("irt-ts", "hier-beta")
T95 = {3: 4.30, 5: 2.78, 10: 2.26, 20: 2.09}


class Seed(NamedTuple):
    """One run: value, regret against the best single model, and calls to the strong model, as shares."""

    value: float
    regret: float
    strong: float


def play(folder: str, stream: str, pair: tuple[str, str], spec: str, checked: bool, args: Any) -> list[Seed]:
    """All seeds of one router on one pair."""
    sys.path.insert(0, folder)
    import evaluate

    options = argparse.Namespace(
        seeds=args.seeds, lam=args.lam, subsample=0.8, limit=0, order="shuffle", delay=0, drift=None,
        verifier=checked, verifier_fpr=0.0, verifier_fnr=0.0, feedback="truth",
        prior_weak=None, prior_strong=None, local_free=False,
    )  # fmt: skip
    rows, meta = evaluate.load(stream)
    evaluate.R._CACHE.clear()
    found = []
    for seed in range(args.seeds):
        world = evaluate.World(rows, meta, *pair, seed, options)
        solved, cost, strong = evaluate.run(world, evaluate.make(spec), args.lam, seed, meta, options)
        value = float((solved - args.lam * cost).mean())
        best = float((world.y - args.lam * world.c).mean(0).max())
        found.append(Seed(value, best - value, float(strong.mean())))
    return found


def pairs_of(folder: Path, stream: str) -> list[tuple[str, str]]:
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
    value, regret, strong = (100 * statistics.fmean(column) for column in zip(*chain(*runs), strict=True))
    spread = [half([100 * seed.strong for seed in seeds]) for seeds in runs]
    difference = f"{statistics.fmean(apart):+.1f} ± {half(apart):.1f}" if runs is not own else ""
    calls = f"{strong:.0f} % (± {statistics.fmean(spread):.0f}, at most {max(spread):.0f})"
    return f"| {name} | {value:.1f} | {difference} | {regret:.1f} | {calls} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="YARDSTICK_DIR")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--lam", type=float, default=0.2, help="price of a mean call of the strong model")
    parser.add_argument("--only", action="append", metavar="NAME", help="only kith and these learners")
    parser.add_argument("--check", choices=("yes", "no"), action="append", help="only with, or without one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    pairs = [(stream, pair) for stream in OPEN for pair in pairs_of(args.folder, stream)]
    kept: dict[str, Any] = {}
    with ProcessPoolExecutor(args.jobs) as pool:
        for checked in (each == "yes" for each in args.check or ("no", "yes")):
            names = [*SIMPLE, *(WITH_CHECK if checked else ()), *BEST]
            names = [each for each in names if not args.only or each in args.only]
            specs = {"kith": KITH, **{name: f"builtin:{name}" for name in names}}
            waiting = {
                name: [pool.submit(play, str(args.folder), *each, spec, checked, args) for each in pairs]
                for name, spec in specs.items()
            }
            print(f"\n{'with' if checked else 'without'} a check, {len(pairs)} pairs, {args.seeds} seeds\n")
            print(
                "| router | value | beside kith | regret | calls to the strong model |\n|---|---|---|---|---|"
            )
            own = [each.result() for each in waiting["kith"]]
            for name, some in waiting.items():
                runs = own if name == "kith" else [each.result() for each in some]
                kept[f"{name}, {'check' if checked else 'no check'}"] = dict(
                    zip(map(str, pairs), runs, strict=True)
                )
                print(show(name, runs, own), flush=True)
    if args.json:
        args.json.write_text(json.dumps(kept, indent=1), "utf-8")


if __name__ == "__main__":
    main()
