"""Older tests that a change edits: whether they claim what they did, and what they say as they were."""

from dataclasses import dataclass

from kith.analysis.suites import can_split, find_parts, part_of
from kith.core.values import Change, Changes
from kith.gates.evidence.claims import keeps_claims
from kith.gates.reports import SuiteReport
from kith.gates.untouched import is_test_file


@dataclass(frozen=True, slots=True)
class Older:
    """Tests that pass now and would not, had the change left them alone.

    `adapted` claim what they did, under other names; `altered` claim something else, or less.
    """

    adapted: frozenset[str] = frozenset()
    altered: frozenset[str] = frozenset()


def compare_older(was: SuiteReport, now: SuiteReport, unedited: SuiteReport, changes: Changes) -> Older:
    """Hold the edited tests against what they were.

    `unedited` is a run of the change without its edits of older tests; where nothing could be built, all of
    them are taken to fail.
    """
    adapted, altered = set[str](), set[str]()
    for id in was.passed & now.passed - unedited.passed:
        found = _sides(id, changes)
        if found is None:
            if unedited.cases and any(case.id == id for case in unedited.failed):
                adapted.add(id)  # it is not edited itself: what it uses is
        elif found[0] == found[1]:
            continue  # its file could not be loaded unedited, and it is as it was
        elif keeps_claims(*found):
            adapted.add(id)
        else:
            altered.add(id)
    return Older(frozenset(adapted), frozenset(altered))


def edited_tests(changes: Changes) -> tuple[Change, ...]:
    """The test files that were there before and that the change edits or deletes."""
    return tuple(change for change in changes if change.before is not None and is_test_file(change.path))


def text_before(id: str, changes: Changes) -> str:
    """The test as it was; "" for one that the change does not edit."""
    found = _sides(id, changes)
    return found[0] if found else ""


def _sides(id: str, changes: Changes) -> tuple[str, str] | None:
    """The test's text before and after the change; None for one in no file that the change edits."""
    for change in edited_tests(changes):
        if not can_split(change.path):
            continue
        old, new = (_part(id, change.path, side) for side in (change.before, change.after))
        if old:
            return old, new or (change.after or b"").decode("utf-8", "replace")
    return None


def _part(id: str, path: str, source: bytes | None) -> str:
    if source is None or not _may_hold(id, path):
        return ""
    try:
        part = part_of(id, find_parts(path, source))
    except (SyntaxError, ValueError, RecursionError):
        return ""
    return part.text if part else ""


def _may_hold(id: str, path: str) -> bool:
    """Whether a test of this id may stand in the file: pytest's ids tell the path, others may not."""
    file = id.partition("::")[0]
    return file == path or not file.endswith(".py")
