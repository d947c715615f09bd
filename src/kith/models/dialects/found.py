"""A tool call as it stands in a reply's text, before it is held against any tool."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_NAME = re.compile(r"""["']?(?:name|tool|tool_name|function|function_name)["']?\s*:\s*["']?([\w.:-]+)""")


@dataclass(frozen=True, slots=True)
class Found:
    """A call between two places of a text. `name` is as the model wrote it, "" when it wrote none.

    `fault` says why the arguments cannot be known; they are empty then. Several calls of one list share
    their places.
    """

    start: int
    end: int
    name: str
    args: Mapping[str, Any]
    fault: str = ""


def guess_name(text: str) -> str:
    """The tool that an unreadable JSON object most likely names, or ""."""
    found = _NAME.search(text)
    return found[1] if found else ""


def skip(text: str, at: int, pattern: re.Pattern[str]) -> int:
    """Where the text goes on after a pattern that may stand at `at`."""
    found = pattern.match(text, at)
    return found.end() if found else at
