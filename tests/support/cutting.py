"""Where a task is worth cutting: once behind each kind of event, before each kind that follows it."""

from collections.abc import Sequence
from itertools import pairwise

from kith.core.events import Event


def find_cuts(events: Sequence[Event]) -> list[int]:
    """Numbers of events, from 1: the first of each pair of kinds that stand beside each other."""
    found: dict[tuple[type[Event], type[Event]], int] = {}
    for number, (one, next_one) in enumerate(pairwise(events), 1):
        found.setdefault((type(one), type(next_one)), number)
    return list(found.values())
