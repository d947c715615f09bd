"""Tell the model, right behind an edit, what the change breaks: syntax, names, imports, lint, tests."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from kith.agent.judges import FindFailures
from kith.agent.lint_notes import find_lint_errors, harmless_linters
from kith.core.errors import TreeError
from kith.core.model import Tool, ToolFn
from kith.core.run import Run, Thread
from kith.core.values import Changes, Finding, ToolResult
from kith.core.workspace import Trial
from kith.gates.evidence.feedback import describe_case
from kith.gates.linters import Linter
from kith.gates.reports import CaseResult
from kith.gates.soundness import find_faults, word_fault
from kith.gates.soundness.fault import Fault
from kith.tools.answers import refused

_EDITS: Final = frozenset({"edit", "write"})
_SHOWN: Final = 3  # faults in a line
_Key = tuple[str, ...]  # what makes two findings the same
_Told = tuple[str, str]  # a finding's place ("" where it has none), and its words
_TOO_SLOW: Final = 2  # looks that ran out of time; then tests and linters wait for the end of the task


class EditChecks:
    """The look at a change after the last edit of each reply, within `seconds`; 0: none.

    What is wrong is told once, until it was gone, and once more where the model calls `done` in spite of it.
    `untouched` is a run on the tree without the change. The line is part of the tool's result, so nothing
    that was sent before changes.
    """

    def __init__(self, untouched: Run, thread: Thread, seconds: float, failures: FindFailures) -> None:
        self._untouched, self._thread, self._seconds = untouched, thread, seconds
        self._find_failures = failures
        self._looked_at: Changes | None = None
        self._found: Mapping[_Key, _Told] = {}
        self._asked: frozenset[_Key] = frozenset()
        self._late = 0
        self._linters: Sequence[Linter] | None = None  # the tree's when first needed; absent ones go

    def telling(self, tools: Sequence[Tool]) -> tuple[Tool, ...]:
        """The same tools; those that edit tell what is wrong now, and `done` asks about it."""
        if not self._seconds:
            return tuple(tools)
        return tuple(map(self._wrapped, tools))

    def _wrapped(self, tool: Tool) -> Tool:
        if tool.name == "done":
            return replace(tool, fn=self._asking(tool.fn))
        return replace(tool, fn=self._telling(tool.fn)) if tool.name in _EDITS else tool

    def _telling(self, use: ToolFn) -> ToolFn:
        async def tell(args: Mapping[str, Any], run: Run) -> ToolResult:
            result = await use(args, run)
            if not result.ok or self._more_follows():
                return result
            known = self._found.keys()
            await self._look(run)
            new = [words for key, words in self._found.items() if key not in known]
            return (
                replace(result, text=f"{result.text}\n\n[With this change: {_in_line(new)}.]")
                if new
                else result
            )

        return tell

    def _asking(self, use: ToolFn) -> ToolFn:
        async def ask(args: Mapping[str, Any], run: Run) -> ToolResult:
            await self._look(run)
            left = [words for key, words in self._found.items() if key not in self._asked]
            self._asked |= self._found.keys()
            if not left:
                return await use(args, run)
            told = _in_line(left).removesuffix(".")
            return refused(f"With your change: {told}. Correct it, or call done again.")

        return ask

    def _more_follows(self) -> bool:
        """True while the same reply holds another edit: together they may be right."""
        return any(call.name in _EDITS for call in self._thread.pending[1:])

    async def _look(self, run: Run) -> None:
        """Find what is wrong with the change as it is now."""
        trial = run.workspace
        if not isinstance(trial, Trial):
            return
        try:
            async with asyncio.timeout(self._seconds):
                changes = await trial.changes()
                if changes == self._looked_at:
                    return
                faults = await find_faults(run, changes, self._untouched)
            found = {_key(each): _describe(each) for each in faults if not _is_told(each)}
            if not faults:  # else they would be the reason for all that fails
                found = await self._find_by_tools(run, changes)
        except (TimeoutError, TreeError):
            return
        self._looked_at, self._found = changes, found

    async def _find_by_tools(self, run: Run, changes: Changes) -> dict[_Key, _Told]:
        """Ask linters and tests; not any more where they were too slow before."""
        if self._late >= _TOO_SLOW:
            return {}
        try:
            async with asyncio.timeout(self._seconds):
                if self._linters is None:
                    self._linters = await harmless_linters(run)
                (findings, absent), cases = await asyncio.gather(
                    find_lint_errors(self._linters, self._untouched, run, changes, self._seconds),
                    self._find_failures(run, changes, self._seconds),
                )
        except TimeoutError:
            self._late += 1
            return {}
        self._linters = tuple(each for each in self._linters if each.name not in absent)
        linted = {_key_of_finding(each): _describe_finding(each) for each in findings}
        return linted | {_key_of_case(each): ("", describe_case(each)) for each in cases}


def _in_line(found: Iterable[_Told]) -> str:
    """Findings in one line, each said once with its places; of many findings or places the first ones."""
    places = dict[str, list[str]]()
    for place, words in found:
        places.setdefault(words, []).append(place)
    told = [f"{_listed(where, ', ')}: {words}" if where[0] else words for words, where in places.items()]
    return _listed(told, "; ")


def _listed(parts: Sequence[str], between: str) -> str:
    more = f"{between}and {len(parts) - _SHOWN} more" if parts[_SHOWN:] else ""
    return f"{between.join(parts[:_SHOWN])}{more}"


def _key(fault: Fault) -> _Key:
    return fault.path, fault.kind, fault.detail


def _key_of_finding(finding: Finding) -> _Key:
    return finding.path, finding.by, finding.rule, finding.text


def _key_of_case(case: CaseResult) -> _Key:
    return "test", case.id


def _describe(fault: Fault) -> _Told:
    return f"{fault.path}:{fault.line}", word_fault(fault)


def _describe_finding(finding: Finding) -> _Told:
    return f"{finding.path}:{finding.line}", f"{finding.text} ({finding.by})"


def _is_told(fault: Fault) -> bool:
    """True for Python's syntax, which the edit itself reports."""
    return fault.kind == "syntax" and fault.path.endswith((".py", ".pyi"))
