"""Suggested replacements: whether one fits and leaves the file as well formed as it was; what they change."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from kith.core.values import Changes, Finding
from kith.edits import Hunk, Patch, make_changes
from kith.edits.rows import encode, hunk_between, split_keys
from kith.features.review.changed_files import Sheet, Sheets
from kith.features.review.syntax import count_faults

_FENCE: Final = re.compile(r"^\s*(?:`{3,}|~{3,})[\w+-]*\s*$")
_NUMBER: Final = re.compile(r"^\s*[+-]?\s*\d+\t")
_LONGEST: Final = 60  # lines


def fit_suggestion(sheet: Sheet, first: int, last: int, words: str) -> str | None:
    """The lines to put in place of `first` to `last`, as they must be written; None when they do not fit.

    They are moved to the indentation of what they replace. None also when they change nothing, or when the
    file would be less well formed with them.
    """
    rows = [
        _NUMBER.sub("", row.rstrip("\r")) for row in words.strip("\n").split("\n") if not _FENCE.match(row)
    ]
    old = sheet.rows[first - 1 : last]
    if not any(row.strip() for row in rows) or len(rows) > _LONGEST:
        return None
    rows = _indent_as(rows, old)
    if [row.rstrip() for row in rows] == [row.rstrip() for row in old]:
        return None
    after = "\n".join((*sheet.rows[: first - 1], *rows, *sheet.rows[last:])) + "\n"
    faults = count_faults(sheet.path, after)
    if faults is not None and faults > (count_faults(sheet.path, sheet.after) or 0):
        return None
    return "\n".join(rows)


def as_changes(
    findings: Sequence[Finding], sheets: Sheets, contents: Mapping[str, bytes]
) -> tuple[Changes, tuple[Finding, ...]]:
    """The suggestions of the findings as changes of `contents`, and the findings that are in them.

    Of two that meet, the first in order is taken. A file that is not what was reviewed is left as it is.
    """
    taken = list[Finding]()
    for finding in findings:
        sheet = sheets.get(finding.path)
        if finding.replacement is None or sheet is None or contents.get(finding.path) != encode(sheet.after):
            continue
        if not any(each.path == finding.path and _meet(each, finding) for each in taken):
            taken.append(finding)
    paths = sorted({each.path for each in taken})
    patches = [
        Patch(path, tuple(_hunk(each, sheets[path]) for each in taken if each.path == path)) for path in paths
    ]
    return (make_changes(patches, contents) if patches else ()), tuple(taken)


def _meet(one: Finding, other: Finding) -> bool:
    return one.line <= max(other.line, other.end) and other.line <= max(one.line, one.end)


def _hunk(finding: Finding, sheet: Sheet) -> Hunk:
    old = sheet.rows[finding.line - 1 : max(finding.line, finding.end)]
    return hunk_between(old, split_keys(finding.replacement or ""), finding.line)


def _indent_as(rows: Sequence[str], old: Sequence[str]) -> list[str]:
    """The rows, shifted so that the first begins in the column of the first old one."""
    have, want = _indent(rows), _indent(old)
    if have == want:
        return list(rows)
    return [want + row.removeprefix(have) if row.strip() else "" for row in rows]


def _indent(rows: Sequence[str]) -> str:
    first = next((row for row in rows if row.strip()), "")
    return first[: len(first) - len(first.lstrip())]
