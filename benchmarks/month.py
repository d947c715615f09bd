"""A month of work, played from tables of real outcomes: `month.py STREAMS_DIR [--picture FILE]`.

STREAMS_DIR holds NAME.jsonl.gz (a task a line: its words, and for each model q, the chance that it solves it,
its cost in dollars, its calls or its tokens) and NAME.meta.json (which two models to compare). Ten tasks of
each stream arrive on each of 22 working days. One local and one frontier model are to be asked; in truth the
local one is another in each stream, as if its ability differed that much between kinds of work.

Money is what the tables say. Seconds are made from calls and tokens at the speeds below, which are no
measurement: a local model on a good graphics card, a frontier model behind its API. A check takes CHECK_S,
passes 10 % of what is wrong and fails 5 % of what is right; 3 % of what it passed is looked at again.

With `--outages` the models are away now and then, as AWAY says, and a task comes every six minutes. Whoever
asks a model that is away waits WAIT_S for nothing. A fixed plan goes on with its next model, if it has one;
kith decides again, and remembers the outage. Beside it is a kith that forgets.
"""

import argparse
import gzip
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from regret_picture import Curve, Panel, draw

from kith.features.measure.rows import LegRow
from kith.features.route.beliefs import Arm, Task
from kith.features.route.choose import choose
from kith.features.route.estimates import PRICES, Dial, Learned, Plan, Utility
from kith.features.route.outages import doubt

SEEDS = 10
TASKS = 220  # of each stream in a month
CHECK_S, FALSE_PASS, FALSE_FAIL, AUDITED = 5.0, 0.1, 0.05, 0.03
STEP_READ, STEP_WRITTEN = 1500, 250  # tokens of one call of an agent
WRITTEN = {"codegen": 400, "exec-predict": 150}  # tokens of an answer whose length is not known
LIST_PRICE = (30e-6, 60e-6)  # dollars a token read and written, where the table has no price
SECOND_USD = 0.0002
LOCAL, FRONTIER = "local", "frontier"
HINDSIGHT = "best by kind, in hindsight"
PLANS: dict[str, Plan] = {
    "always local": (LOCAL,),
    "always frontier": (FRONTIER,),
    "cascade": (LOCAL, FRONTIER),
}


EVERY_S, WAIT_S = 360.0, 20.0  # between two tasks; for a model that does not answer
# Mean hours until a model goes away, and until it is back: a machine that sleeps, an API with a bad day.
AWAY = {LOCAL: (4.0, 1.0), FRONTIER: (20.0, 0.5)}


class Speed(NamedTuple):
    """Tokens a second, and seconds until anything happens."""

    read: float
    write: float
    wait: float


SPEEDS = {LOCAL: Speed(600, 40, 0.0), FRONTIER: Speed(5000, 80, 1.0)}


class Result(NamedTuple):
    """What a model makes of a task: whether that is right, whether the check passes it, and what it took."""

    solved: bool
    passes: bool
    usd: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Job:
    kind: str
    words: str
    results: dict[str, Result]


def read_month(folder: Path, seed: int) -> list[Job]:
    """The tasks of one month, in the order in which they arrive."""
    rng = random.Random(seed)
    jobs = []
    for file in sorted(folder.glob("*.meta.json")):
        pair = json.loads(file.read_text())["default_pair"]
        with gzip.open(str(file).replace(".meta.json", ".jsonl.gz"), "rt", encoding="utf-8") as lines:
            rows = [row for row in map(json.loads, lines) if all(model in row["outcomes"] for model in pair)]
        jobs += [job_of(row, pair, rng) for row in rng.sample(rows, min(TASKS, len(rows)))]
    rng.shuffle(jobs)
    return jobs


def job_of(row: dict[str, Any], pair: Sequence[str], rng: random.Random) -> Job:
    kind = row["features"]["kind"]
    results = {}
    for name, model in zip((LOCAL, FRONTIER), pair, strict=True):
        outcome = row["outcomes"][model]
        solved = rng.random() < outcome["q"]
        passes = rng.random() >= FALSE_FAIL if solved else rng.random() < FALSE_PASS
        results[name] = Result(solved, passes, *takes(name, kind, len(row["prompt"]) / 4, outcome))
    return Job(kind, row["prompt"], results)


