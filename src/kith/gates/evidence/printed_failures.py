"""Compare what a command without results per test printed before a change and with it."""

import re
from collections.abc import Mapping
from typing import Final

from kith.core.patterns import lazy_pattern
from kith.core.values import Changes
from kith.gates.evidence.compare import steady
from kith.gates.failure_output import TROUBLE

# Some programs of tests end with 0 whatever they count. The first form that a line has tells its count:
_FAILED: Final = r"\b(?:failed|failures?|failing|errors)"
_KIND: Final = r"(?!expected|known|allowed|ignored)[a-z]\w*"
_COUNTS: Final = (
    lazy_pattern(rf"{_FAILED}(?: tests?| checks?| cases?)? ?[:=] ?(\d+)\b(?![.,]\d| ?%)", re.I),
    lazy_pattern(rf"{_FAILED} (\d+)(?: of \d+)?(?: \w+ \d+)*\W*$", re.I),  # Passed 9 Failed 3 Skipped 0
    lazy_pattern(  # 12 Tests 3 Failures 0 Ignored; 3 of 40 checks failed
        r"(?<!test )(?<!case )(?<!retry )(?<!attempt )(?<![\w#.:=/-])"
        rf"(\d+)(?:(?:/| of | out of )\d+)?(?: {_KIND}){{0,2}}?"
        r" (?:failed|failures?|failing(?! (?!test|check)[a-z]))\b",
        re.I,
    ),
)
_LONGEST: Final = 200  # characters of a line that sums up


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
    for line in (" ".join(each.split()) for each in output.splitlines() if len(each) <= _LONGEST):
        if match := next(filter(None, (pattern.search(line) for pattern in _COUNTS)), None):
            form = re.sub(r"\d+", "#", line)
            found[form] = (found.get(form, (0, ""))[0] + int(match[1]), line)
    return found


def find_blame(before: str, now: str, changes: Changes) -> bool:
    """True if new lines of trouble in the output name a file that the change touches."""
    known = {steady(line) for line in before.splitlines()}
    fresh = [line for line in now.splitlines() if steady(line) not in known and TROUBLE.search(line)]
    return any(change.path.rpartition("/")[2] in line for line in fresh for change in changes)
