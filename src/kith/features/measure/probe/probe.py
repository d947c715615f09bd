"""The order of a probe: speed first, then what matters most, as far as the time goes."""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from kith.core.errors import ModelError
from kith.core.events import Stepped
from kith.core.model import Emit, Model
from kith.core.values import Reply
from kith.features.measure.probe import exercises as tasks
from kith.features.measure.probe.bench import Bench, thinking_of, thinking_tokens
from kith.features.measure.probe.exercises import QUESTION, Exercise
from kith.features.measure.probe.result import (
    ANSWER,
    CHOICE,
    CODE,
    DEPTH,
    EDIT_TOOL,
    NESTED,
    ONE_TOOL,
    ORDER,
    STOP,
    THINK_OFF,
    Item,
    ProbeResult,
    Speed,
)

SHALLOW, DEEP = 300, 3_000  # tokens of the two prompts that speed is measured with
_WRITTEN = 24  # tokens that are written to measure speed
_FIRST_REPLY = 48  # tokens of the first answer: enough to see whether it thinks
_MOST_THINKING = 1_024
_DEEP_SHARE = 0.2  # of the budget: the second speed must not cost the exercises
_PATIENCE = 0.5  # of the budget, for the first reply
_ROOM = 512  # tokens of the window that a prompt leaves free

# What matters most comes first: a slow machine does not come to the end.
_WITH_TOOLS: Final = (tasks.EDIT_BY_TOOL, tasks.CHOOSE, tasks.NEST)
_IN_WORDS: Final = (tasks.EDIT_BY_BLOCK, tasks.EDIT_BY_WHOLE)
_AT_LAST: Final = (tasks.CODE_THERE_AND_BACK, tasks.EDIT_BY_DIFF)


@dataclass(slots=True)
class _Findings:
    """What the probe has found so far."""

    items: dict[str, Item] = field(default_factory=dict)
    speeds: list[Speed] = field(default_factory=list)
    thinks: bool = False
    thinking_tokens: int = 0

    def add(self, name: str, why: str = "", *, tested: bool = True) -> None:
        self.items[name] = Item(name, ("failed" if why else "passed") if tested else "not tested", why)


async def probe(emit: Emit, model: Model, *, window: int = 0, budget_s: float = 60.0) -> ProbeResult:
    """Measure a model in at most `budget_s` seconds; `window` is its window in tokens, 0 when unknown.

    It should be loaded, and be the model as its server speaks: what repairs its tool calls would be measured
    in its place. Every item is tried for real, or "not tested" with the reason. Raises ModelError when the
    model does not answer at all: then nothing was measured.
    """
    began = time.monotonic()
    bench, found = Bench(model, emit, began + budget_s, uuid.uuid4().hex[:12]), _Findings()
    await _step(emit, "a first answer", lambda: _greet(bench, found, budget_s))
    await _step(emit, "speed", lambda: _measure_speed(bench, found, window, budget_s))
    await _step(emit, "tool calls", lambda: _try_tools(bench, found))
    await _step(emit, "edits in words", lambda: _try_all(bench, found, _IN_WORDS))
    if CODE not in found.items:
        await _step(emit, "code in an argument", lambda: _try_all(bench, found, _AT_LAST[:1]))
    await _step(emit, "an edit as a diff", lambda: _try_all(bench, found, _AT_LAST[1:]))
    if found.thinks:
        await _step(emit, "thinking", lambda: _count_thinking(bench, found))
    _judge_endings(bench, found)
    items = tuple(found.items[name] for name in ORDER if name in found.items)
    seconds = time.monotonic() - began
    return ProbeResult(model.name, seconds, items, tuple(found.speeds), found.thinks, found.thinking_tokens)


async def _step(emit: Emit, name: str, work: Callable[[], Awaitable[None]]) -> None:
    began = time.monotonic()
    emit(Stepped(f"probing {name}", "began"))
    await work()
    emit(Stepped(f"probing {name}", "ended", time.monotonic() - began))


async def _greet(bench: Bench, found: _Findings, budget_s: float) -> None:
    """A trivial question: is it there, does it think, can it be told not to? Raises ModelError."""
    patience = budget_s * _PATIENCE
    try:
        async with asyncio.timeout(patience):
            reply = await bench.ask(QUESTION, _FIRST_REPLY)
            if thinking_of(reply):
                found.thinks, found.thinking_tokens = True, thinking_tokens(reply)
                reply = await _switch_thinking_off(bench, found, reply)
    except TimeoutError:
        text = (
            f"{bench.model.name} did not answer a trivial question in {patience:.0f} s; nothing was measured"
        )
        raise ModelError(text, retryable=True) from None
    if not found.thinks:
        found.add(THINK_OFF, "it does not think", tested=False)
    if found.thinks and bench.think is None and reply.stop == "length":
        found.add(ANSWER, "it was still thinking when it was stopped", tested=False)
        return
    bench.ended.append(reply.stop != "length")
    _judge_answer(found, reply)


