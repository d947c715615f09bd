"""How tools answer: a result with a line for people, or a refusal in words for the model."""

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Any

from kith.core.errors import AbsentError, TreeError
from kith.core.run import Run
from kith.core.values import Fault, ToolResult

Fn = Callable[[Mapping[str, Any], Run], Awaitable[ToolResult]]


def told(text: str, line: str, **detail: Any) -> ToolResult:
    """An answer; `line` is its one line for people. The loop fills in the call's id."""
    return ToolResult("", text, detail={"line": line, **detail})


def refused(text: str, fault: Fault = "") -> ToolResult:
    """A mistake the model can mend: what is wrong, and what to do instead."""
    return ToolResult("", text, ok=False, detail={"line": text.split("\n", 1)[0]}, fault=fault)


def fault_of(error: TreeError) -> Fault:
    """Why a tree refused, where a reader has to know it."""
    return "absent" if isinstance(error, AbsentError) else ""


def in_words(fn: Fn) -> Fn:
    """A tool in which refusals of the tree, and text that no file can hold, become answers to the model."""

    @wraps(fn)
    async def answer(args: Mapping[str, Any], run: Run) -> ToolResult:
        try:
            return await fn(args, run)
        except TreeError as error:
            return refused(sentence(error), fault_of(error))
        except UnicodeEncodeError as error:
            half = error.object[error.start]
            return refused(f"The arguments hold half a character ({half!a}): send whole characters only.")

    return answer


def sentence(error: Exception) -> str:
    """An error's words, closed with a full stop."""
    return f"{str(error).rstrip('.')}."
