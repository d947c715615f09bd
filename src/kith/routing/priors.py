"""What is expected of a model before anything was measured.

The curves are fits over the published pass rates of 59 models of known size (HumanEval+, MBPP+): they leave
0.8 and 0.5 logits unexplained, so an expectation is worth no more than four tasks.
"""

import math
import re

from kith.routing.beta import chance, logit

FRONTIER = 0.65  # the chance that a frontier model solves a task
MASS = 4.0  # tasks that an expectation is worth
AFTER_A_MISS = -1.0  # logits: what another model failed at is harder
MANY_FILES = -1.5  # logits: a guess, until there is data
UNKNOWN_SIZE = 7.0  # billions of parameters
_HARD = {"edit-multi", "refactor", "fix-failing-test"}


def expected(kind: str, parameters: float | None = None, *, frontier: bool = False) -> float:
    """The chance that a model of `parameters` billions solves a task of this kind."""
    if frontier:
        return FRONTIER
    size = math.log10(parameters or UNKNOWN_SIZE)
    curves = (-0.98 + 1.21 * size, -0.60 + 0.84 * size)
    return chance(sum(curves) / 2 + (MANY_FILES if kind in _HARD else 0.0))


def expected_after_a_miss(first: float) -> float:
    """The chance after another model failed, from the chance that it would have had at first."""
    return chance(logit(min(max(first, 0.01), 0.99)) + AFTER_A_MISS)


def billions(parameters: str) -> float | None:
    """The size in billions that a model's description or name tells ("14.8B", "qwen3:4b", "350M"), if any."""
    found = re.search(r"(?<![\w.])(?:(\d+)x)?(\d+(?:\.\d+)?)\s*([bm])(?![a-z0-9])", parameters.lower())
    if not found:
        return None
    experts, number, unit = found.groups()
    return float(number) * int(experts or 1) * (1.0 if unit == "b" else 0.001)
