"""Work given to another model: who there is and how well each does, and one piece of work handed over."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import CallTarget, ToolResult
from kith.tools.answers import in_words, refused, told

# The models that work can be given to, with what was measured of each, as text.
Describe = Callable[[], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Errand:
    """A piece of work for another model. `check`: a command that succeeds when it is done, "" for none."""

    model: str
    task: str
    context: str = ""
    check: str = ""


@dataclass(frozen=True, slots=True)
class Returned:
    """What came of an errand, in words for the model that gave it, and in a line for people."""

    ok: bool
    text: str
    line: str


Entrust = Callable[[Errand, Run], Awaitable[Returned]]


def make_delegation(describe: Describe, entrust: Entrust) -> tuple[Tool, Tool]:
    """`models` tells who there is, `delegate` gives one of them work in the same trial."""

    async def tell(args: Mapping[str, Any], run: Run) -> ToolResult:
        table = await describe()
        return told(table, f"{max(len(table.splitlines()) - 1, 0)} rows")

    @in_words
    async def delegate(args: Mapping[str, Any], run: Run) -> ToolResult:
        errand = Errand(*(str(args.get(key, "")).strip() for key in ("model", "task", "context", "check")))
        if not errand.task:
            return refused("task is empty: say what is to be done, and how one sees that it is.")
        returned = await entrust(errand, run)
        return told(returned.text, returned.line) if returned.ok else refused(returned.text)

    nothing = {"type": "object", "properties": {}}
    texts = {name: {"type": "string"} for name in ("model", "task", "context", "check")}
    work = {"type": "object", "properties": texts, "required": ["model", "task"]}
    return (
        Tool("models", "List the local models and what was measured of each.", nothing, "read", tell),
        Tool(
            "delegate",
            "Let a local model do one small, closed task in this trial. context: what it must know; it sees "
            "nothing of this conversation. check: a command that succeeds when it is done.",
            work,
            "write",
            delegate,
            lambda args: CallTarget(str(args.get("model", ""))),
        ),
    )
