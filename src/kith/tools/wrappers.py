"""Tools in wrappers: calls shown to hooks, a folder's notes told once, and repeated calls noticed."""

import json
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from kith.context.notes import ProjectNote, add_notes
from kith.core.errors import LimitError
from kith.core.line_ranges import passage_of
from kith.core.model import Beforehand, Tool
from kith.core.run import Gate, Run
from kith.core.values import ToolResult
from kith.tools.answers import refused
from kith.tools.paths import clean_path

# Tools whose calls are shown to hooks: before they run, and with their results.

Moment = Literal["start", "before_tool", "after_tool", "stop"]
_REFUSED: Final = "This was not allowed by a hook: {}"
_MOST: Final = 10_000  # characters of a hook's words that a model gets


class HookAnswer(Struct, frozen=True):
    """The combined answer of all hooks at one moment: a refusal, other arguments, words for the model."""

    refusal: str = ""
    args: Mapping[str, Any] | None = None
    words: str = ""

    @property
    def no(self) -> str:
        """The refusal as a sentence; "" where there is none."""
        return f"A hook says no: {self.refusal}" if self.refusal else ""

    def then(self, more: "HookAnswer") -> "HookAnswer":
        """This, and what the next hook said."""
        words = "\n".join(filter(None, (self.words, more.words)))
        return HookAnswer(_cut(more.refusal), self.args if more.args is None else more.args, _cut(words))


class Hooks(Protocol):
    """A runner of hooks."""

    def hears(self, moment: Moment, tool: str = "") -> bool:
        """True if there is a hook for this moment."""

    async def tell(self, run: Run, moment: Moment, told: Mapping[str, Any]) -> HookAnswer:
        """Run them one after the other, until one says no."""

    def gate(self) -> Gate | None:
        """Return a gate that asks hooks if the model may stop; None where no hook listens."""


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


# Notes of a folder are told when a tool first touches a file below it: the prompt only grows at its
# tail.

TOUCHING: Final = frozenset({"read", "edit", "write"})
# The notes that hold for a file, the outermost first, without those of the whole project.
FindNotes = Callable[[str], Awaitable[Sequence[ProjectNote]]]
# The paths of the notes that a conversation holds by now.
Told = Callable[[], Iterable[str]]


def tell_notes(tools: tuple[Tool, ...], find: FindNotes, told: Told, room: int) -> tuple[Tool, ...]:
    """The same tools; those that touch files answer with notes that are not `told` yet, in `room` tokens."""
    known = set[str]()
    return tuple(_telling(tool, find, told, known, room) if tool.name in TOUCHING else tool for tool in tools)


def _telling(tool: Tool, find: FindNotes, told: Told, known: set[str], room: int) -> Tool:
    async def use(args: Mapping[str, Any], run: Run) -> ToolResult:
        result = await tool.fn(args, run)
        if not result.ok:
            return result
        found = {note.path: note for path in _paths(args) for note in await find(path)}
        known.update(told() if found else ())
        news = [note for path, note in found.items() if path not in known]
        known.update(found)
        return add_notes(result, news, room) if news else result

    return replace(tool, fn=use)


def _paths(args: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(path := args.get("path"), str):
        yield clean_path(path)
    several = args.get("paths")
    for path in several if isinstance(several, list) else ():
        if isinstance(path, str):
            yield clean_path(passage_of(path).path)


EXEMPT: Final = frozenset({"todo", "done"})  # a list that is set again, or an end, does no harm
# How long a circle is (in calls), and after how many rounds with the same answers it is one.
_ROUNDS: Final = {1: 2, 2: 3, 3: 3}
REFUSALS = 3  # in a row: the third ends the task

# What differs between two runs of one command although nothing has changed.
_NOISE: Final = re.compile(
    r"""\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?   # dates, with a time or without
    |\b\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?\b                         # 12:05, 0:00:01.5
    |\b\d+(?:[.,]\d+)?\s?(?:ns|[µu]s|ms|s|secs?|seconds?|min|minutes?)\b    # durations
    |\b0x[0-9a-fA-F]{6,}\b                                          # addresses
    """,
    re.VERBOSE,
)


class _Use(Struct, frozen=True):
    """One call with its answer, both in the form in which two are compared."""

    call: str
    answer: str


class _RecentCalls(Struct):
    """The last calls of one task, refused ones included, and how many were refused in a row."""

    uses: deque[_Use] = field(default_factory=lambda: deque(maxlen=max(n * r for n, r in _ROUNDS.items())))
    refusals: int = 0

    def circle(self, call: str) -> int:
        """The length of the loop that this call would continue; 0 for none."""
        uses = list(self.uses)
        for length, rounds in _ROUNDS.items():
            turned = uses[-length * rounds :]
            same = len(turned) == length * rounds and turned[length:] == turned[:-length]
            if same and turned[-length].call == call:
                return length
        return 0


def watch_repeats(tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """Wrap the tools so that they share a memory of one task's calls and stop loops.

    A call that came twice in a row with the same answer is not run again; the reason is its answer. The
    same holds after three rounds of two or three calls. The third such answer in a row raises LimitError.
    Only equal answers count (times and dates aside): a command with new output is progress.
    """
    past = _RecentCalls()
    return tuple(tool if tool.waits or tool.name in EXEMPT else _watched(tool, past) for tool in tools)


def _watched(tool: Tool, past: _RecentCalls) -> Tool:
    async def use(args: Mapping[str, Any], run: Run) -> ToolResult:
        call = json.dumps([tool.name, args], sort_keys=True, default=str)
        length = past.circle(call)
        if length:
            past.uses.append(past.uses[-length])  # as it would have been answered again
            past.refusals += 1
            if past.refusals >= REFUSALS:
                raise LimitError(_stopped(tool.name, length))
            return refused(_reason(length), "repeated")
        result = await tool.fn(args, run)
        past.uses.append(_Use(call, f"{result.ok} {_NOISE.sub('#', result.text)}"))
        past.refusals = 0
        return result

    return replace(tool, fn=use)


def _reason(length: int) -> str:
    """Words for the model: why its call was not run, and what to do instead."""
    if length == 1:
        what = f"You have made exactly this call {_ROUNDS[1]} times in a row, and the answer was the same"
    else:
        what = (
            f"You are repeating the same {length} calls, {_ROUNDS[length]} times now, with the same answers"
        )
    return (
        f"Not run. {what}: see above. Nothing has changed since, so use that answer, or do something "
        "different: change a file first, look somewhere else, or end with what you know."
    )


def _stopped(name: str, length: int) -> str:
    calls = f"the same call of {name}" if length == 1 else f"the same {length} calls"
    return f"stopped because the model repeats {calls} and gets the same answer each time"
