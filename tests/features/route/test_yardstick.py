"""The adapter for a yardstick speaks its protocol as a process, and chooses as the class does."""

import importlib.util
import json
import subprocess
import sys
from typing import Any

import pytest

from places import ROOT

ADAPTER = ROOT / "benchmarks" / "yardstick.py"


def init(verifier: bool) -> dict[str, Any]:
    arms = {"weak": {"local": True, "price": 0.02, "prior": None}, "strong": {"local": False, "price": 1.0}}
    told = {"type": "init", "arms": arms, "weak": "weak", "strong": "strong", "lambda": 0.2, "seed": 3}
    return told | {"verifier": verifier}


def task(number: int) -> dict[str, Any]:
    return {
        "type": "task",
        "id": f"t{number}",
        "prompt": "fix mean()",
        "features": {"kind": "fix"},
        "t": number,
    }


def outcome(number: int, plan: list[str]) -> dict[str, Any]:
    """The weak model solves every third task, the strong one every task."""
    right = number % 3 == 0
    steps = [
        {
            "model": plan[0],
            "reward": float(right or plan[0] == "strong"),
            "cost": 0.02 if plan[0] == "weak" else 1.0,
        }
    ]
    if len(plan) > 1 and not right:
        steps.append({"model": "strong", "reward": 1.0, "cost": 1.1})
    return {"type": "outcome", "id": f"t{number}", "steps": steps}


@pytest.fixture
def router() -> Any:
    spec = importlib.util.spec_from_file_location("yardstick_adapter", ADAPTER)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Router()


def by_class(router: Any, verifier: bool, tasks: int, delay: int = 0) -> list[list[str]]:
    router.reset(init(verifier))
    plans: list[list[str]] = []
    for number in range(tasks):
        if number > delay:
            router.observe(outcome(number - delay - 1, plans[number - delay - 1]))
        plans.append(router.choose(task(number))["plan"])
    return plans


def by_process(verifier: bool, tasks: int) -> list[list[str]]:
    plans: list[list[str]] = []
    with subprocess.Popen(
        [sys.executable, str(ADAPTER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin and process.stdout

        def send(message: dict[str, Any]) -> None:
            assert process.stdin
            process.stdin.write(json.dumps(message) + "\n")

        send(init(verifier))
        for number in range(tasks):
            if number:
                send(outcome(number - 1, plans[number - 1]))
            send(task(number))
            reply = json.loads(process.stdout.readline())
            assert isinstance(reply["why"], str)
            plans.append(reply["plan"])
        process.stdin.close()
    assert process.returncode == 0
    return plans


@pytest.mark.parametrize("verifier", [True, False])
def test_a_process_answers_as_the_class_does(router: Any, verifier: bool) -> None:
    assert by_process(verifier, 30) == by_class(router, verifier, 30)


def test_with_a_verifier_the_cascade_is_where_it_begins(router: Any) -> None:
    assert by_class(router, True, 20) == [["weak", "strong"]] * 20


def test_without_one_a_single_model_is_asked_and_outcomes_may_come_late(router: Any) -> None:
    plans = by_class(router, False, 120, delay=20)
    assert {len(plan) for plan in plans} == {1}
    assert plans[-40:].count(["strong"]) > 30
