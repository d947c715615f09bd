"""The tests that a change edits, each file parsed once: before, after, and what came in their place."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.core.values import Change, Changes
from kith.gates.evidence.assertions import Asserted, keeps_asserted, keeps_claims, read_asserted
from kith.gates.evidence.inline_tests import edits_tests, text_of_tests, with_old_tests
from kith.gates.js_tests import beside_tests, find_js, is_js
from kith.gates.suites import Part, can_split, find_part, find_parts, is_program, possible_names
from kith.gates.untouched import is_test_file

_ALIKE: Final = 0.7  # how much of two tests is the same, where one is the other under a new name
_JOINT: Final = "\n\f\n"  # between the texts of tests that share one name
_MOST_COMPARED: Final = 60  # new tests that one old test is compared with: those that share its rarest words


class _New(Struct, frozen=True):
    """A test that its file did not have before."""

    name: str
    text: str
    asserted: Asserted


class EditedTests:
    """The tests of a change by their text. The same text is parsed once, however many tests are asked about.

    `is_test` says which files hold tests. `files` are those that were there before. In the `blind` ones tests
    cannot be told apart: they are in another language, or one program of C++.
    """

    def __init__(self, changes: Changes, is_test: Callable[[str], bool] = is_test_file) -> None:
        self.changes, self.is_test = changes, is_test
        old = (each for each in changes if each.before is not None)
        self.files = tuple(each for each in old if is_test(each.path) or edits_tests(each))
        self._parsed: dict[tuple[str, bytes | None], Mapping[str, Part]] = {}
        self._sides: dict[str, tuple[str, str] | None] = {}
        self._successors: dict[str, str] = {}
        self._holders: dict[str, dict[str, Change]] | None = None
        self._new: Mapping[str, list[_New]] | None = None
        whole = {each.path for each in self.files if not self._can_split(each)}
        self.blind = tuple(each for each in self.files if each.path in whole)
        self._split = tuple(each for each in self.files if each.path not in whole)

    def parts(self, path: str, source: bytes | None) -> Mapping[str, Part]:
        """The tests of one version of a file, by name; none where it cannot be parsed."""
        key = path, source
        if key not in self._parsed:
            self._parsed[key] = _parse(path, source or b"")
        return self._parsed[key]

    def sides(self, id: str) -> tuple[str, str] | None:
        """The test's text before and after the change; None for one in no file that the change edits."""
        if id not in self._sides:
            self._sides[id] = self._find_sides(id)
        return self._sides[id]

    def text_before(self, id: str) -> str:
        """The test as it was; "" for one that the change does not edit."""
        if found := self.sides(id):
            return found[0]
        return "\n".join(text_of_tests(each.path, each.before) for each in self.find_unread(id))

    def is_code(self, change: Change) -> bool:
        """True if a change alters more than tests."""
        held = change in self.files and not self.is_test(change.path)
        return with_old_tests(change) is not None if held else not self.is_test(change.path)

    def find_unread(self, id: str) -> list[Change]:
        """The edited files that may hold a test which is not found in them: the whole file counts."""
        unread = (*self.blind, *(each for each in self._split if is_js(each.path)))
        return [each for each in unread if may_hold(id, each.path)]

    def is_renamed(self, id: str) -> bool:
        """True if the test `id` still exists under another name, as strict as before."""
        return any(self.find_successor(part.text) for _, part in self._old_parts(id))

    def find_successor(self, text: str) -> str:
        """The name of a test of the change that is this one under another name or in another file.

        Of tests that shared one name each must have such a test.
        """
        if text not in self._successors:
            found = [next(self._find_successors(each), "") for each in text.split(_JOINT)]
            self._successors[text] = found[0] if all(found) else ""
        return self._successors[text]

    def is_told_apart(self, old: str, new: str) -> bool:
        """True if tests that shared one name are all there, some under names of their own."""
        texts, left = old.split(_JOINT), new.split(_JOINT)
        return len(left) < len(texts) and all(each in left or self.find_successor(each) for each in texts)

    def _find_successors(self, text: str) -> Iterator[str]:
        likely = self._likely(text)
        old = read_asserted(text) if likely else None
        for new in likely:
            if old and keeps_asserted(old, new.asserted) and _are_alike(text, new.text):
                yield new.name

    def _can_split(self, change: Change) -> bool:
        """True if each test can be told apart, and all that an edit alters is told by their texts."""
        if is_js(change.path):
            then, now = (beside_tests(source) for source in (change.before, change.after))
            known = self.parts(change.path, change.before)
            return bool(known) and (change.after is None or keeps_claims(then, now))
        return can_split(change.path) and not self._is_one(change)

    def _is_one(self, change: Change) -> bool:
        return is_program(change.path, change.before or b"") and not self.parts(change.path, change.before)

    def _find_sides(self, id: str) -> tuple[str, str] | None:
        for change, old in self._old_parts(id):
            new = find_part(id, self.parts(change.path, change.after))
            is_less = new is None or new.text.count(_JOINT) < old.text.count(_JOINT)
            return old.text, _text(change.after) if new is None or is_less else new.text
        return None

    def _old_parts(self, id: str) -> Iterator[tuple[Change, Part]]:
        """The edited files that held a test of this id, each with the test as it was."""
        if self._holders is None:
            self._holders = defaultdict(dict)
            for change in self._split:
                for name in self.parts(change.path, change.before):
                    self._holders[name][change.path] = change
        for name in possible_names(id):
            for path, change in self._holders.get(name, {}).items():
                if may_hold(id, path):
                    yield change, self.parts(path, change.before)[name]

    def _likely(self, text: str) -> Collection[_New]:
        """New tests that share words with a text, those with its rarest words first."""
        if self._new is None:
            self._new = _by_word(self._find_new())
        known = (self._new.get(word, []) for word in set(text.split()))
        found: dict[int, _New] = {}
        for tests in sorted(known, key=len):
            for new in tests[: _MOST_COMPARED - len(found)]:
                found.setdefault(id(new), new)
        return found.values()

    def _find_new(self) -> Iterator[_New]:
        for change in self.changes:
            splits = can_split(change.path) or is_js(change.path)
            if change.after is None or not self.is_test(change.path) or not splits:
                continue
            known = self.parts(change.path, change.before)
            for name, part in self.parts(change.path, change.after).items():
                for text in part.text.split(_JOINT) if name not in known else ():
                    yield _New(name, text, read_asserted(text))


