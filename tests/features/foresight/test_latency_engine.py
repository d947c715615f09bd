"""What a call takes is foreseen on a real engine, with two models of different size."""

import json
import subprocess
import sys
from typing import Any

import pytest

from places import ROOT

pytestmark = pytest.mark.slow

BENCHMARK = ROOT / "benchmarks" / "latency.py"
WITHIN = 0.3  # median of relative errors, in the engine's own CPU seconds: a clock measures the machine, too
BLIND = 2  # times less than without knowing what is cached


def measure(seed: int) -> list[dict[str, Any]]:
    command = [sys.executable, str(BENCHMARK), "--json", "--seed", str(seed)]
    found: list[dict[str, Any]] = json.loads(subprocess.check_output(command, text=True, timeout=600))
    return found


def worst(found: list[dict[str, Any]], figure: str) -> float:
    return max(float(each[figure]) for each in found)


def test_after_thirty_calls_the_time_of_the_next_ones_is_known(engine_url: str) -> None:
    found = measure(0)
    assert [each["model"] for each in found] == ["small", "medium"]
    # What is cached is told apart from what is new: without that it would be far off.
    assert all(each["blind_error"] > BLIND * each["error"] for each in found), found
    assert worst(found, "cpu_error") <= WITHIN, found
