"""Tell the model, right behind an edit, what the change leaves undefined, unimportable or unreadable."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from kith.core.errors import TreeError
from kith.core.model import Tool, ToolFn
from kith.core.run import Run, Thread
from kith.core.values import ToolResult
from kith.core.workspace import Trial
from kith.gates.soundness import describe_fault, find_faults
from kith.gates.soundness.fault import Fault

_EDITS: Final = frozenset({"edit", "write"})
_SHOWN: Final = 3  # faults in a line


class EditChecks:
    """The look at a change after the last edit of each reply, within `seconds`; 0: none.

    A fault is told once, until it was gone. `untouched` is a run on the tree without the change. The line is
    part of the tool's result, so nothing that was sent before changes.
    """

    def __init__(self, untouched: Run, thread: Thread, seconds: float) -> None:
        self._untouched, self._thread, self._seconds = untouched, thread, seconds
        self._known: frozenset[tuple[str, str, str]] = frozenset()

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
            faults = await self._find_new(run)
            if not faults:
                return result
            words = "; ".join(map(describe_fault, faults[:_SHOWN]))
            more = f"; and {len(faults) - _SHOWN} more" if faults[_SHOWN:] else ""
            return replace(result, text=f"{result.text}\n\n[With this change: {words}{more}.]")

        return tell

    def _more_follows(self) -> bool:
        """True while the same reply holds another edit: together they may be right."""
        return any(call.name in _EDITS for call in self._thread.pending[1:])

    async def _find_new(self, run: Run) -> list[Fault]:
        trial = run.workspace
        if not isinstance(trial, Trial):
            return []
        try:
            async with asyncio.timeout(self._seconds):
                found = await find_faults(run, await trial.changes(), self._untouched)
        except (TimeoutError, TreeError):
            return []
        faults = {_key(each): each for each in found if not _is_told(each)}
        new = [fault for key, fault in faults.items() if key not in self._known]
        self._known = frozenset(faults)
        return new


def _key(fault: Fault) -> tuple[str, str, str]:
    return fault.path, fault.kind, fault.detail


def _is_told(fault: Fault) -> bool:
    """True for Python's syntax, which the edit itself reports."""
    return fault.kind == "syntax" and fault.path.endswith((".py", ".pyi"))
