"""Find the tests that a request names or may change, and the edits of a change to older tests."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from posixpath import splitext
from typing import Final

from msgspec import Struct

from kith.context.source import CPP_ENDINGS
from kith.core.evidence import Tries
from kith.core.patterns import lazy_pattern
from kith.core.values import Change, Changes
from kith.gates.evidence.assertions import SKIP, keeps_claims
from kith.gates.evidence.compare import find_renewed
from kith.gates.evidence.edited_tests import EditedTests
from kith.gates.evidence.inline_tests import text_of_tests, with_old_tests
from kith.gates.js_tests import BETWEEN, is_js, title_of
from kith.gates.reports import SuiteReport
from kith.gates.untouched import is_runner_file, runner_settings

_ASSERTION: Final = lazy_pattern(
    r"\bassert\w*\b|\b(?:EXPECT|ASSERT|REQUIRE|CHECK)\w*\s*\(|\bexpect\s*\(|\.(?:raises|warns|fail)\s*\(|"
    r"\bt\.(?:Error|Fatal|Fail)\w*\("
)


class Tampering(Struct, frozen=True):
    """The tests (`path::name`, or `path` where they cannot be told apart) that a change weakens.

    Weakened ones assert less than before, are now skipped, or are gone. `edited` are older test files
    that the change edits. `settings` are files in which it alters how tests run. `watching` are sources
    that newly detect that they are being tested.
    """

    weakened: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    watching: tuple[str, ...] = ()


def find_tampering(tests: EditedTests) -> Tampering:
    """Find edits that weaken tests or alter how they run, as far as the text of files shows."""
    weakened = [name for change in tests.files for name in _weakened(change, tests)]
    code = [change for change in tests.changes if tests.is_code(change)]
    settings = [change.path for change in tests.changes if _alters_settings(change, tests)]
    watching = [change.path for change in code if _watches(change)]
    edited = (change.path for change in tests.files)
    return Tampering(tuple(weakened), tuple(edited), tuple(settings), tuple(watching))


def _watches(change: Change) -> bool:
    """True if a source looks at what tests it, and did not before: without it nobody can say what it does."""
    if change.path.rpartition("/")[2] == "conftest.py":
        return False
    if splitext(change.path)[1].lower() not in {".py", *CPP_ENDINGS}:
        return False
    before, after = (runner_settings(change.path, side) or [] for side in (change.before, change.after))
    return bool(set(after) - set(before))


def _alters_settings(change: Change, tests: EditedTests) -> bool:
    if change.path.rpartition("/")[2] == "conftest.py":
        return _code(change.after) != _code(change.before)
    if tests.is_test(change.path):
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
        return _decoded(source)


def _weakened(change: Change, tests: EditedTests) -> Iterator[str]:
    if change in tests.blind:
        if change.after is None or _is_weaker(*_sides_of_tests(change)):
            yield change.path
        return
    new = tests.parts(change.path, change.after)
    for name, part in tests.parts(change.path, change.before).items():
        if name in new:
            text = new[name].text
            if _is_weaker(part.text, text) and not tests.is_told_apart(part.text, text):
                yield f"{change.path}::{name}"
        elif not tests.find_successor(part.text):
            yield f"{change.path}::{name}"


def _sides_of_tests(change: Change) -> tuple[str, str]:
    return text_of_tests(change.path, change.before), text_of_tests(change.path, change.after)


def _decoded(source: bytes | None) -> str:
    return (source or b"").decode("utf-8", "replace")


def _is_weaker(old: str, new: str) -> bool:
    return _count(_ASSERTION, new) < _count(_ASSERTION, old) or _count(SKIP, new) > _count(SKIP, old)


def _count(pattern: re.Pattern[str], text: str) -> int:
    return len(pattern.findall(text))


def without_tampering(changes: Changes, paths: Collection[str]) -> Changes:
    """The change without its edits of these files, or of the tests alone that such a source holds."""
    sides = (with_old_tests(change) if change.path in paths else change for change in changes)
    return tuple(change for change in sides if change)


# The files that a command runs: by themselves, or by an interpreter.
_RUN: Final = re.compile(
    r"(?:^|[;&|(]\s*)(?:(?:\w*sh|python[\d.]*|node|perl|ruby)\s+(?:-\w+\s+)*)?(?:\./)?([\w./-]+\.?\w*)"
)
_CHECKS: Final = re.compile(r"(?:^|[/_.-])(?:tests?|checks?|ci|verify|lint)(?:$|[/_.-])", re.I)


def run_by(command: str, changes: Changes) -> set[str]:
    """The changed files that a command runs and that are named like a check."""
    run = set(_RUN.findall(command))
    # A program that is asked for is run by many a check; what is named like a check is one.
    return {path for change in changes if (path := change.path) in run and _CHECKS.search(path)}


# Older tests that a change edits: whether they claim what they did, and what they say as they were.


class Older(Struct, frozen=True):
    """Tests that pass now and would not, had the change left them alone.

    `adapted` claim what they did, under other names; `altered` claim something else, or less.
    """

    adapted: frozenset[str] = frozenset()
    altered: frozenset[str] = frozenset()


def compare_older(
    was: SuiteReport,
    now: SuiteReport,
    unedited: SuiteReport,
    tests: EditedTests,
    renames: Mapping[str, str] = {},
    reworded: Collection[str] = (),
) -> Older:
    """Compare the edited tests with their old versions.

    `unedited` is a run of the change without its edits of older tests (of the untouched tree, where these are
    the whole change). If nothing could be built, all of them count as failed. `renames` are names that the
    request changes: an edit that only follows them asserts the same. `reworded` are cases that came back with
    other parameters: what they asserted is gone, unless they pass unedited.
    """
    adapted, altered = set[str](), set[str]()
    failed = {case.id for case in was.failed}
    only_tests = not any(map(tests.is_code, tests.changes))
    kept: dict[tuple[str, str], bool] = {}

    def keeps(sides: tuple[str, str]) -> bool:
        if sides not in kept:
            kept[sides] = keeps_claims(_follow(sides[0], renames), sides[1])
        return kept[sides]

    def all_keep(unread: Collection[Change]) -> bool:
        files = {each.path: each for each in (*tests.blind, *unread)}.values()
        return all(keeps(_sides_of_tests(each)) for each in files)

    by_chance = find_renewed(reworded, was, unedited)  # other ids at each run
    for id in reworded:
        found = tests.sides(id)
        needless = (id in unedited.passed and not only_tests) or id in by_chance
        kept_on = found is not None and found[0] != found[1] and keeps(found)
        (adapted if needless or kept_on else altered).add(id)
    for id in (was.passed | failed) & now.passed:
        found = tests.sides(id)
        if id in unedited.passed and not (only_tests and found):
            continue  # it needs no edit
        if found is None:
            if (unread := tests.find_unread(id)) and not all_keep(unread):
                altered.add(id)
            elif id in was.passed and unedited.fails(id):
                adapted.add(id)  # it is not edited itself: what it uses is
        elif found[0] == found[1]:
            continue  # its file could not be loaded unedited, and it is as it was
        elif keeps(found):
            adapted.add(id)
        else:
            altered.add(id)
    return Older(frozenset(adapted), frozenset(altered))


def find_altered(tests: EditedTests, renames: Mapping[str, str]) -> list[str]:
    """The edited files whose tests claim something else than before, or less."""
    sides = {each.path: _sides_of_tests(each) for each in tests.files}
    return [path for path, (old, new) in sides.items() if not keeps_claims(_follow(old, renames), new)]


def find_renames(code: Changes, request: str) -> dict[str, str]:
    """A name of the request that the code does not know any more, and the one that came in its place."""
    words = _words(request)
    then = _words("\n".join(_decoded(each.before) for each in code))
    now = _words("\n".join(_decoded(each.after) for each in code))
    gone, come = words & then - now, words & now - then
    return {gone.pop(): come.pop()} if len(gone) == len(come) == 1 else {}


def _words(text: str) -> set[str]:
    return {*re.findall(r"\w+", text)}


def _follow(text: str, renames: Mapping[str, str]) -> str:
    for old, new in renames.items():
        text = re.sub(rf"(?<![^\W_]){re.escape(old)}(?![^\W_])", new, text)
    return text


# Read from a request which tests are its goal, and which tests it lets change.

# A request that asks for tests to change, and not only for them to pass.
_CHANGE: Final = (
    r"\b(?:updat|chang|adapt|adjust|edit|modif|rewrit|remov|delet|drop|skip|disabl|renam|mov|replac|simplif|weaken"
    r"|relax|merg|split|parametri|clean|tid|refactor|reorgani|convert|migrat)\w*\b"
    r"(?:\(\)|(?!\b(?:so|that|then|until|makes?|pass(?:es|ing)?|without|unless|while|but|not|keep|see|runs?)\b)"
    r"[^.,;()\n]){0,60}"
)
_TESTS: Final = r"\b(?:tests?|specs?|assertions?)\b(?!\s+(?:pass|succeed|run|are green))"
_NOT: Final = lazy_pattern(r"(?:\bnot|n't|\bwithout|\bnever|\bno)\s+(?:\w+\s+){0,2}$", re.I)
_FORBIDDEN: Final = lazy_pattern(
    r"[^.\n]{0,20}\b(?:is|are)\s+(?:forbidden|prohibited|not\s+(?:allowed|wanted|needed))", re.I
)
# What leaves a program's behaviour as it is: expected values have no reason to change with it.
_KEEPS: Final = lazy_pattern(
    r"\b(?:fast|speed|optimi[sz]|perform|refactor|clean|tid[yi]|simplif|document|docstring|comment|renam|mov(?:e|ing)"
    r"|extract|inlin|format|reformat|lint|type hint|annotat)\w*",
    re.I,
)
# A file of tests whose failures are to be mended: "fix the failing tests in FILE", "make FILE pass".
_MEND: Final = r"\b(?:fix|repair|mend|solv|pass|green|mak|fail)\w*\b[^.\n]{0,60}"
_LEAST: Final = 5  # letters of a name that is looked for


class Claims(Struct, frozen=True, dict=True):
    """The words about a change: the person's `request`, and the `tests` that the model had to change.

    `tries`: where nobody tries again, a goal that is not reached is the person's to judge.
    """

    request: str = ""
    tests: tuple[str, ...] = ()
    tries: Tries = "none"

    def allow(self, test: str) -> bool:
        """True if the request asks for this test, its file, or tests in general to change."""
        words = (_short(test), table_of(test), *_files_of(test))
        named = (each for each in words if each and each.lower() in self._lower)
        names = (rf"(?<![\w/]){re.escape(each)}(?![\w/])" for each in named)
        return self._allows_tests or any(map(self._asks_to_change, names))

    @cached_property
    def _allows_tests(self) -> bool:
        return self._asks_to_change(_TESTS)

    @cached_property
    def _lower(self) -> str:
        return self.request.lower()

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(re.findall(r"\w+", self.request))

    @cached_property
    def _keeps(self) -> bool:
        return _KEEPS.search(self.request) is not None

    def _asks_to_change(self, what: str) -> bool:
        found = re.finditer(_CHANGE + what, self.request, re.I)
        return any(
            not _NOT.search(self.request[: each.start()]) and not _FORBIDDEN.match(self.request, each.end())
            for each in found
        )

    def mention(self, names: Collection[str]) -> bool:
        """True if the request wants one of these functions to behave otherwise, as far as its words tell."""
        return not self._keeps and self.speak_of(names)

    def spell_out(self, names: Collection[str]) -> bool:
        """True if the request wants one of these functions, written as code, to behave otherwise."""
        return not self._keeps and any(_is_code(name, self.request) for name in names)

    def speak_of(self, names: Collection[str]) -> bool:
        """True if the request speaks of one of these functions."""
        return not self._words.isdisjoint(names)

    def want(self, test: str) -> bool:
        """True if the test is to pass: the request names it, or its file as one with failures to fix."""
        if mentions(self.request, _short(test)) or mentions(self.request, table_of(test)):
            return True
        files = (re.escape(each) for each in _files_of(test) if each.lower() in self._lower)
        return any(
            re.search(
                rf"{_MEND}(?<![\w/]){each}(?![\w/:])|(?<![\w/]){each}\s+(?:\w+\s+)?(?:pass|fail)",
                self.request,
                re.I,
            )
            for each in files
        )

    def concede(self, test: str) -> bool:
        """True if the model says that it had to change this test."""
        return any(_is_named(test, name) for claim in self.tests for name in _names_in(claim))


def _is_code(name: str, text: str) -> bool:
    """True if a text has the name in backquotes or as a call, and not only as a word of its language."""
    return name in text and bool(re.search(rf"`(?:\w+\.)*{re.escape(name)}\b|\b{re.escape(name)}\(", text))


def _names_in(claim: str) -> Iterator[str]:
    """The possible tests in `name: why`; a name may hold a colon itself, as Catch2's scenarios do."""
    parts = claim.split(": ")
    names = (": ".join(parts[:end]) for end in range(1, len(parts) + 1))
    yield from (name for name in names if not name.endswith("Scenario"))


