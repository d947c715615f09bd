"""Compare what a command without results per test printed before a change and with it."""

import re
from collections.abc import Mapping
from typing import Final

from kith.core.patterns import lazy_pattern
from kith.core.values import Changes
from kith.gates.evidence.compare import steady
from kith.gates.failure_output import TROUBLE

# `Tests failed: 3`, `3 of 40 checks failed`: some programs of tests end with 0 whatever they count.
_COUNT: Final = lazy_pattern(
    r"^\W*(?:\w+ ){0,3}(?:failed|failures?|failing|errors)\s*[:=]\s*(\d+)\b"
    r"|\b(\d+)(?: (?:of|out of) \d+)? (?:\w+ ){0,2}(?:failed|failures?|failing)\b",
    re.I,
)


def find_more_failures(before: str, now: str) -> str:
    """The line of `now` that counts more failures than the same line before; "" where none does."""
    known = _counts(before)
    for form, (count, line) in _counts(now).items():
        if form in known and count > known[form][0]:
            return line
    return ""


def _counts(output: str) -> Mapping[str, tuple[int, str]]:
    """The failures that each form of line counts in sum, with the last such line."""
    found: dict[str, tuple[int, str]] = {}
    for line in output.splitlines():
        if match := _COUNT.search(line):
            form = re.sub(r"\d+", "#", line)
            found[form] = (found.get(form, (0, ""))[0] + int(match[1] or match[2]), line.strip())
    return found


def find_blame(before: str, now: str, changes: Changes) -> bool:
    """True if new lines of trouble in the output name a file that the change touches."""
    known = {steady(line) for line in before.splitlines()}
    fresh = [line for line in now.splitlines() if steady(line) not in known and TROUBLE.search(line)]
    return any(change.path.rpartition("/")[2] in line for line in fresh for change in changes)
