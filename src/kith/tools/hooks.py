"""Tools whose calls are shown to hooks: before they run, and with their results."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Protocol

from kith.core.model import Beforehand, Tool
from kith.core.run import Run
from kith.core.values import ToolResult

Moment = Literal["start", "before_tool", "after_tool", "stop"]
_REFUSED: Final = "This was not allowed by a hook: {}"
_MOST: Final = 10_000  # characters of a hook's words that a model gets


@dataclass(frozen=True, slots=True)
class Said:
    """What the hooks of one moment said together: why no, other arguments, words for the model."""

    refusal: str = ""
    args: Mapping[str, Any] | None = None
    words: str = ""

    @property
    def no(self) -> str:
        """The refusal as a sentence; "" where there is none."""
        return f"A hook says no: {self.refusal}" if self.refusal else ""

    def then(self, more: "Said") -> "Said":
        """This, and what the next hook said."""
        words = "\n".join(filter(None, (self.words, more.words)))
        return Said(_cut(more.refusal), self.args if more.args is None else more.args, _cut(words))


class Hooks(Protocol):
    """Whoever runs hooks."""

    def hears(self, moment: Moment, tool: str = "") -> bool:
        """Whether there is a hook for this."""

    async def tell(self, run: Run, moment: Moment, told: Mapping[str, Any]) -> Said:
        """Run them one after the other, until one says no."""


def show_calls(tools: tuple[Tool, ...], hooks: Hooks) -> tuple[Tool, ...]:
    """The same tools; hooks see each call before the policy does, and each result before the model does."""
    return tuple(_shown(tool, hooks) for tool in tools)


def _shown(tool: Tool, hooks: Hooks) -> Tool:
    async def look(args: Mapping[str, Any], run: Run) -> Beforehand:
        said = await hooks.tell(run, "before_tool", _call(tool, args))
        if said.refusal:
            return Beforehand(args, refusal=_REFUSED.format(said.refusal))
        if said.args is None or said.args == args:
            return Beforehand(args, said.words)
        changed = f"(A hook changed this call: it ran with {json.dumps(said.args, ensure_ascii=False):.500})"
        return Beforehand(said.args, "\n".join(filter(None, (changed, said.words))))

    async def use(args: Mapping[str, Any], run: Run) -> ToolResult:
        result = await tool.fn(args, run)
        said = await hooks.tell(
            run, "after_tool", {**_call(tool, args), "result": result.text, "ok": result.ok}
        )
        no = _REFUSED.format(said.refusal) if said.refusal else ""
        text = "\n".join(filter(None, (result.text, no, said.words)))
        if not no:
            return replace(result, text=text)
        # Where it would have ended the work, the work goes on.
        detail = {key: value for key, value in result.detail.items() if key != "final"}
        return replace(result, text=text, ok=False, detail=detail | {"line": no}, fault="denied")

    before, after = hooks.hears("before_tool", tool.name), hooks.hears("after_tool", tool.name)
    shown = replace(tool, beforehand=look) if before else tool
    return replace(shown, fn=use) if after else shown


def _call(tool: Tool, args: Mapping[str, Any]) -> dict[str, Any]:
    return {"tool": tool.name, "effect": tool.effect_for(args), "args": dict(args)}


def _cut(words: str) -> str:
    return words if len(words) <= _MOST else f"{words[:_MOST]}\n(cut: a hook said more than fits here)"
