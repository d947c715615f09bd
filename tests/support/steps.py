"""Count the work that a call does: its growth is the same on every machine, whatever the clock says."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def count_steps(work: Callable[[], object]) -> int:
    """The lines of Python that `work` runs, a line in a loop as often as the loop turns."""
    count = 0

    def follow(frame: FrameType, event: str, value: Any) -> Any:
        nonlocal count
        count += event == "line"
        return follow

    before = sys.gettrace()
    sys.settrace(follow)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
