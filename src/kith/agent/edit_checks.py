"""Tell the model, right behind an edit, what the change breaks: syntax, names, imports, lint, tests."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from kith.agent.judges import FindFailures
from kith.core.errors import TreeError
from kith.core.model import Tool, ToolFn
from kith.core.run import Run, Thread
from kith.core.values import Changes, Finding, ToolResult
from kith.core.workspace import Trial
from kith.gates.evidence.feedback import describe_case
from kith.gates.lint_notes import find_lint_errors
from kith.gates.reports import CaseResult
from kith.gates.soundness import describe_fault, find_faults
from kith.gates.soundness.fault import Fault

_EDITS: Final = frozenset({"edit", "write"})
_SHOWN: Final = 3  # faults in a line
_TOO_SLOW: Final = 2  # looks that ran out of time; then tests and linters wait for the end of the task


class EditChecks:
    """The look at a change after the last edit of each reply, within `seconds`; 0: none.

    What is wrong is told once, until it was gone. `untouched` is a run on the tree without the change. The
    line is part of the tool's result, so nothing that was sent before changes.
    """

    def __init__(self, untouched: Run, thread: Thread, seconds: float, failures: FindFailures) -> None:
        self._untouched, self._thread, self._seconds = untouched, thread, seconds
        self._find_failures = failures
        self._known: frozenset[tuple[str, ...]] = frozenset()
        self._late = 0

    def telling(self, tools: Sequence[Tool]) -> tuple[Tool, ...]:
        """The same tools; those that edit tell what is wrong now."""
        if not self._seconds:
            return tuple(tools)
        return tuple(
            replace(tool, fn=self._telling(tool.fn)) if tool.name in _EDITS else tool for tool in tools
        )

    def _telling(self, use: ToolFn) -> ToolFn:
        async def tell(args: Mapping[str, Any], run: Run) -> ToolResult:
            result = await use(args, run)
            if not result.ok or self._more_follows():
                return result
            new = await self._find_new(run)
            if not new:
                return result
            words = "; ".join(new[:_SHOWN])
            more = f"; and {len(new) - _SHOWN} more" if new[_SHOWN:] else ""
            return replace(result, text=f"{result.text}\n\n[With this change: {words}{more}.]")

        return tell

    def _more_follows(self) -> bool:
        """True while the same reply holds another edit: together they may be right."""
        return any(call.name in _EDITS for call in self._thread.pending[1:])

    async def _find_new(self, run: Run) -> list[str]:
        """What is wrong now and was not told, in words."""
        trial = run.workspace
        if not isinstance(trial, Trial):
            return []
        try:
            async with asyncio.timeout(self._seconds):
                changes = await trial.changes()
                faults = await find_faults(run, changes, self._untouched)
            found = {_key(each): describe_fault(each) for each in faults if not _is_told(each)}
            if not faults:  # else they would be the reason for all that fails
                found = await self._find_by_tools(run, changes)
        except (TimeoutError, TreeError):
            return []
        new = [words for key, words in found.items() if key not in self._known]
        self._known = frozenset(found)
        return new

    async def _find_by_tools(self, run: Run, changes: Changes) -> dict[tuple[str, ...], str]:
        """What linters and tests say; nothing any more where they were too slow before."""
        if self._late >= _TOO_SLOW:
            return {}
        try:
            async with asyncio.timeout(self._seconds):
                findings, cases = await asyncio.gather(
                    find_lint_errors(self._untouched, run, changes, self._seconds),
                    self._find_failures(run, changes, self._seconds),
                )
        except TimeoutError:
            self._late += 1
            return {}
        linted = {_key_of_finding(each): _describe_finding(each) for each in findings}
        return linted | {_key_of_case(each): describe_case(each) for each in cases}


def _key(fault: Fault) -> tuple[str, ...]:
    return fault.path, fault.kind, fault.detail


def _key_of_finding(finding: Finding) -> tuple[str, ...]:
    return finding.path, finding.by, finding.rule, finding.text


def _key_of_case(case: CaseResult) -> tuple[str, ...]:
    return "test", case.id


def _describe_finding(finding: Finding) -> str:
    return f"{finding.path}:{finding.line}: {finding.text} ({finding.by})"


def _is_told(fault: Fault) -> bool:
    """True for Python's syntax, which the edit itself reports."""
    return fault.kind == "syntax" and fault.path.endswith((".py", ".pyi"))
