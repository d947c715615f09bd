"""Remind the model, at the end of a result, of the steps that are left and of what its list leaves open."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from kith.core.events import Event, TodoSet
from kith.core.model import Tool, ToolFn
from kith.core.run import Run, Sink, Thread
from kith.core.values import TodoItem, ToolResult
from kith.tools.answers import refused

_TOLD_AT: Final = (10, 3)  # steps left
_LEAST: Final = 20  # steps of an attempt; with fewer, none are counted aloud
_SHOWN: Final = 3  # open steps of the list


class Reminders:
    """The reminders of one conversation; `steps`: the model's calls in one attempt, `todo`: its list.

    The words are part of results, so that nothing that was sent before changes. A model that ends its work
    with open steps in the list is asked about them, once: where it calls `done`, or stops in words.
    """

    def __init__(self, thread: Thread, steps: int, todo: Sequence[TodoItem]) -> None:
        self._thread, self._steps, self._todo, self._asked = thread, steps, tuple(todo), False
        self._uses_list = False

    def ask_back(self) -> str:
        """The question to a model that stopped in words; none to one that asks something itself.

        A list of an earlier task is not asked about.
        """
        asks = self._thread.last_words.rstrip().endswith("?")
        return self._ask_once("finish in words") if self._uses_list and not asks else ""

    def telling(self, tools: Sequence[Tool]) -> tuple[Tool, ...]:
        """The same tools, with reminders behind their results."""
        return tuple(replace(tool, fn=self._telling(tool.name, tool.fn)) for tool in tools)

    def _telling(self, name: str, use: ToolFn) -> ToolFn:
        async def tell(args: Mapping[str, Any], run: Run) -> ToolResult:
            if name == "done" and (question := self._ask_once("call done")):
                return refused(question)
            result = await use(args, replace(run, sink=self._hear(run)) if name == "todo" else run)
            words = "" if result.detail.get("final") else self._count_steps()
            return replace(result, text=f"{result.text}\n\n[{words}]") if words else result

        return tell

    def _hear(self, run: Run) -> Sink:
        def hear(event: Event, path: tuple[str, ...]) -> None:
            if isinstance(event, TodoSet):
                self._todo, self._asked, self._uses_list = event.items, False, True
            run.sink(event, path)

        return hear

    def _ask_once(self, end: str) -> str:
        left = [item.text for item in self._todo if item.state != "done"]
        if not left or self._asked:
            return ""
        self._asked = True
        more = f" and {len(left) - _SHOWN} more" if left[_SHOWN:] else ""
        named = "; ".join(left[:_SHOWN])
        return f"Your list has open steps: {named}{more}. Do them, or {end} again if they are not needed."

    def _count_steps(self) -> str:
        if self._steps < _LEAST or self._thread.pending[1:]:
            return ""
        left = self._steps - len(self._thread.replies)
        if left not in _TOLD_AT:
            return ""
        advice = " Finish with what works." if left == min(_TOLD_AT) else ""
        return f"{left} of {self._steps} steps are left.{advice}"
