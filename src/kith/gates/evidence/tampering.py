"""What a change does to the tests that were there: which it weakens, which it only renames or adapts."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from posixpath import splitext
from typing import Final

from kith.context.tokens import CPP_ENDINGS
from kith.core.values import Change, Changes
from kith.gates.evidence.claims import SKIP, keeps_claims
from kith.gates.runners import is_runner_file, runner_settings
from kith.gates.suites import can_split, find_parts, part_of
from kith.gates.untouched import is_test_file

_ASSERTION: Final = re.compile(
    r"\bassert\w*\b|\b(?:EXPECT|ASSERT|REQUIRE|CHECK)\w*\s*\(|\bexpect\s*\(|\.(?:raises|warns|fail)\s*\(|"
    r"\bt\.(?:Error|Fatal|Fail)\w*\("
)
_ALIKE: Final = 0.7  # how much of two tests is the same, where one is the other under a new name


@dataclass(frozen=True, slots=True)
class Tampering:
    """The tests (`path::name`, or `path` where they cannot be told apart) that a change weakens.

    Weakened ones assert less than before, are skipped now, or are gone. `edited` are the test files that were
    there before, `settings` the files in which the change alters how tests are run, `watching` the sources
    that know now that they are tested.
    """

    weakened: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    watching: tuple[str, ...] = ()


def find_tampering(changes: Changes) -> Tampering:
    """What the change does to tests and to how they are run, as far as the text of files shows."""
    edited = [change for change in changes if change.before is not None and is_test_file(change.path)]
    weakened = [name for change in edited for name in _weakened(change, changes)]
    settings = [change.path for change in changes if _alters_settings(change)]
    watching = [change.path for change in changes if _watches(change)]
    return Tampering(
        tuple(weakened), tuple(change.path for change in edited), tuple(settings), tuple(watching)
    )


def _watches(change: Change) -> bool:
    """True if a source looks at what tests it, and did not before: without it nobody can say what it does."""
    if is_test_file(change.path) or change.path.rpartition("/")[2] == "conftest.py":
        return False
    if splitext(change.path)[1].lower() not in {".py", *CPP_ENDINGS}:
        return False
    before, after = (runner_settings(change.path, side) or [] for side in (change.before, change.after))
    return bool(set(after) - set(before))


def _alters_settings(change: Change) -> bool:
    if change.path.rpartition("/")[2] == "conftest.py":
        return _code(change.after) != _code(change.before)
    if is_test_file(change.path):
        return False
    if is_runner_file(change.path):
        return True
    before, after = (runner_settings(change.path, side) for side in (change.before, change.after))
    return change.before is not None and bool(before != after)


def _code(source: bytes | None) -> str:
    """Python without its comments and blank lines: whatever a conftest.py says, it says to all tests."""
    try:
        return ast.dump(ast.parse(source or b""))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _text(source or b"")


def _weakened(change: Change, changes: Changes) -> Iterator[str]:
    before, after = change.before or b"", change.after or b""
    if not can_split(change.path):
        if change.after is None or _is_weaker(_text(before), _text(after)):
            yield change.path
        return
    old, new = _tests(change.path, before), _tests(change.path, after)
    if not old:
        return
    for name, text in old.items():
        if name in new:
            if _is_weaker(text, new[name]):
                yield f"{change.path}::{name}"
        elif not find_successor(text, changes):
            yield f"{change.path}::{name}"


def _tests(path: str, source: bytes) -> Mapping[str, str]:
    try:
        return {part.name: part.text for part in find_parts(path, source)}
    except (SyntaxError, ValueError, RecursionError):
        return {}


def _text(source: bytes) -> str:
    return source.decode("utf-8", "replace")


def _is_weaker(old: str, new: str) -> bool:
    return _count(_ASSERTION, new) < _count(_ASSERTION, old) or _count(SKIP, new) > _count(SKIP, old)


def _count(pattern: re.Pattern[str], text: str) -> int:
    return len(pattern.findall(text))


def find_successor(text: str, changes: Changes) -> str:
    """The name of a test of the change that is this one under another name or in another file."""
    for change in changes:
        if change.after is None or not is_test_file(change.path) or not can_split(change.path):
            continue
        known = _tests(change.path, change.before or b"")
        for name, new in _tests(change.path, change.after).items():
            if name not in known and keeps_claims(text, new) and _are_alike(text, new):
                return name
    return ""


def _are_alike(old: str, new: str) -> bool:
    matcher = SequenceMatcher(None, old.split(), new.split(), autojunk=False)
    return matcher.quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE


def is_renamed(id: str, changes: Changes) -> bool:
    """Whether the test that a runner calls `id` lives on under another name, no weaker than it was."""
    for change in changes:
        if change.before is None or not can_split(change.path) or not is_test_file(change.path):
            continue
        try:
            part = part_of(id, find_parts(change.path, change.before))
        except (SyntaxError, ValueError, RecursionError):
            continue
        if part and find_successor(part.text, changes):
            return True
    return False


def without_tampering(changes: Changes, paths: Collection[str]) -> Changes:
    """The change without its edits of these files: they stay as they were."""
    return tuple(change for change in changes if change.path not in paths)
