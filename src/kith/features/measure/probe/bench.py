"""One model on the bench: it is asked within a time, and each answer tells how quick it is."""

import asyncio
import time
from dataclasses import dataclass, field, replace

from kith.context.budget import estimate_tokens
from kith.core.events import Delta, Event, Progress
from kith.core.model import Emit, Model, Prompt
from kith.core.values import Reply, Sampling, Thinking, say
from kith.features.measure.probe.exercises import SYSTEM, Exercise
from kith.features.measure.probe.result import Speed

# Only for planning, while nothing was measured: a middling machine without a graphics card.
_READ_RATE, _WRITE_RATE = 60.0, 8.0
_LEAST_WRITTEN = 5  # tokens; fewer say nothing about speed
_SPARE = 48  # tokens of politeness that a good answer may have around it


@dataclass(slots=True)
class Bench:
    """A model, the time left for it (`until`, on the monotonic clock), and what is known of it so far.

    `nonce` begins every prompt: what a server cached before this probe helps nothing, what it caches within
    the probe is used. `thinking` are the tokens it spends before each answer; `ended` tells of each reply
    with room enough whether it ended by itself.
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
        """How long a call will take that reads and writes so many tokens."""
        return read / (self.read_rate or _READ_RATE) + write / (self.write_rate or _WRITE_RATE)

    def cost(self, exercise: Exercise) -> float:
        """Seconds that a good answer to an exercise will take."""
        names = tuple(tool.name for tool in exercise.tools)
        new = () if names in self._read else exercise.tools
        tools = sum(estimate_tokens(f"{tool.description}{tool.schema}") for tool in new)
        return self.seconds(estimate_tokens(exercise.ask) + tools, self._size(exercise))

    def _size(self, exercise: Exercise) -> int:
        return estimate_tokens(exercise.answer) + self.thinking

    async def solve(self, exercise: Exercise) -> Reply:
        """Ask for an exercise, with room for twice its answer. Raises ModelError, TimeoutError."""
        affordable = int(self.left * (self.write_rate or _WRITE_RATE))
        limit = max(16, min(2 * self._size(exercise) + _SPARE, affordable))
        prompt = self._prompt(exercise.ask, limit)
        prompt = replace(prompt, tools=exercise.tools, shape=exercise.shape)
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
    """What a model thought aloud, also where its server takes it for the answer's text."""
    thought = "".join(part.text for part in reply.message.parts if isinstance(part, Thinking))
    opening, found, rest = reply.message.text.partition("<think>")
    return thought or (rest.partition("</think>")[0] if found and not opening.strip() else "")


def thinking_tokens(reply: Reply) -> int:
    """How many tokens of a reply were thinking: all but its text, where the server counts."""
    if not thinking_of(reply):
        return 0
    counted = reply.usage.output - estimate_tokens(reply.message.text.partition("</think>")[2])
    return counted if counted > 0 else estimate_tokens(thinking_of(reply))


def spoken_tokens(reply: Reply) -> int:
    """An estimate of what was written, for servers that do not count."""
    calls = "".join(f"{call.name}{call.args}" for call in reply.message.calls)
    return estimate_tokens(reply.message.text + thinking_of(reply) + calls)
