"""What is expected of a model before anything was measured."""

# The curves fit the published pass rates of 59 models of known size on HumanEval+ and MBPP+. They leave 0.8
# and 0.5 logits unexplained, so what they say is worth no more than four outcomes.

import math
from typing import Final

from kith.features.measure.beta import chance_of, logit

MASS: Final = 4.0  # outcomes that an expectation is worth
FRONTIER: Final = 0.65  # the chance that a frontier model solves a task
_AFTER_A_MISS: Final = -0.6  # logits: what is left is harder (-0.3 to -1.4 on open tables of outcomes)
_MANY_FILES: Final = -1.5  # logits: a guess, until there is data
_MANY: Final = ("edit-multi", "refactor")
_TYPICAL: Final = 7.0  # billions of parameters, of a model that does not tell


def expected(kind: str, parameters: float | None = None, *, frontier: bool = False) -> float:
    """The chance that a model of so many billions of parameters solves a task of this kind."""
    if frontier:
        return FRONTIER
    size = math.log10(parameters or _TYPICAL)
    harder = _MANY_FILES if kind in _MANY else 0.0
    return chance_of(((-0.98 + 1.21 * size) + (-0.60 + 0.84 * size)) / 2 + harder)


def expected_after_a_miss(first: float) -> float:
    """The chance where another model has failed, from the chance that there would have been at first."""
    return chance_of(logit(min(max(first, 0.01), 0.99)) + _AFTER_A_MISS)


def expected_before_a_miss(after: float) -> float:
    """The inverse: the chance at first, from the one where another model has failed."""
    return chance_of(logit(min(max(after, 0.01), 0.99)) - _AFTER_A_MISS)
