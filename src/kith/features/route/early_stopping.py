"""Stop a model at work that will probably not solve its task."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field

from kith.core.errors import HopelessError
from kith.core.model import Emit, Prompt, Tab, Wrapped
from kith.core.values import Charge, Message, Reply, ToolCall, ToolResult
from kith.features.route.effort_caps import READ_WEIGHT, effort_of

_SAME: Final = 3  # times that a command fails in the same way
_MALFORMED: Final = 2  # edits or calls in a row that cannot be carried out
_FULL: Final = 0.9  # of the window
_SLOW: Final = 0.3  # of the usual speed, in two calls one after the other
_TELLING: Final = 32  # tokens of a reply, from which on its speed means something
_COMMANDS: Final = ("bash", "powershell")
_EDITS: Final = ("edit", "write")
# How an answer begins that tells of a policy, a person's no, or a crash.
_UNUSABLE: Final = ("malformed", "cut")  # faults
_NOT_ITS_FAULT: Final = ("forbidden", "denied", "interrupted")
# What differs between two runs of one command although nothing has changed.
_NOISE: Final = re.compile(
    r"\b\d+(?:[.,]\d+)?\s?(?:[nµum]?s|secs?|seconds?|min)\b|\b0x[0-9a-fA-F]{6,}\b|\b\d+:\d\d"
)


class Habits(Struct, frozen=True):
    """The habits of a model at one kind of work; 0 where unknown.

    `cap`: the effort beyond which a run is not worth its price, in weighted tokens. `read_weight` is the
    weight of a prompt token, `step` the usual effort of a step, `write_rate` is in tokens/s.
    """

    cap: float = 0.0
    window: int = 0
    write_rate: float = 0.0
    read_weight: float = READ_WEIGHT
    step: float = 0.0


def why_hopeless(messages: Sequence[Message], calls: Sequence[Charge], habits: Habits, first: int = 0) -> str:
    """Explain why a model should be stopped before its next call; "" to continue.

    `messages` are its thread; only those after the person's last message count. `calls` are its latest
    ones, in order; from number `first` on they came after that message.
    """
    said = _since_a_person(messages)
    return (
        _too_long(said, calls[first:], habits)
        or _same_failure(said)
        or _malformed(said)
        or _full(said, calls, habits.window)
        or _slow(calls, habits.write_rate)
    )


def _since_a_person(messages: Sequence[Message]) -> Sequence[Message]:
    return messages[_last_of_a_person(messages) + 1 :]


def _last_of_a_person(messages: Sequence[Message]) -> int:
    return max((n for n, each in enumerate(messages) if each.author == "person"), default=-1)


def _too_long(said: Sequence[Message], calls: Sequence[Charge], habits: Habits) -> str:
    """Steps without a known number of tokens (a resumed task, a silent server) count as usual ones."""
    steps = sum(each.role == "assistant" and each.author != "kith" for each in said)
    efforts = (effort_of(call.usage.output, call.evaluated, habits.read_weight) for call in calls)
    known = [effort for effort in efforts if effort]
    effort = sum(known) + habits.step * max(0, steps - len(known))
    if not habits.cap or effort <= habits.cap:
        return ""
    return f"{effort:,.0f} weighted tokens, and runs of more than {habits.cap:,.0f} seldom pay off"


def _same_failure(said: Sequence[Message]) -> str:
    failures = Counter(
        (str(call.args.get("command", "")), _NOISE.sub("", result.text))
        for call, result in _answered(said)
        if call.name in _COMMANDS and not result.ok
    )
    for (command, _), times in failures.items():
        if times >= _SAME:
            return f"`{_clip(command)}` failed {times} times in the same way"
    return ""


def _malformed(said: Sequence[Message]) -> str:
    """Edits that do not apply and calls that cannot be run, one right after the other, up to the end."""
    times = 0
    for call, result in reversed(_answered(said)):
        broken = call.fault or call.name in _EDITS or result.fault in _UNUSABLE
        if result.ok or not broken or result.fault in _NOT_ITS_FAULT:
            break
        times += 1
    return f"{times} edits or calls in a row that cannot be carried out" if times >= _MALFORMED else ""


def _full(said: Sequence[Message], calls: Sequence[Charge], window: int) -> str:
    if not window or not calls:
        return ""
    used = calls[-1].usage.total
    progress = any(result.ok and call.name in _EDITS for call, result in _answered(said))
    return f"{used / window:.0%} of its window are full, and nothing is written" * (
        used >= _FULL * window and not progress
    )


def _slow(calls: Sequence[Charge], usual: float) -> str:
    rates = [
        call.usage.output / call.timing.decode_s
        for call in calls
        if call.usage.output >= _TELLING and call.timing.decode_s > 0
    ]
    if not usual or len(rates) < 2 or max(rates[-2:]) >= _SLOW * usual:
        return ""
    return f"it writes {rates[-1]:.1f} tokens/s, and {usual:.0f} otherwise"


def _answered(said: Sequence[Message]) -> list[tuple[ToolCall, ToolResult]]:
    """Calls with their results, in the order of these."""
    calls = {call.id: call for message in said for call in message.calls}
    results = (result for message in said for result in message.results)
    return [(calls[result.call_id], result) for result in results if result.call_id in calls]


def _clip(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= 40 else f"{line[:37]}..."


# A model that is asked only as long as there is hope that it will solve its task.


class Hopeful(Wrapped, frozen=True, eq=False):
    """`model`, for a task that another one would take over; only calls of its `purpose` are watched.

    It sees the whole thread, so it wraps the models that shorten prompts.
    """

    habits: Habits
    purpose: str = "edit"
    _calls: list[Charge] = field(default_factory=list)
    _since: dict[int, int] = field(default_factory=dict)  # place of a person's message -> calls before it

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask. Raises HopelessError before a call that would be in vain, and what the model raises."""
        mine = prompt.purpose == self.purpose
        first = self._since.setdefault(_last_of_a_person(prompt.messages), len(self._calls)) if mine else 0
        why = why_hopeless(prompt.messages, self._calls, self.habits, first) if mine else ""
        if why:
            raise HopelessError(f"stopped as hopeless: {why}")

        with Tab() as tab:
            try:
                return await tab.ask(self.model, prompt, emit)
            finally:
                if mine:
                    self._calls.extend(each for each in tab.bill if each.stop != "error")
