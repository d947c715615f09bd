"""Older tests that a change edits: whether they claim what they did, and what they say as they were."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kith.core.values import Change, Changes
from kith.gates.evidence.claims import keeps_claims
from kith.gates.reports import SuiteReport
from kith.gates.suites import can_split, find_parts, part_of
from kith.gates.untouched import is_test_file


@dataclass(frozen=True, slots=True)
class Older:
    """Tests that pass now and would not, had the change left them alone.

    `adapted` claim what they did, under other names; `altered` claim something else, or less.
    """

    adapted: frozenset[str] = frozenset()
    altered: frozenset[str] = frozenset()


def compare_older(
    was: SuiteReport,
    now: SuiteReport,
    unedited: SuiteReport,
    changes: Changes,
    renames: Mapping[str, str] = {},
) -> Older:
    """Hold the edited tests against what they were.

    `unedited` is a run of the change without its edits of older tests (of the untouched tree, where these are
    all of it); where nothing could be built, all of them are taken to fail. `renames` are names that the
    request changes: an edit that only follows them claims what it did.
    """
    adapted, altered = set[str](), set[str]()
    failed = {case.id for case in was.failed}
    only_tests = all(is_test_file(change.path) for change in changes)
    blind = [change for change in edited_tests(changes) if not can_split(change.path)]
    keeps = all(keeps_claims(_follow(_text(change.before), renames), _text(change.after)) for change in blind)
    for id in (was.passed | failed) & now.passed:
        found = _sides(id, changes)
        if id in unedited.passed and not (only_tests and found):
            continue  # it needs no edit
        if found is None:
            if blind and not keeps and _file_is_blind(id, blind):
                altered.add(id)
            elif id in was.passed and any(case.id == id for case in unedited.failed):
                adapted.add(id)  # it is not edited itself: what it uses is
        elif found[0] == found[1]:
            continue  # its file could not be loaded unedited, and it is as it was
        elif keeps_claims(_follow(found[0], renames), found[1]):
            adapted.add(id)
        else:
            altered.add(id)
    return Older(frozenset(adapted), frozenset(altered))


def find_renames(code: Changes, request: str) -> dict[str, str]:
    """A name of the request that the code does not know any more, and the one that came in its place."""
    words = _words(request)
    then = _words("\n".join(_text(each.before) for each in code))
    now = _words("\n".join(_text(each.after) for each in code))
    gone, come = words & then - now, words & now - then
    return {gone.pop(): come.pop()} if len(gone) == len(come) == 1 else {}


def _words(text: str) -> set[str]:
    return {*re.findall(r"\w+", text)}


def _follow(text: str, renames: Mapping[str, str]) -> str:
    for old, new in renames.items():
        text = re.sub(rf"(?<![^\W_]){re.escape(old)}(?![^\W_])", new, text)
    return text


def _file_is_blind(id: str, blind: Sequence[Change]) -> bool:
    """True if a test may stand in one of these files, whose tests cannot be told apart."""
    return any(_may_hold(id, change.path) for change in blind)


def _text(source: bytes | None) -> str:
    return (source or b"").decode("utf-8", "replace")


def edited_tests(changes: Changes) -> tuple[Change, ...]:
    """The test files that were there before and that the change edits or deletes."""
    return tuple(change for change in changes if change.before is not None and is_test_file(change.path))


def text_before(id: str, changes: Changes) -> str:
    """The test as it was; "" for one that the change does not edit."""
    found = _sides(id, changes)
    blind = (each for each in edited_tests(changes) if not can_split(each.path) and _may_hold(id, each.path))
    return found[0] if found else "\n".join(_text(each.before) for each in blind)


def _sides(id: str, changes: Changes) -> tuple[str, str] | None:
    """The test's text before and after the change; None for one in no file that the change edits."""
    for change in edited_tests(changes):
        if not can_split(change.path):
            continue
        old, new = (_part(id, change.path, side) for side in (change.before, change.after))
        if old:
            return old, new or _text(change.after)
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
