"""Probe one model within a time: speed first, then what matters most."""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from kith.context.budget import estimate_tokens
from kith.core.errors import ModelError
from kith.core.events import Delta, Event, Progress, Stepped
from kith.core.model import Emit, Model, Prompt
from kith.core.values import Reply, Sampling, Thinking, say
from kith.features.measure.probe import exercises as tasks
from kith.features.measure.probe.exercises import QUESTION, SYSTEM, ProbeExercise
from kith.features.measure.probe.result import (
    AFTER,
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

T = TypeVar("T")

# One model on the bench: it is asked within a time, and each answer tells how quick it is.

# Only for planning, while nothing was measured: a middling machine without a graphics card.
_READ_RATE, _WRITE_RATE = 60.0, 8.0
_LEAST_WRITTEN = 5  # tokens; fewer say nothing about speed
_SPARE = 48  # tokens of politeness that a good answer may have around it


class TimedModel(Struct):
    """A model, the time left for it (`until`, on the monotonic clock), and what is known of it so far.

    `nonce` begins every prompt: what a server cached before this probe helps nothing, what it caches within
    the probe is used. `thinking` are the tokens it spends before each answer; `ended` says for each reply
    with enough room if it ended before the limit.
    """

    model: Model
    emit: Emit
    until: float
    nonce: str
    think: bool | None = None
    thinking: int = 0
    read_rate: float = 0.0
    write_rate: float = 0.0
    purpose: str = "probe"
    ended: list[bool] = field(default_factory=list)
    _read: set[tuple[str, ...]] = field(default_factory=set)  # lists of tools that the server has read

    @property
    def left(self) -> float:
        """Seconds."""
        return self.until - time.monotonic()

    def seconds(self, read: int, write: int) -> float:
        """Estimate the seconds of a call that reads and writes so many tokens."""
        return read / (self.read_rate or _READ_RATE) + write / (self.write_rate or _WRITE_RATE)

    def cost(self, exercise: ProbeExercise) -> float:
        """Seconds that a good answer to an exercise will take."""
        names = tuple(tool.name for tool in exercise.tools)
        new = () if names in self._read else exercise.tools
        tools = sum(estimate_tokens(f"{tool.description}{tool.schema}") for tool in new)
        return self.seconds(estimate_tokens(exercise.ask) + tools, self._size(exercise))

    def _size(self, exercise: ProbeExercise) -> int:
        return estimate_tokens(exercise.answer) + self.thinking

    async def solve(self, exercise: ProbeExercise) -> Reply:
        """Ask for an exercise, with room for twice its answer. Raises ModelError, TimeoutError."""
        affordable = int(self.left * (self.write_rate or _WRITE_RATE))
        limit = max(16, min(2 * self._size(exercise) + _SPARE, affordable))
        prompt = self._prompt(exercise.ask, limit)
        messages = (*prompt.messages, *exercise.said)
        prompt = replace(prompt, messages=messages, tools=exercise.tools, shape=exercise.shape)
        reply, _ = await self._time(prompt)
        self._read.add(tuple(tool.name for tool in exercise.tools))
        self.ended.append(reply.stop != "length")
        return reply

    async def ask(self, words: str, limit: int, think: bool | None = None) -> Reply:
        """Ask in words, of which no more than `limit` tokens are answered. Raises as `solve`."""
        prompt = self._prompt(words, limit)
        reply, speed = await self._time(replace(prompt, sampling=replace(prompt.sampling, think=think)))
        self.write_rate = speed.write_rate or self.write_rate
        return reply

    async def measure(self, words: str, limit: int, nonce: str) -> Speed:
        """The speed of a call of which nothing can be cached. Raises as `solve`."""
        _, speed = await self._time(replace(self._prompt(words, limit), system=f"{nonce}\n{SYSTEM}"))
        self.read_rate = speed.read_rate or self.read_rate
        self.write_rate = speed.write_rate or self.write_rate
        return speed

    def _prompt(self, words: str, limit: int) -> Prompt:
        # Little chance, but not none: a thinking model that always takes the likeliest token runs in circles.
        sampling = Sampling(temperature=0.2, seed=1, max_tokens=limit, think=self.think)
        return Prompt(f"{self.nonce}\n{SYSTEM}", (say(words),), purpose=self.purpose, sampling=sampling)

    async def _time(self, prompt: Prompt) -> tuple[Reply, Speed]:
        """Ask once, and see how quick it was: as the server says, or else by the clock."""
        began, first, last = time.monotonic(), 0.0, 0.0

        def listen(event: Event) -> None:
            nonlocal first, last
            if not isinstance(event, Delta):
                self.emit(event)
                return
            last = time.monotonic()
            if not first:  # what it says is for the judges; that it says something, for the person
                first = last
                self.emit(Progress("thinking" if event.kind == "thinking" else "writing", 0))

        async with asyncio.timeout(max(self.left, 0.0)):
            reply = await self.model(prompt, listen)
        return reply, _speed(reply, first - began, last - first)


def _speed(reply: Reply, until_first: float, from_first: float) -> Speed:
    """Rates of one call; `until_first` and `from_first` are seconds by our own clock."""
    usage, timing = reply.usage, reply.timing
    read, written = usage.new, usage.output or spoken_tokens(reply)
    by_server = timing.prefill_s > 0
    read_s = timing.prefill_s if by_server else until_first
    write_s, steps = (timing.decode_s, written) if timing.decode_s > 0 else (from_first, written - 1)
    return Speed(
        usage.input,
        read / read_s if read > 0 and read_s > 0 else 0.0,
        steps / write_s if written >= _LEAST_WRITTEN and write_s > 0 else 0.0,
        "server" if by_server else "clock",
    )


def thinking_of(reply: Reply) -> str:
    """Return a model's thinking, also where its server takes it for the answer's text."""
    thought = "".join(part.text for part in reply.message.parts if isinstance(part, Thinking))
    opening, found, rest = reply.message.text.partition("<think>")
    return thought or (rest.partition("</think>")[0] if found and not opening.strip() else "")


def thinking_tokens(reply: Reply) -> int:
    """Count the thinking tokens of a reply: all but its text, where the server counts."""
    if not thinking_of(reply):
        return 0
    counted = reply.usage.output - estimate_tokens(reply.message.text.partition("</think>")[2])
    return counted if counted > 0 else estimate_tokens(thinking_of(reply))


def spoken_tokens(reply: Reply) -> int:
    """An estimate of what was written, for servers that do not count."""
    calls = "".join(f"{call.name}{call.args}" for call in reply.message.calls)
    return estimate_tokens(reply.message.text + thinking_of(reply) + calls)


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


class _Findings(Struct):
    """The findings of the probe so far."""

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
    bench, found = TimedModel(model, emit, began + budget_s, uuid.uuid4().hex[:12]), _Findings()
    await timed_step(emit, "probing a first answer", lambda: _greet(bench, found, budget_s))
    await timed_step(emit, "probing speed", lambda: _measure_speed(bench, found, window, budget_s))
    await timed_step(emit, "probing tool calls", lambda: _try_tools(bench, found))
    await timed_step(emit, "probing edits in words", lambda: _try_all(bench, found, _IN_WORDS))
    if CODE not in found.items:
        await timed_step(emit, "probing code in an argument", lambda: _try_all(bench, found, _AT_LAST[:1]))
    await timed_step(emit, "probing an edit as a diff", lambda: _try_all(bench, found, _AT_LAST[1:]))
    if found.thinks:
        await timed_step(emit, "probing thinking", lambda: _count_thinking(bench, found))
    _judge_endings(bench, found)
    items = tuple(found.items[name] for name in ORDER if name in found.items)
    seconds = time.monotonic() - began
    return ProbeResult(model.name, seconds, items, tuple(found.speeds), found.thinks, found.thinking_tokens)


async def timed_step(emit: Emit, name: str, work: Callable[[], Awaitable[T]]) -> T:
    """Do a step, and tell when it begins and ends."""
    began = time.monotonic()
    emit(Stepped(name, "began"))
    found = await work()
    emit(Stepped(name, "ended", time.monotonic() - began))
    return found


async def _greet(bench: TimedModel, found: _Findings, budget_s: float) -> None:
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


async def _switch_thinking_off(bench: TimedModel, found: _Findings, reply: Reply) -> Reply:
    """Ask again, without thinking; from here on it is asked in the way that worked."""
    fault = "it thinks although it was asked not to"
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


async def _measure_speed(bench: TimedModel, found: _Findings, window: int, budget_s: float) -> None:
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
        found.add(DEPTH, "time ran out", tested=False)


async def _try_tools(bench: TimedModel, found: _Findings) -> None:
    """One tool, then a choice of four; where calls fail, the same as text held to a schema."""
    await _try(bench, found, tasks.ONE)
    if found.items[ONE_TOOL].state != "failed":
        await _go_on_after_tool(bench, found)
        await _try_all(bench, found, _WITH_TOOLS)
    else:
        for name in (AFTER, EDIT_TOOL, CHOICE, NESTED, CODE):
            found.add(name, "it could not even call a single tool", tested=False)
    if "failed" in (found.items[ONE_TOOL].state, found.items[CHOICE].state):
        await _try(bench, found, tasks.CONSTRAINED)


async def _go_on_after_tool(bench: TimedModel, found: _Findings) -> None:
    """Without thinking, where that can be switched off; if it stops dead, also with it."""
    await _try(bench, found, tasks.GO_ON)
    if found.items[AFTER].state == "failed" and bench.think is False:
        bench.think = None
        why = found.items[AFTER].why
        await _try(bench, found, tasks.GO_ON)
        if found.items[AFTER].state == "passed":
            found.add(AFTER, f"without thinking, {why}; with it, it went on")
        bench.think = False


async def _try_all(bench: TimedModel, found: _Findings, group: tuple[ProbeExercise, ...]) -> None:
    for exercise in group:
        await _try(bench, found, exercise)


async def _try(bench: TimedModel, found: _Findings, exercise: ProbeExercise) -> None:
    """One exercise, if there is time for it."""
    needed, left = bench.cost(exercise), bench.left
    if needed > left:
        why = f"it needs about {needed:.0f} s, and {max(left, 0):.0f} s were left"
        found.add(exercise.name, why, tested=False)
        return
    try:
        reply = await bench.solve(exercise)
    except TimeoutError:
        found.add(exercise.name, "time ran out before it answered", tested=False)
    except ModelError as error:
        # A tool call that its own server cannot read is the model's fault; a server in trouble is not.
        own = not error.retryable or "tool call" in str(error)
        found.add(exercise.name, str(error), tested=own and not error.overflow)
    else:
        found.add(exercise.name, exercise.judge(reply))


async def _count_thinking(bench: TimedModel, found: _Findings) -> None:
    """Measure the thinking about a trivial question, if it may think."""
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


def _judge_endings(bench: TimedModel, found: _Findings) -> None:
    """Judge if replies end on their own: four of five must."""
    ended, asked = sum(bench.ended), len(bench.ended)
    if not asked:
        found.add(STOP, "no reply had room enough", tested=False)
        return
    found.add(
        STOP, "" if ended * 5 >= asked * 4 else f"{asked - ended} of {asked} replies ran into the limit"
    )