def may_hold(id: str, path: str) -> bool:
    """True if a test with this id may be in the file: those of pytest, jest and vitest tell the path."""
    file, inside, _ = id.partition("::")
    return file == path or not (file.endswith(".py") or (inside and is_js(file)))


def _parse(path: str, source: bytes) -> Mapping[str, Part]:
    try:
        if is_js(path):
            return _join(find_js(source))
        return {part.name: part for part in reversed(find_parts(path, source))}
    except (SyntaxError, ValueError, RecursionError):
        return {}


def _join(parts: Iterable[Part]) -> Mapping[str, Part]:
    """The tests by name; those that share one are one test: all of them run, and a report merges them."""
    found = defaultdict[str, list[Part]](list)
    for part in parts:
        found[part.name].append(part)
    return {
        name: replace(same[0], end=same[-1].end, text=_JOINT.join(each.text for each in same))
        for name, same in found.items()
    }


def _by_word(tests: Iterable[_New]) -> Mapping[str, list[_New]]:
    found = defaultdict[str, list[_New]](list)
    for each in tests:
        for word in dict.fromkeys(each.text.split()):
            found[word].append(each)
    return found


def _are_alike(old: str, new: str) -> bool:
    matcher = SequenceMatcher(None, old.split(), new.split(), autojunk=False)
    return matcher.quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE


def _text(source: bytes | None) -> str:
    return (source or b"").decode("utf-8", "replace")