def _is_named(test: str, name: str) -> bool:
    """True for a test, or one of a file, class or table; a part of its id is enough."""
    inside = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", test) if name in test else None
    return inside is not None or test.startswith((f"{name}::", f"{name}["))


def mentions(text: str, name: str) -> bool:
    """True if a text speaks of a name, and not only of one that holds it."""
    return (
        len(name) >= _LEAST
        and name in text
        and bool(re.search(rf"(?<![\w/]){re.escape(name)}(?![\w/])", text))
    )


def _short(test: str) -> str:
    """The last part of a test's name, without its parameters and the number of its program."""
    file, _, rest = test.partition("::")
    if rest and is_js(file):
        return title_of(rest)
    return re.sub(r"\[.*$| \(\d+\)$", "", rest.rpartition("::")[2] or test.rpartition(".")[2])


def table_of(test: str) -> str:
    """The title of a table of jest or vitest as its file has it; "" for all else."""
    file, _, rest = test.partition("::")
    return re.sub(r"\[.*$", "", rest.rpartition(BETWEEN)[2], flags=re.S) if is_js(file) else ""


def _files_of(test: str) -> Iterator[str]:
    """The file of a test as it may be named: pytest's ids say it, unittest's name modules."""
    file, found, _ = test.partition("::")
    if found or "/" in file:
        yield file
        return
    parts = file.split(".")
    yield from ("/".join(parts[:end]) + ".py" for end in range(1, len(parts)))
