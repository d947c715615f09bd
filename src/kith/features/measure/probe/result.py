"""Define a probe's result, and the rules that turn it into words and a card."""

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import asdict

State = Literal["passed", "failed", "not tested"]

ANSWER, STOP, DEPTH, THINK_OFF = "simple question", "ends by itself", "long prompt", "thinking off"
ONE_TOOL, CHOICE, NESTED = "one tool", "choice of tools", "nested arguments"
EDIT_TOOL, BLOCK, WHOLE, DIFF = "edit tool", "search/replace", "whole file", "diff"
CODE, SHAPE, AFTER = "code argument", "constrained call", "goes on after a tool"
ORDER = (
    ANSWER,
    STOP,
    ONE_TOOL,
    AFTER,
    CHOICE,
    NESTED,
    SHAPE,
    EDIT_TOOL,
    BLOCK,
    WHOLE,
    DIFF,
    CODE,
    THINK_OFF,
    DEPTH,
)
TOOL_CALLS, EDITS = (ONE_TOOL, CHOICE, NESTED), (EDIT_TOOL, BLOCK, WHOLE, DIFF)

SLOW_WRITING = 3.0  # tokens/s: a person reads faster
SLOW_READING = 40.0  # tokens/s: a prompt of 8,000 tokens takes over three minutes


class Item(Struct, frozen=True):
    """One thing that was tried; `why` says what went wrong, or why it was not tested ("" when it passed)."""

    name: str
    state: State
    why: str = ""


class Speed(Struct, frozen=True):
    """Tokens a second of one call whose prompt had `depth` tokens, none of them cached; 0.0 is unknown.

    `by`: the server measured it, or our own clock did, which counts the way there and back.
    """

    depth: int
    read_rate: float
    write_rate: float
    by: Literal["server", "clock"]


class ProbeResult(Struct, frozen=True):
    """All that was measured of one model in `seconds`. Only what was tried is said of it.

    `thinking_tokens`: what it spent on a trivial question before it answered, or until it was stopped.
    """

    model: str
    seconds: float
    items: tuple[Item, ...]
    speeds: tuple[Speed, ...] = ()
    thinks: bool = False
    thinking_tokens: int = 0

    def state(self, name: str) -> State:
        """Return the state of an item; "not tested" for one that was not reached."""
        return next((item.state for item in self.items if item.name == name), "not tested")

    @property
    def read_rate(self) -> float:
        """Prompt tokens read a second, at the greatest depth that was measured; 0.0 when unknown."""
        return next((speed.read_rate for speed in reversed(self.speeds) if speed.read_rate), 0.0)

    @property
    def write_rate(self) -> float:
        """Tokens written a second, at the greatest depth that was measured; 0.0 when unknown."""
        return next((speed.write_rate for speed in reversed(self.speeds) if speed.write_rate), 0.0)

    @property
    def rung(self) -> str:
        """Return the way of calling tools: "native", "constrained", "text", or "" when none worked."""
        failed = "failed" in (self.state(ONE_TOOL), self.state(CHOICE))
        if self.state(ONE_TOOL) == "passed" and not failed:
            return "native"
        if self.state(SHAPE) == "passed":
            return "constrained"
        written = self.state(BLOCK) == "passed" or self.state(WHOLE) == "passed"
        return "text" if written and failed else ""

    @property
    def good_for(self) -> tuple[str, ...]:
        """List the abilities that it showed, the best first."""
        calls = self._passed(TOOL_CALLS)
        sound = self.state(STOP) == "passed"
        edits = self._passed(EDITS)
        words = {
            "agent work": len(calls) > 1
            and calls == self._tested(TOOL_CALLS)
            and sound
            and self.state(AFTER) != "failed",
            "one tool at a time": calls == (ONE_TOOL,) and len(self._tested(TOOL_CALLS)) > 1,
            "edits by tool": EDIT_TOOL in edits,
            "edits as search/replace": BLOCK in edits,
            "small files, whole-file edits": edits == (WHOLE,),
            "edits as diffs": edits == (DIFF,),
            "code in tool arguments": self.state(CODE) == "passed",
            "questions": self.state(ANSWER) == "passed" and sound and not calls,
        }
        return tuple(word for word, true in words.items() if true)

    @property
    def not_for(self) -> tuple[str, ...]:
        """List the abilities that it lacks."""
        calls, asked = self._passed(TOOL_CALLS), self._tested(TOOL_CALLS)
        words = {
            "agent work": bool(asked) and not calls,
            "many tools": ONE_TOOL in calls and self.state(CHOICE) == "failed",
            "steps after a tool: it stops dead": self.state(AFTER) == "failed",
            "edits": len(self._tested(EDITS)) > 1 and not self._passed(EDITS),
            "code in tool arguments": self.state(CODE) == "failed",
            "questions": self.state(ANSWER) == "failed",
            "unattended work: it does not stop": self.state(STOP) == "failed",
            "quick steps: it always thinks first": self.thinks and self.state(THINK_OFF) == "failed",
            f"long answers ({self.write_rate:.1f} tokens/s)": 0 < self.write_rate < SLOW_WRITING,
            f"large prompts ({self.read_rate:.0f} tokens/s)": 0 < self.read_rate < SLOW_READING,
        }
        return tuple(word for word, true in words.items() if true)

    @property
    def facts(self) -> dict[str, Any]:
        """Convert to plain data for the model's card. Unmeasured values are left out."""
        probe = {
            "seconds": round(self.seconds, 1),
            "speeds": [asdict(speed) for speed in self.speeds],
            "items": [asdict(item) for item in self.items],
            "thinks": self.thinks,
            "thinking_tokens": self.thinking_tokens,
            "good_for": list(self.good_for),
            "not_for": list(self.not_for),
        }
        measured = {"read_rate": self.read_rate, "write_rate": self.write_rate, "rung": self.rung}
        return {"probe": probe, **{key: value for key, value in measured.items() if value}}

    def _tested(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in names if self.state(name) != "not tested")

    def _passed(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in names if self.state(name) == "passed")
