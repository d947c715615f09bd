"""kith's router behind the protocol of a yardstick for routers, as a command or as a class in it.

As a command it reads JSON lines and answers each task with one:

    {"type": "init", "arms": {name: {"local": b, "price": x, "prior": p}}, "weak", "strong", "lambda", "seed",
     "verifier": b}
    {"type": "task", "id", "prompt", "features": {...}, "t": i}          -> {"plan": [names], "why": "..."}
    {"type": "outcome", "id", "steps": [{"model", "reward": 0|1, "cost": x}]}       (maybe late)

As a class (`Router`) it has `reset`, `choose` and `observe` for these. Costs are in units of a mean run of
the strong model. Nothing is decided here: prompts become tasks, outcomes become rows, kith's learner chooses.
"""

import json
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from kith.context.task_kinds import kind_of
from kith.features.measure.rows import LegRow
from kith.features.route.beliefs import Arm, Task
from kith.features.route.choose import choose
from kith.features.route.estimates import Learned, Plan, Utility


class Router:
    """The learner with what it has seen of one stream of tasks."""

    def reset(self, init: Mapping[str, Any]) -> None:
        self.rng = random.Random(init["seed"])
        self.evidence = Learned(reads_words=not init["verifier"])
        self.arms = [
            arm_of(name, init["arms"][name], name == init["strong"])
            for name in (init["weak"], init["strong"])
        ]
        self.utility = Utility(init["lambda"], unit_usd=1.0, second_usd=0.0)
        self.verifier = bool(init["verifier"])
        self.given: dict[str, tuple[Task, Plan]] = {}

    def choose(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        kind = asked["features"].get("kind") or kind_of(asked["prompt"])
        task = Task(kind, asked["prompt"], project_of(asked["features"]), verifiable=self.verifier)
        decision = choose(self.evidence, task, self.arms, self.utility, self.rng)
        self.given[asked["id"]] = task, decision.plan
        return {"plan": list(decision.plan), "why": decision.why}

    def observe(self, outcome: Mapping[str, Any]) -> None:
        task, plan = self.given.pop(outcome["id"])
        after = ""
        for place, step in enumerate(outcome["steps"], start=1):
            checked = place < len(plan)
            self.evidence.observe(
                LegRow(
                    session="",
                    task=0,
                    at=0.0,
                    root=task.root,
                    model=step["model"],
                    kind=task.kind,
                    after=after,
                    reward=step["reward"],
                    reason="audit",
                    passed=place == len(outcome["steps"]) if checked else None,
                    usd=step["cost"],
                    words=task.words,
                )
            )
            after = step["model"]


def project_of(features: Mapping[str, Any]) -> str:
    """Where a task comes from, as a folder does for kith: its repository, or the site of an exercise."""
    return str(features.get("repo") or features.get("platform") or "")


def arm_of(name: str, told: Mapping[str, Any], strong: bool) -> Arm:
    """A model as the yardstick describes it."""
    price = told.get("price")
    usd = (1.0 if strong else 0.5) if price is None else price
    return Arm(name, frontier=strong, usd=usd, seconds=0.0, solves=told.get("prior"))


def main() -> None:
    router = Router()
    for line in sys.stdin:
        message = json.loads(line)
        match message["type"]:
            case "init":
                router.reset(message)
            case "task":
                print(json.dumps(router.choose(message)), flush=True)
            case "outcome":
                router.observe(message)


if __name__ == "__main__":
    main()