def _judge_answer(found: _Findings, reply: Reply) -> None:
    said = " ".join(reply.message.text.split())[-60:]
    found.add(ANSWER, "" if "56" in said else f"asked for 7 times 8, it said {said!r}")


async def _switch_thinking_off(bench: Bench, found: _Findings, reply: Reply) -> Reply:
    """Ask again, without thinking; from here on it is asked in the way that worked."""
    fault = "asked not to, it thinks all the same"
    try:
        quiet = await bench.ask(QUESTION, _FIRST_REPLY, think=False)
        if not thinking_of(quiet):
            bench.think, fault = False, ""
            reply = quiet
    except ModelError as error:
        fault = str(error)
    found.add(THINK_OFF, fault)
    if fault:
        bench.thinking = _MOST_THINKING // 2 if reply.stop == "length" else found.thinking_tokens
    return reply


async def _measure_speed(bench: Bench, found: _Findings, window: int, budget_s: float) -> None:
    """Reading and writing with a short prompt, and with as long a one as time and window allow."""
    try:
        shallow = await bench.measure(tasks.speed_text(SHALLOW), _WRITTEN, uuid.uuid4().hex[:12])
        found.speeds.append(shallow)
        room = window - _ROOM if window else DEEP
        time_allows = int(shallow.read_rate * min(budget_s * _DEEP_SHARE, bench.left))
        depth = min(DEEP, room, time_allows)
        if depth < 2 * SHALLOW:
            needed = f"reading {DEEP:,} tokens would take {DEEP / max(shallow.read_rate, 1):.0f} s"
            why = needed if time_allows < room else f"the window of {window:,} tokens is too small"
            found.add(DEPTH, why, tested=False)
            return
        found.speeds.append(await bench.measure(tasks.speed_text(depth), _WRITTEN, uuid.uuid4().hex[:12]))
        found.add(DEPTH)
    except ModelError as error:
        found.add(DEPTH, str(error), tested=False)
    except TimeoutError:
        found.add(DEPTH, "the time was up", tested=False)


async def _try_tools(bench: Bench, found: _Findings) -> None:
    """One tool, then a choice of four; where calls fail, the same as text held to a schema."""
    await _try(bench, found, tasks.ONE)
    if found.items[ONE_TOOL].state != "failed":
        await _try_all(bench, found, _WITH_TOOLS)
    else:
        for name in (EDIT_TOOL, CHOICE, NESTED, CODE):
            found.add(name, "it could not even call a single tool", tested=False)
    if "failed" in (found.items[ONE_TOOL].state, found.items[CHOICE].state):
        await _try(bench, found, tasks.CONSTRAINED)


async def _try_all(bench: Bench, found: _Findings, group: tuple[Exercise, ...]) -> None:
    for exercise in group:
        await _try(bench, found, exercise)


async def _try(bench: Bench, found: _Findings, exercise: Exercise) -> None:
    """One exercise, if there is time for it."""
    needed, left = bench.cost(exercise), bench.left
    if needed > left:
        why = f"it needs about {needed:.0f} s, and {max(left, 0):.0f} s were left"
        found.add(exercise.name, why, tested=False)
        return
    try:
        reply = await bench.solve(exercise)
    except TimeoutError:
        found.add(exercise.name, "the time was up before it had answered", tested=False)
    except ModelError as error:
        # A tool call that its own server cannot read is the model's fault; a server in trouble is not.
        own = not error.retryable or "tool call" in str(error)
        found.add(exercise.name, str(error), tested=own and not error.overflow)
    else:
        found.add(exercise.name, exercise.judge(reply))


async def _count_thinking(bench: Bench, found: _Findings) -> None:
    """How long it thinks about a trivial question when it may."""
    limit = min(_MOST_THINKING, int(bench.left * (bench.write_rate or 1)))
    if limit <= _FIRST_REPLY:
        return
    try:
        reply = await bench.ask(QUESTION, limit)
    except (ModelError, TimeoutError):
        return
    found.thinking_tokens = max(found.thinking_tokens, thinking_tokens(reply))
    if bench.think is None:
        bench.ended.append(reply.stop != "length")
        if reply.stop != "length":
            _judge_answer(found, reply)


def _judge_endings(bench: Bench, found: _Findings) -> None:
    """Whether it ends by itself: four of five replies must."""
    ended, asked = sum(bench.ended), len(bench.ended)
    if not asked:
        found.add(STOP, "no reply had room enough", tested=False)
        return
    found.add(
        STOP, "" if ended * 5 >= asked * 4 else f"{asked - ended} of {asked} replies ran into the limit"
    )
