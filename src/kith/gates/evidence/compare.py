"""Two runs of the same tests, compared test by test; signatures tell failures apart."""

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from typing import Final

from msgspec import Struct

from kith.core.patterns import lazy_pattern
from kith.core.values import Change, Changes
from kith.edits.rows import touched_lines
from kith.gates.failure_output import TROUBLE, clean_output
from kith.gates.reports import CaseResult, SuiteReport, file_of

# What a failure is, so that the same one is known again: error type, place in the project, message.

_MESSAGE: Final = 400  # characters that count, after what changes from run to run is gone
# What differs between two runs of the same failure: addresses, durations, dates, paths, numbers.
_VOLATILE: Final = tuple(
    (lazy_pattern(pattern), word)
    for pattern, word in (
        (r"0x[0-9a-fA-F]+", "ADDRESS"),
        (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{32,64}\b", "HASH"),
        (r"(?:[A-Za-z]:)?(?:[\\/][\w.+@~-]+){2,}[\\/]?", "PATH"),
        (r"\d+(?:[.,:]\d+)*", "N"),
    )
)
_ERROR: Final = lazy_pattern(
    r"^(?:E\s+)?([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Failed|Warning)\b)"
)
_NOT_STARTED: Final = frozenset(
    {"ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "TabError", "CollectError"}
)
_ASSERTED: Final = frozenset(
    {"AssertionError", "Failed", "AssertionFailedError", "ExpectationError", "failure"}
)


class Signature(Struct, frozen=True):
    """The kind of failure, where in the project it shows, and what it says without what varies."""

    error: str
    path: str
    function: str
    message: str


def signature_of(case: CaseResult) -> Signature:
    """The signature of a test that failed."""
    function = ""
    if case.frames:
        function = case.frames[-1].partition(" in ")[2]
    return Signature(error_of(case), case.path, function, steady(case.message)[:_MESSAGE])


def error_of(case: CaseResult) -> str:
    """The type of the error, without its module; "" where the message does not name one."""
    if case.error:
        return case.error.rpartition(".")[2]
    for line in case.message.splitlines():
        if found := _ERROR.match(line.strip()):
            return found[1].rpartition(".")[2]
    return "AssertionError" if case.message.lstrip().startswith("assert ") else ""


def stage_of(case: CaseResult) -> int:
    """Return the stage that a failing test reached: 0 not loaded, 1 an error, 2 a failed assertion."""
    error = error_of(case)
    if error in _NOT_STARTED or (case.outcome == "error" and not error):
        return 0
    return 2 if error in _ASSERTED else 1


def steady(text: str) -> str:
    """A text without what changes from run to run."""
    for pattern, word in _VOLATILE:
        text = pattern.sub(word, text)
    return " ".join(text.split())


def fingerprint(output: str) -> str:
    """A digest of a command's output by the lines that sound like trouble, else by all of them.

    The order does not count: parallel builds and tests print in any.
    """
    lines = [line.strip() for line in clean_output(output).splitlines() if line.strip()]
    telling = [line for line in lines if TROUBLE.search(line)] or lines
    return sha256("\n".join(sorted({steady(line) for line in telling})).encode()).hexdigest()[:16]


_CALLED: Final = lazy_pattern(r"\b([A-Za-z_]\w+)\s*\(")


class Comparison(Struct, frozen=True):
    """The ids of tests by what became of them.

    `lost` passed before and do not now: they fail, are skipped or are gone. `worse` failed before and fail in
    another way now, in code that the change touches. `bad` fail and came with the change, or were skipped
    before. `hidden` failed before and are skipped or gone now.
    """

    fixed: frozenset[str] = frozenset()
    failing: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    worse: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    bad: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()

    @property
    def broken(self) -> frozenset[str]:
        """The tests that count against the change."""
        return self.lost | self.worse | self.bad


def compare(before: SuiteReport, after: SuiteReport, changes: Changes) -> Comparison:
    """Compare the results of each test; `changes` tell which code was touched."""
    was, now = before.by_id, after.by_id
    lost, worse, hidden = set[str](), set[str](), set[str]()
    unloaded = _unloaded(was.values())
    touched = {change.path: change for change in changes}
    fixed, added, failing, bad = _sort_new(was, now, touched)
    for id, old in was.items():
        new = now.get(id)
        outcome = new.outcome if new else "gone"
        if old.outcome == "passed":
            if outcome != "passed":
                lost.add(id)
        elif old.outcome in ("failed", "error") and outcome in ("gone", "skipped"):
            if id not in unloaded:
                hidden.add(id)
        elif new is None:
            continue
        elif old.outcome == "skipped":
            if outcome in ("failed", "error"):
                bad.add(id)  # it runs for the change's sake, as one that is added does
        elif outcome == "passed":
            fixed.add(id)
        elif outcome in ("failed", "error"):
            failing.add(id)
            if _is_worse(old, new, touched):
                worse.add(id)
    gone = {id for id in lost | hidden if file_of(id) not in touched}
    renewed = find_renewed(gone, before, after)
    sets = (fixed, failing - worse, lost - renewed, worse, beside(added, renewed), bad, hidden - renewed)
    return Comparison(*map(frozenset, sets))


def beside(added: Collection[str], renewed: Collection[str]) -> frozenset[str]:
    """The new cases of other functions than those whose cases only changed their parameters."""
    functions = set(map(_function_of, renewed))
    return frozenset(id for id in added if _function_of(id) not in functions)


_AT_RANDOM: Final = lazy_pattern(
    r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\b\d+(?:\.\d+)? ?(?:ns|us|\u00b5s|ms|s|sec|seconds?)\b", re.I
)


def _function_of(id: str) -> str:
    """The id without what differs from run to run: parameters, addresses, durations."""
    return _AT_RANDOM.sub("", id.partition("[")[0])


def find_renewed(gone: Collection[str], before: SuiteReport, after: SuiteReport) -> frozenset[str]:
    """Those of the cases that are gone for which as many new ones of their functions pass.

    Where nobody edited the file, their ids are made at random; else the change altered the parameters.
    """
    was, now = before.by_id, after.by_id
    by_function: dict[str, list[str]] = {}
    for id in gone:
        function = _function_of(id)
        if function != id and id not in now:
            by_function.setdefault(function, []).append(id)
    if not by_function:
        return frozenset()
    fresh = Counter(_function_of(id) for id in now.keys() - was.keys() if now[id].outcome == "passed")
    return frozenset(id for function, ids in by_function.items() if len(ids) <= fresh[function] for id in ids)


def _sort_new(
    was: Mapping[str, CaseResult], now: Mapping[str, CaseResult], touched: Collection[str]
) -> tuple[set[str], set[str], set[str], set[str]]:
    """Tests that were unknown before: fixed, added, failing as their whole file did, bad."""
    fixed, added, failing, bad = (set[str]() for _ in range(4))
    unloaded = _unloaded(was.values())
    untouched = unloaded.difference(touched)
    for id in now.keys() - was.keys():
        if now[id].outcome == "passed":
            (fixed if file_of(id) in unloaded else added).add(id)  # what could not be loaded could not pass
        elif now[id].outcome in ("failed", "error"):
            (failing if file_of(id) in untouched else bad).add(id)
    return fixed, added, failing, bad


def _unloaded(cases: Collection[CaseResult]) -> frozenset[str]:
    """The files of tests that could not even be loaded: the report has them under their own path."""
    return frozenset(
        case.id for case in cases if case.outcome == "error" and "::" not in case.id and "/" in f"/{case.id}"
    )


def _is_worse(old: CaseResult, new: CaseResult, touched: Mapping[str, Change]) -> bool:
    """True if an old failure is now another one, caused by the change, and got no further."""
    if signature_of(old) == signature_of(new):
        return False
    if not is_in(new, touched):
        return False
    stage, before = stage_of(new), stage_of(old)
    if stage != before:
        return stage < before
    return not _got_further(old, new)


def _got_further(old: CaseResult, new: CaseResult) -> bool:
    """True if the test's own frame, the outermost one, is further down than before."""
    if not old.frames or not new.frames:
        return False
    (path, line), (path_now, line_now) = (_place(case.frames[0]) for case in (old, new))
    return path == path_now and line_now > line


def _place(frame: str) -> tuple[str, int]:
    path, _, line = frame.partition(" in ")[0].rpartition(":")
    return path, int(line) if line.isdigit() else 0


def is_in(case: CaseResult, touched: Mapping[str, Change]) -> bool:
    """True if a failure shows in a function that the change touches; in its file, if these are unknown."""
    change = touched.get(case.path)
    if change is None:
        return False
    spans = _touched_functions(change)
    return spans is None or any(begin <= case.line <= end for begin, end in spans)


@lru_cache(maxsize=64)
def _touched_functions(change: Change) -> tuple[tuple[int, int], ...] | None:
    """The first and last lines of the functions with changed lines, and of these lines themselves."""
    if not change.path.endswith(".py") or change.after is None:
        return None
    try:
        tree = ast.parse(change.after)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    lines = touched_lines(change)
    functions = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    inside = [span for span in functions if any(span[0] <= line <= span[1] for line in lines)]
    return (*inside, *((line, line) for line in lines))


def touched_names(changes: Changes) -> frozenset[str]:
    """The names of functions and classes with changed lines; in other languages of all in the file."""
    return frozenset(name for change in changes for name in _names(change))


def find_callers(changes: Changes, names: Collection[str]) -> frozenset[str]:
    """The functions of the changed Python files that use one of these names, in any number of steps."""
    sides = [side for each in changes if each.path.endswith(".py") for side in (each.before, each.after)]
    users = [use for side in sides for use in _uses(side or b"")]
    reached, known = {*names}, -1
    while known < len(reached):
        known = len(reached)
        reached.update(name for name, used in users if not reached.isdisjoint(used))
    return frozenset(reached.difference(names))


def _uses(source: bytes) -> Iterator[tuple[str, frozenset[str]]]:
    """Each function of a Python file, with the names and the own methods that it uses."""
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.name, frozenset(_used(node))


def _used(function: ast.AST) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("self", "cls"):
            yield node.attr


def removed_names(changes: Changes) -> frozenset[str]:
    """The names of functions and classes that the files which held them do not know any more."""
    texts = ((change.after or b"").decode("utf-8", "replace") for change in changes)
    return touched_names(changes) - {name for text in texts for name in re.findall(r"\w+", text)}


def _names(change: Change) -> Iterator[str]:
    if not change.path.endswith(".py"):
        for side in (change.before, change.after):
            yield from _CALLED.findall((side or b"").decode("utf-8", "replace"))
        return
    for one in (change, change.inverse):
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            tree, lines = ast.parse(one.after or b""), touched_lines(one)
            for node in ast.walk(tree):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    span = range(node.lineno, (node.end_lineno or node.lineno) + 1)
                    if not lines.isdisjoint(span):
                        yield node.name
