"""Many findings, each told once: what two tools say of the same line is one finding."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from kith.core.values import Finding, Severity

RANK: Final[dict[Severity, int]] = {"error": 0, "warning": 1, "note": 2}
_APART: Final = 1  # lines between two findings that may still mean the same
_ALIKE: Final = 0.5  # of the words of both, the part that they share
_WORD: Final = re.compile(r"[a-z_]\w+", re.I)
_NAME: Final = re.compile(r"[`'\"]([A-Za-z_][\w.:]*)[`'\"]")


def merge(found: Iterable[Finding]) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """The findings in order of their weight, and those that only repeat one of them.

    The first to say something is kept: linters before the model. It takes the other's suggestion over where
    it has none of its own for the same lines.
    """
    kept, repeated = list[Finding](), list[Finding]()
    for finding in found:
        at = next((at for at, each in enumerate(kept) if _is_same(each, finding)), None)
        if at is None:
            kept.append(finding)
            continue
        repeated.append(finding)
        if kept[at].replacement is None and _lines(kept[at]) == _lines(finding):
            kept[at] = replace(kept[at], replacement=finding.replacement)
    return tuple(sorted(kept, key=weight)), tuple(repeated)


def weight(finding: Finding) -> tuple[int, str, int]:
    """What comes first: the worse, then by place."""
    return RANK[finding.severity], finding.path, finding.line


def _is_same(one: Finding, other: Finding) -> bool:
    if one.path != other.path or not _meet(_lines(one), _lines(other)):
        return False
    if one.rule == other.rule and one.text == other.text:
        return True
    if one.by == other.by and one.rule != other.rule:
        return False  # a tool that has two rules for a line means two things
    mine, theirs = (set(map(str.lower, _WORD.findall(each.text))) for each in (one, other))
    alike = len(mine & theirs) / max(1, len(mine | theirs))
    if _NAME.search(one.text) and set(_NAME.findall(one.text)) & set(_NAME.findall(other.text)):
        alike += _ALIKE / 2
    return alike >= _ALIKE


def _lines(finding: Finding) -> tuple[int, int]:
    return finding.line, max(finding.line, finding.end)


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] - _APART <= other[1] and other[0] - _APART <= one[1]
