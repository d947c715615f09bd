"""Two runs of the same tests, before and after a change, held against each other test by test."""

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kith.core.values import Change, Changes
from kith.gates.changed import touched_lines
from kith.gates.evidence.signature import signature_of, stage_of
from kith.gates.reports import CaseResult, SuiteReport


@dataclass(frozen=True, slots=True)
class Comparison:
    """The ids of tests by what became of them.

    `lost` passed before and do not now: they fail, are skipped or are gone. `worse` failed before and fail in
    another way now, in code that the change touches. `bad` came with the change and fail.
    """

    fixed: frozenset[str] = frozenset()
    failing: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    worse: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    bad: frozenset[str] = frozenset()

    @property
    def broken(self) -> frozenset[str]:
        """What speaks against the change."""
        return self.lost | self.worse | self.bad


def compare(before: SuiteReport, after: SuiteReport, changes: Changes) -> Comparison:
    """What became of each test; `changes` say which code was touched."""
    was, now = ({case.id: case for case in report.cases} for report in (before, after))
    lost, fixed, failing, worse, added, bad = (set[str]() for _ in range(6))
    touched = {change.path: change for change in changes}
    for id, old in was.items():
        new = now.get(id)
        if old.outcome == "passed":
            if new is None or new.outcome != "passed":
                lost.add(id)
        elif old.outcome in ("failed", "error") and new is not None:
            if new.outcome == "passed":
                fixed.add(id)
            elif new.outcome in ("failed", "error"):
                failing.add(id)
                if _is_worse(old, new, touched):
                    worse.add(id)
    unloaded = _unloaded(was.values())
    for id in now.keys() - was.keys():
        red = now[id].outcome in ("failed", "error")
        if not red and _file_of(id) in unloaded:
            fixed.add(id)  # its module could not be loaded before, so it could not pass
        elif red and _file_of(id) in unloaded and _file_of(id) not in touched:
            failing.add(id)
        else:
            (bad if red else added).add(id)
    sets = (fixed, failing - worse, lost, worse, added, bad)
    return Comparison(*map(frozenset, sets))


def _unloaded(cases: Collection[CaseResult]) -> frozenset[str]:
    """The files of tests that could not even be loaded: they stand in the report under their own path."""
    return frozenset(
        case.id for case in cases if case.outcome == "error" and "::" not in case.id and "/" in f"/{case.id}"
    )


def _file_of(id: str) -> str:
    """The file of a test, for runners whose ids say it."""
    return id.partition("::")[0]


def _is_worse(old: CaseResult, new: CaseResult, touched: Mapping[str, Change]) -> bool:
    """Whether a test that failed before now fails for the change's sake, without having got any further."""
    if signature_of(old) == signature_of(new):
        return False
    if not is_in(new, touched):
        return False
    stage, before = stage_of(new), stage_of(old)
    if stage != before:
        return stage < before
    return not _got_further(old, new)


def _got_further(old: CaseResult, new: CaseResult) -> bool:
    """Whether the test's own frame, the outermost one, lies further down than before."""
    if not old.frames or not new.frames:
        return False
    (path, line), (path_now, line_now) = (_place(case.frames[0]) for case in (old, new))
    return path == path_now and line_now > line


def _place(frame: str) -> tuple[str, int]:
    path, _, line = frame.partition(" in ")[0].rpartition(":")
    return path, int(line) if line.isdigit() else 0


def is_in(case: CaseResult, touched: Mapping[str, Change]) -> bool:
    """Whether a failure shows in a function that the change touches, or in its file if functions are unknown."""
    change = touched.get(case.path)
    if change is None:
        return False
    spans = _touched_functions(change)
    return spans is None or any(begin <= case.line <= end for begin, end in spans)


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