def takes(name: str, kind: str, prompt: float, outcome: dict[str, Any]) -> tuple[float, float]:
    """Dollars and seconds of a run; what a local model costs is its time."""
    calls = outcome.get("calls") or 1
    read = calls * STEP_READ if calls > 1 else prompt
    written = calls * STEP_WRITTEN if calls > 1 else outcome.get("tok_out") or WRITTEN.get(kind, 200)
    speed = SPEEDS[name]
    seconds = calls * speed.wait + read / speed.read + written / speed.write
    listed = read * LIST_PRICE[0] + written * LIST_PRICE[1]
    known = outcome.get("cost")
    return (0.0 if name == LOCAL else listed if known is None else known), seconds


# --- who decides -------------------------------------------------------------------------------


@dataclass(slots=True)
class Learner:
    """kith's own choice, from what it has seen so far."""

    utility: Utility
    verifiable: bool
    rng: random.Random
    evidence: Learned = field(default_factory=Learned)

    def decide(self, job: Job) -> Plan:
        arms = (Arm(LOCAL, parameters=7), Arm(FRONTIER, frontier=True, usd=0.05))
        task = Task(job.kind, verifiable=self.verifiable)
        return choose(self.evidence, task, arms, self.utility, self.rng).plan

    def learn(self, job: Job, plan: Plan, asked: int) -> None:
        """What is known afterwards: what the check said, or the truth where somebody looked."""
        for place, model in enumerate(plan[:asked]):
            result = job.results[model]
            looked = not self.verifiable or (result.passes and self.rng.random() < AUDITED)
            self.evidence.observe(
                LegRow(
                    session="",
                    task=0,
                    at=0.0,
                    root="",
                    model=model,
                    kind=job.kind,
                    after=plan[place - 1] if place else "",
                    reward=float(result.solved if looked else result.passes),
                    reason="audit" if looked else "tests",
                    passed=result.passes if self.verifiable else None,
                    usd=result.usd,
                    seconds=result.seconds,
                )
            )


def always(plan: Plan) -> Callable[[Job], Plan]:
    return lambda job: plan


def by_kind(job: Job) -> Plan:
    """A fixed rule that a person might write: whole issues go to the frontier model, the rest stays here."""
    return (FRONTIER,) if job.kind == "agentic-fix" else (LOCAL,)


def by_length(job: Job) -> Plan:
    """Another one: what is long goes to the frontier model."""
    return (FRONTIER,) if len(job.words) > 1000 else (LOCAL,)


def best_by_kind(jobs: Sequence[Job], utility: Utility, verifiable: bool) -> Callable[[Job], Plan]:
    """What nobody can know beforehand: for each kind of work the one plan that was best in this month."""
    best: dict[str, Plan] = {}
    for kind in {job.kind for job in jobs}:
        own = [job for job in jobs if job.kind == kind]
        plans = [plan for plan in PLANS.values() if verifiable or len(plan) == 1]
        played = {plan: sum(play(own, utility, always(plan)).worths) for plan in plans}
        best[kind] = max(played, key=played.__getitem__)
    return lambda job: best[job.kind]


# --- what comes of it --------------------------------------------------------------------------


class Month(NamedTuple):
    """What a month came to, and the worth of each task in solved tasks."""

    solved: float
    usd: float
    hours: float
    worths: list[float]


def play(
    jobs: Sequence[Job], utility: Utility, decide: Callable[[Job], Plan], learner: Learner | None = None
) -> Month:
    solved, usd, seconds, worths = 0, 0.0, 0.0, []
    for job in jobs:
        plan = decide(job)
        asked, spent, time = 0, 0.0, 0.0
        for model in plan:
            asked, result = asked + 1, job.results[model]
            spent, time = spent + result.usd, time + result.seconds + (CHECK_S if len(plan) > 1 else 0.0)
            if result.passes:
                break
        if learner:
            learner.learn(job, plan, asked)
        solved, usd, seconds = solved + result.solved, usd + spent, seconds + time
        worths.append(result.solved - utility.cost(spent, time))
    return Month(solved, usd, seconds / 3600, worths)


