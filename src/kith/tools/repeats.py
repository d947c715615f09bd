"""Tools that notice when a model goes in circles: the same calls with the same answers, over and over."""

import json
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kith.core.errors import LimitError
from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import ToolResult
from kith.tools.answers import refused

EXEMPT: Final = frozenset({"todo", "done"})  # a list that is set again, or an end, does no harm
# How long a circle is (in calls), and after how many rounds with the same answers it is one.
_ROUNDS: Final = {1: 2, 2: 3, 3: 3}
REFUSALS = 3  # in a row: the third ends the task

# What differs between two runs of one command although nothing has changed.
_NOISE: Final = re.compile(
    r"""\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?   # dates, with a time or without
    |\b\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?\b                         # 12:05, 0:00:01.5
    |\b\d+(?:[.,]\d+)?\s?(?:ns|[µu]s|ms|s|secs?|seconds?|min|minutes?)\b    # durations
    |\b0x[0-9a-fA-F]{6,}\b                                          # addresses
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class _Use:
    """One call with its answer, both in the form in which two are compared."""

    call: str
    answer: str


@dataclass(slots=True)
class _Past:
    """The last calls of one task, refused ones included, and how many were refused in a row."""

    uses: deque[_Use] = field(default_factory=lambda: deque(maxlen=max(n * r for n, r in _ROUNDS.items())))
    refusals: int = 0

    def circle(self, call: str) -> int:
        """The length of the circle that this call would go on with; 0 for none."""
        uses = list(self.uses)
        for length, rounds in _ROUNDS.items():
            turned = uses[-length * rounds :]
            same = len(turned) == length * rounds and turned[length:] == turned[:-length]
            if same and turned[-length].call == call:
                return length
        return 0


def watch_repeats(tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """The same tools, which together remember one task's calls and do not run a circle any further.

    A call that came twice in a row with the same answer, or three rounds of two or three calls, is answered
    with the reason instead of being run; the third such answer in a row raises LimitError. Only equal
    answers count (times and dates aside): a command that says something new is progress.
    """
    past = _Past()
    return tuple(tool if tool.name in EXEMPT else _watched(tool, past) for tool in tools)


def _watched(tool: Tool, past: _Past) -> Tool:
    async def use(args: Mapping[str, Any], run: Run) -> ToolResult:
        call = json.dumps([tool.name, args], sort_keys=True, default=str)
        length = past.circle(call)
        if length:
            past.uses.append(past.uses[-length])  # as it would have been answered again
            past.refusals += 1
            if past.refusals >= REFUSALS:
                raise LimitError(_stopped(tool.name, length))
            return refused(_reason(length), "repeated")
        result = await tool.fn(args, run)
        past.uses.append(_Use(call, f"{result.ok} {_NOISE.sub('#', result.text)}"))
        past.refusals = 0
        return result

    return replace(tool, fn=use)


def _reason(length: int) -> str:
    """Words for the model: why its call was not run, and what to do instead."""
    if length == 1:
        what = f"You have made exactly this call {_ROUNDS[1]} times in a row, and the answer was the same"
    else:
        what = (
            f"You are repeating the same {length} calls, {_ROUNDS[length]} times now, with the same answers"
        )
    return (
        f"Not run. {what}: see above. Nothing has changed since, so use that answer, or do something "
        "different: change a file first, look somewhere else, or end with what you know."
    )


def _stopped(name: str, length: int) -> str:
    calls = f"the same call of {name}" if length == 1 else f"the same {length} calls"
    return f"stopped because the model repeats {calls} and gets the same answer each time"
