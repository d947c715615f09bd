"""The value in the middle; Python's own `statistics` takes a while to load."""

from collections.abc import Sequence


def median(values: Sequence[float]) -> float:
    """The one in the middle, or halfway between the two; `values` are not empty."""
    ordered, half = sorted(values), len(values) // 2
    if len(ordered) % 2:
        return ordered[half]
    return ordered[half - 1] + 0.5 * (ordered[half] - ordered[half - 1])