def utility_of(jobs: Sequence[Job], price: float) -> Utility:
    """A run of mean cost of the frontier model costs `price` solved tasks."""
    runs = [job.results[FRONTIER] for job in jobs]
    unit = mean(run.usd for run in runs) + SECOND_USD * mean(run.seconds for run in runs)
    return Utility(price, unit, SECOND_USD)


def months(streams: list[list[Job]], price: float, *, verifiable: bool) -> dict[str, list[Month]]:
    """What each way of deciding makes of each month."""
    found: dict[str, list[Month]] = {}
    for seed, jobs in enumerate(streams):
        utility = utility_of(jobs, price)
        for name, plan in PLANS.items():
            if verifiable or len(plan) == 1:
                found.setdefault(name, []).append(play(jobs, utility, always(plan)))
        for name, rule in (
            ("issues to the frontier", by_kind),
            ("long to the frontier", by_length),
        ):
            found.setdefault(name, []).append(play(jobs, utility, rule))
        found.setdefault(HINDSIGHT, []).append(play(jobs, utility, best_by_kind(jobs, utility, verifiable)))
        learner = Learner(utility, verifiable, random.Random(seed))
        found.setdefault("kith", []).append(play(jobs, utility, learner.decide, learner))
    return found


# --- outages -----------------------------------------------------------------------------------


