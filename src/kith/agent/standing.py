"""How the checks stand before the change, told to the model once: at the start, or with a tool's result."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from kith.agent.judges import Judges, Stands
from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import ToolResult

WAIT_S: Final = 1.5  # for the checks of the untouched tree, before the model is asked without them
_STEP_S: Final = 0.05
# Characters of a command; of a longer one only what runs the tests of a tree that is built.
_SHOWN: Final = 400


class Standing:
    """What the model was told of the checks, and what it has not been told yet."""

    def __init__(self, judges: Judges) -> None:
        self._judges = judges
        self._open = False  # the model was told that the checks run, and not how they ended

    async def first_words(self) -> str:
        """A line for each check, for the first message ("" for none), after a short wait for results."""
        stands = await self._judges.stands()
        for _ in range(int(WAIT_S / _STEP_S)):
            if all(each.before for each in stands):
                break
            await asyncio.sleep(_STEP_S)
            stands = await self._judges.stands()
        self._open = any(each.before is None for each in stands)
        return "\n".join(filter(None, map(word_stands, stands)))

    async def news(self) -> str:
        """How the checks ended that still ran when the model was first told of them; "" otherwise."""
        if not self._open:
            return ""
        stands = await self._judges.stands()
        if any(each.before is None for each in stands):
            return ""
        self._open = False
        return "\n".join(filter(None, map(word_stands, stands)))

    def telling(self, tools: Sequence[Tool]) -> tuple[Tool, ...]:
        """The same tools; the first result after the checks have ended says how."""
        return tuple(replace(tool, fn=self._telling(tool.fn)) for tool in tools)

    def _telling(self, fn: Any) -> Any:
        async def tell(args: Any, run: Run) -> ToolResult:
            result: ToolResult = await fn(args, run)
            if result.detail.get("final"):
                return result
            words = await self.news()
            return replace(result, text=f"{result.text}\n\n[{words}]") if words else result

        return tell


def word_stands(stands: Stands) -> str:
    """How one check stands, as the model is told."""
    toolchain = stands.toolchain
    command = f"`{toolchain.test if len(toolchain.test) <= _SHOWN else toolchain.run}`"
    if stands.before is None:
        return (
            f"kith checks your change with {command}. It runs on the unchanged files now; the result follows."
        )
    report = stands.before.report
    if report.cases:
        passed, failed = len(report.passed), len(report.failed)
        old = f", {failed} fail (not yours)" if failed else ""
        return f"kith checks your change with {command}. Before it: {passed} tests pass{old}."
    if report.problem:
        return ""
    ended = "succeeds" if report.ok else f"fails with exit code {report.ran.code} (not yours)"
    return f"kith checks your change with {command}. Before it: {ended}."
