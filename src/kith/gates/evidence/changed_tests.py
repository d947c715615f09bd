"""Find the tests that a request names or may change, and the edits of a change to older tests."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from posixpath import splitext
from textwrap import dedent
from typing import Final

from msgspec import Struct

from kith.context.source import CPP_ENDINGS
from kith.core.evidence import Tries
from kith.core.patterns import lazy_pattern
from kith.core.values import Change, Changes
from kith.gates.reports import SuiteReport
from kith.gates.suites import can_split, find_parts, part_of
from kith.gates.untouched import is_runner_file, is_test_file, runner_settings

# What the text of a test claims, so that an adapted test can be told from one that claims something
# else.

# What a test claims: values, comparisons, assertions, kinds of errors. Names may change as the code's do.
_CLAIMS: Final = lazy_pattern(
    r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|\b\d[\w.]*|[=!<>]=|(?<![-=<])[<>](?![=<>])"
    r"|\b(?:not|in|is|None|True|False|true|false|null|nullptr)\b"
    r"|\b(?:assert\w*|(?:EXPECT|ASSERT|REQUIRE|CHECK)\w*|\w+(?:Error|Exception|Warning))\b"
)
SKIP: Final = lazy_pattern(
    r"\bskip\w*\b|\bxfail\b|\bexpectedFailure\b|\bDISABLED_|\bGTEST_SKIP\b|\[!?\.?(?:hide|mayfail|shouldfail)\]|"
    r"\b(?:xit|xdescribe|xtest)\s*\(|#\[ignore\b|\bt\.Skip",
    re.I,
)
# Where a test may end early, bear what went wrong, or claim the opposite.
_WAYS_OUT: Final = lazy_pattern(
    r"\b(?:return|if|except|catch|suppress|exit|not|or|while|lambda|def|pass)\b|!(?!=)|\|\|", re.I
)
_COMMENT: Final = lazy_pattern(
    r"(?:(?<=\s)|^)(?:#(?!\s*(?:if|el|endif|define|undef|include|pragma)\w*)|//)[^\n]*", re.M
)


def keeps_claims(old: str, new: str) -> bool:
    """True if a test still asserts everything, in the same order and without new skips."""
    old, new = (_COMMENT.sub("", text) for text in (old, new))
    if any(len(out.findall(new)) > len(out.findall(old)) for out in (SKIP, _WAYS_OUT)):
        return False
    then, now = _statements(old), _statements(new)
    if then is None or now is None:
        then, now = ([[claim] for claim in _claims(text)] for text in (old, new))
    rest = iter(now)
    return all(statement in rest for statement in then)


def _statements(text: str) -> list[list[str]] | None:
    """List the assertions of each statement of a Python test, in order; None for other languages."""
    try:
        tree = ast.parse(dedent(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    told = (_claims(ast.unparse(part)) for node in _in_order(tree) for part in _parts(node))
    return [each for each in told if each]


def _parts(node: ast.stmt) -> Sequence[ast.AST]:
    """Return a statement's own expressions, without the statements inside it."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return [*node.decorator_list, node.args]
        case ast.ClassDef():
            return node.decorator_list
        case ast.For() | ast.AsyncFor():
            return [node.iter]
        case ast.While() | ast.If():
            return [node.test]
        case ast.With() | ast.AsyncWith():
            return node.items
        case ast.Try():
            return []
        case _:
            return [node]


def _in_order(tree: ast.AST) -> Iterator[ast.stmt]:
    """Every statement, each before those inside it."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.stmt):
            yield child
        yield from _in_order(child)


def _claims(text: str) -> list[str]:
    return [re.sub(r"^'(.*)'$", r'"\1"', claim) for claim in _CLAIMS.findall(text)]


_ASSERTION: Final = lazy_pattern(
    r"\bassert\w*\b|\b(?:EXPECT|ASSERT|REQUIRE|CHECK)\w*\s*\(|\bexpect\s*\(|\.(?:raises|warns|fail)\s*\(|"
    r"\bt\.(?:Error|Fatal|Fail)\w*\("
)
_ALIKE: Final = 0.7  # how much of two tests is the same, where one is the other under a new name


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


def find_tampering(changes: Changes) -> Tampering:
    """Find edits that weaken tests or alter how they run, as far as the text of files shows."""
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
        return _decoded(source or b"")


def _weakened(change: Change, changes: Changes) -> Iterator[str]:
    before, after = change.before or b"", change.after or b""
    if not can_split(change.path):
        if change.after is None or _is_weaker(_decoded(before), _decoded(after)):
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


def _decoded(source: bytes) -> str:
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
    """True if the test `id` still exists under another name, as strict as before."""
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
    changes: Changes,
    renames: Mapping[str, str] = {},
) -> Older:
    """Compare the edited tests with their old versions.

    `unedited` is a run of the change without its edits of older tests (of the untouched tree, where these are
    the whole change). If nothing could be built, all of them count as failed. `renames` are names that the
    request changes: an edit that only follows them asserts the same.
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
    """True if a test may be in one of these files, whose tests cannot be told apart."""
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
    """True if a test with this id may be in the file: pytest's ids tell the path, others may not."""
    file = id.partition("::")[0]
    return file == path or not file.endswith(".py")


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


class Claims(Struct, frozen=True):
    """The words about a change: the person's `request`, the `tests` that the model had to change.

    `tries`: where nobody tries again, a goal that is not reached is the person's to judge.
    """

    request: str = ""
    tests: tuple[str, ...] = ()
    tries: Tries = "none"

    def allow(self, test: str) -> bool:
        """True if the request asks for this test, its file, or tests in general to change."""
        names = (
            rf"(?<![\w/]){re.escape(each)}(?![\w/])" for each in (_short(test), *_files_of(test)) if each
        )
        return any(map(self._asks_to_change, (_TESTS, *names)))

    def _asks_to_change(self, what: str) -> bool:
        found = re.finditer(_CHANGE + what, self.request, re.I)
        return any(
            not _NOT.search(self.request[: each.start()]) and not _FORBIDDEN.match(self.request, each.end())
            for each in found
        )

    def mention(self, names: Collection[str]) -> bool:
        """True if the request wants one of these functions to behave otherwise, as far as its words tell."""
        return not _KEEPS.search(self.request) and self.speak_of(names)

    def speak_of(self, names: Collection[str]) -> bool:
        """True if the request speaks of one of these functions."""
        return not {*re.findall(r"\w+", self.request)}.isdisjoint(names)

    def want(self, test: str) -> bool:
        """True if the test is to pass: the request names it, or its file as one with failures to fix."""
        if mentions(self.request, _short(test)):
            return True
        files = (re.escape(each) for each in _files_of(test))
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
        return any(
            test == each or test.startswith((f"{each}::", f"{each}[")) or each in test for each in self.tests
        )


def mentions(text: str, name: str) -> bool:
    """True if a text speaks of a name, and not only of one that holds it."""
    return len(name) >= _LEAST and re.search(rf"(?<![\w/]){re.escape(name)}(?![\w/])", text) is not None


def _short(test: str) -> str:
    """The last part of a test's name, without its parameters."""
    rest = test.partition("::")[2]
    return re.sub(r"\[.*$", "", rest.rpartition("::")[2] or test.rpartition(".")[2])


def _files_of(test: str) -> Iterator[str]:
    """The file of a test as it may be named: pytest's ids say it, unittest's name modules."""
    file, found, _ = test.partition("::")
    if found or "/" in file:
        yield file
        return
    parts = file.split(".")
    yield from ("/".join(parts[:end]) + ".py" for end in range(1, len(parts)))