def draw_outages(jobs: Sequence[Job], seed: int) -> list[frozenset[str]]:
    """The models that are away when each job comes."""
    away: list[set[str]] = [set() for _ in jobs]
    for name, (up_h, down_h) in AWAY.items():
        rng, at = random.Random(f"{seed} {name}"), 0.0
        while at < len(jobs) * EVERY_S:
            at += rng.expovariate(1 / (up_h * 3600))
            back = at + rng.expovariate(1 / (down_h * 3600))
            for number in range(int(at // EVERY_S) + 1, min(int(back // EVERY_S) + 1, len(jobs))):
                away[number].add(name)
            at = back
    return [frozenset(each) for each in away]


class Outcome(NamedTuple):
    """One job under outages: the models that worked on it, what that took, and the waits in vain."""

    plan: Plan
    asked: int
    solved: bool
    usd: float
    seconds: float
    waited: float


def work_through(job: Job, plan: Plan, away: frozenset[str]) -> Outcome:
    """Ask one model after the other; those that are away cost a wait."""
    usd, seconds, waited, there, solved = 0.0, 0.0, 0.0, list[str](), False
    for model in plan:
        if model in away:
            waited += WAIT_S
            continue
        there.append(model)
        result = job.results[model]
        usd, seconds = usd + result.usd, seconds + result.seconds + (CHECK_S if len(plan) > 1 else 0.0)
        solved = result.solved
        if result.passes:
            break
    return Outcome(tuple(there), len(there), solved, usd, seconds + waited, waited)


def decide_again(
    job: Job, learner: Learner, away: frozenset[str], known: dict[str, float], now: float, *, remembers: bool
) -> Outcome:
    """kith: where the first model is away, the plan is made anew with the others."""
    waited, out = 0.0, set[str]()
    while True:
        arms = tuple(
            Arm(
                name,
                frontier=name == FRONTIER,
                parameters=0 if name == FRONTIER else 7,
                usd=0.05 if name == FRONTIER else 0.0,
                downtime=doubt((known[name], WAIT_S), name, (), now) if remembers and name in known else None,
            )
            for name in (LOCAL, FRONTIER)
            if name not in out
        )
        if not arms:
            return Outcome((), 0, False, 0.0, waited, waited)
        task = Task(job.kind, verifiable=learner.verifiable)
        plan = choose(learner.evidence, task, arms, learner.utility, learner.rng).plan
        if plan[0] not in away:
            known.pop(plan[0], None)
            done = work_through(job, plan, away)
            return done._replace(seconds=done.seconds + waited, waited=done.waited + waited)
        waited, out = waited + WAIT_S, {*out, plan[0]}
        known[plan[0]] = now


def months_with_outages(streams: list[list[Job]], price: float) -> dict[str, list[tuple[Month, float]]]:
    """What each way makes of each month with checks and outages, and the hours it waited in vain."""
    found: dict[str, list[tuple[Month, float]]] = {}
    for seed, jobs in enumerate(streams):
        utility, away = utility_of(jobs, price), draw_outages(jobs, seed)
        ways = {name: _fixed(plan, away) for name, plan in PLANS.items()}
        for name, remembers in (("kith", True), ("kith that forgets outages", False)):
            ways[name] = _learning(Learner(utility, True, random.Random(seed)), away, remembers)
        for name, way in ways.items():
            done = [way(number, job) for number, job in enumerate(jobs)]
            worths = [each.solved - utility.cost(each.usd, each.seconds) for each in done]
            hours = sum(each.seconds for each in done) / 3600
            month = Month(sum(each.solved for each in done), sum(each.usd for each in done), hours, worths)
            found.setdefault(name, []).append((month, sum(each.waited for each in done) / 3600))
    return found


def _fixed(plan: Plan, away: Sequence[frozenset[str]]) -> Callable[[int, Job], Outcome]:
    return lambda number, job: work_through(job, plan, away[number])


def _learning(
    learner: Learner, away: Sequence[frozenset[str]], remembers: bool
) -> Callable[[int, Job], Outcome]:
    known: dict[str, float] = {}

    def way(number: int, job: Job) -> Outcome:
        done = decide_again(job, learner, away[number], known, number * EVERY_S, remembers=remembers)
        learner.learn(job, done.plan, done.asked)
        return done

    return way


def report_outages(found: dict[str, list[tuple[Month, float]]]) -> Iterator[str]:
    yield "| | solved | dollars | hours of waiting | of them in vain | worth |"
    yield "|---|---|---|---|---|---|"
    for name, played in found.items():
        rows = [(m.solved, m.usd, m.hours, waited, sum(m.worths)) for m, waited in played]
        solved, usd, hours, waited, worth = (mean(values) for values in zip(*rows, strict=True))
        yield f"| {name} | {solved:.0f} | {usd:.1f} | {hours:.1f} | {waited:.2f} | {worth:.0f} |"


# --- how it is told ---------------------------------------------------------------------------


def report(found: dict[str, list[Month]]) -> Iterator[str]:
    yield "| | solved | dollars | hours of waiting | worth |"
    yield "|---|---|---|---|---|"
    for name, played in found.items():
        solved, usd, hours, worths = (
            mean(values)
            for values in zip(*[(m.solved, m.usd, m.hours, sum(m.worths)) for m in played], strict=True)
        )
        yield f"| {name} | {solved:.0f} | {usd:.1f} | {hours:.1f} | {worths:.0f} |"


def panel(title: str, found: dict[str, list[Month]]) -> Panel:
    """How far each way falls behind the best fixed one of its month, summed task by task."""
    fixed = [played for name, played in found.items() if name not in ("kith", HINDSIGHT)]
    best = [max(months, key=lambda month: sum(month.worths)).worths for months in zip(*fixed, strict=True)]
    curves = []
    for name, played in found.items():
        behind = [
            [mine - theirs for mine, theirs in zip(first, month.worths, strict=True)]
            for first, month in zip(best, played, strict=True)
        ]
        curves.append(Curve(name, list(accumulate(mean(each) for each in zip(*behind, strict=True)))))
    return Panel(title, curves)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("streams", type=Path)
    parser.add_argument("--picture", type=Path, help="write the regret curves to this SVG file")
    parser.add_argument("--outages", action="store_true", help="models are away now and then")
    args = parser.parse_args()
    streams = [read_month(args.streams, seed) for seed in range(SEEDS)]
    if args.outages:
        print(f"balanced, with checks and outages ({len(streams[0])} tasks, means of {SEEDS} months)\n")
        print(*report_outages(months_with_outages(streams, PRICES["balanced"])), sep="\n")
        return
    panels = []
    settings: list[tuple[Dial, bool]] = [
        ("quality", True),
        ("balanced", True),
        ("frugal", True),
        ("balanced", False),
    ]
    for dial, verifiable in settings:
        title = f"{dial}, {'with' if verifiable else 'without'} checks"
        found = months(streams, PRICES[dial], verifiable=verifiable)
        print(
            f"\n{title} ({len(streams[0])} tasks, means of {SEEDS} months)\n",
            *report(found),
            sep="\n",
            flush=True,
        )
        panels.append(panel(title, found))
    if args.picture:
        args.picture.write_text(draw(panels[1:]), encoding="utf-8")


if __name__ == "__main__":
    main()
