"""A model that says how far it is while it reads a prompt, also where its server says nothing."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from kith.core.events import Delta, Event, Notice, Progress
from kith.core.model import Emit, Model, Prompt
from kith.core.values import Reply
from kith.models.providers.progress import LOADING, QUEUED, READING

EVERY_S = 0.5
# A rate learned from less than this is noise, for times have a granularity too.
LEAST_TOKENS, LEAST_S = 64, 0.05
LONGER = f"{READING}, longer than expected"


@dataclass(slots=True)
class _Past:
    """What earlier replies taught: tokens read per second (0 is unknown), the last prompt with its reply."""

    rate: float
    prompt: Prompt | None = None


@dataclass(slots=True)
class _Now:
    """One call. `began` is when the server took it, None while it waits for a slot or a load."""

    began: float | None
    told: bool = False  # the server itself said something
    first: tuple[float, int] | None = None  # when the server's first count came, and what it was


@dataclass(frozen=True, slots=True)
class Patient:
    """`model`, with a Progress about every half second for as long as nothing else is heard of it.

    `estimate` gives a prompt's tokens; `rate` is how many the model reads in a second, if that is known from
    an earlier session, and is learned from each reply. What the last prompt already held counts as read,
    because the server kept it. The server's own counts get the time that is left, and silence the estimate.
    """

    model: Model
    estimate: Callable[[Prompt], int]
    rate: float = 0.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _past: _Past = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_past", _Past(self.rate))

    @property
    def name(self) -> str:
        return self.model.name

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once. Raises what the model raises."""
        now = _Now(self.clock())
        ticking = asyncio.create_task(self._tick(prompt, now, emit))
        try:
            reply = await self.model(prompt, lambda event: emit(self._listen(event, now)))
        finally:
            ticking.cancel()
        self._learn(prompt, reply)
        return reply

    def _listen(self, event: Event, now: _Now) -> Event:
        """Note what the event says of the call; the server's own progress gets the time that is left."""
        match event:
            case Progress(what=waits) if waits in (QUEUED, LOADING):
                now.began = None
            case Progress(what=reading, done=done, total=total) if reading == READING and total:
                now.told = True
                now.first = now.first or (self.clock(), done)
                return replace(event, what=_words(total - done, self._pace(now, done)))
            case Delta():
                now.told = True
            case Progress() | Notice():  # a wait is over, or it is asked again
                now.began = self.clock()
            case _:
                pass
        return event

    def _pace(self, now: _Now, done: int) -> float:
        """Tokens per second since the server's first count; 0 while nobody can say."""
        since, first = now.first or (0.0, 0)
        seconds = self.clock() - since
        return (done - first) / seconds if seconds >= EVERY_S else 0.0

    async def _tick(self, prompt: Prompt, now: _Now, emit: Emit) -> None:
        """Say how far the reading must be, until the server says it itself."""
        await self.sleep(EVERY_S)
        if now.told:
            return
        known, total = self._known(prompt), self.estimate(prompt)
        while not now.told:
            if now.began is not None:
                emit(_guess(known, total, self._past.rate, self.clock() - now.began))
            await self.sleep(EVERY_S)

    def _known(self, prompt: Prompt) -> int:
        """The tokens at the beginning that the last prompt had too."""
        last = self._past.prompt
        if last is None or (last.system, last.tools) != (prompt.system, prompt.tools):
            return 0
        same = 0
        for said, before in zip(prompt.messages, last.messages, strict=False):
            if said != before:
                break
            same += 1
        return self.estimate(replace(prompt, messages=prompt.messages[:same]))

    def _learn(self, prompt: Prompt, reply: Reply) -> None:
        """Take the reading rate from a reply, half of it new: load and heat make it change slowly."""
        past, seconds = self._past, reply.timing.prefill_s
        if seconds >= LEAST_S:
            # Where the server does not tell cached tokens apart, the time is of the new ones all the same.
            read = reply.usage.input - (reply.usage.cached or self._known(prompt))
            if read >= LEAST_TOKENS:
                rate = read / seconds
                past.rate = (past.rate + rate) / 2 if past.rate else rate
        past.prompt = replace(prompt, messages=(*prompt.messages, reply.message))


def _guess(known: int, total: int, rate: float, seconds: float) -> Progress:
    """How far the reading must be after so many seconds; once it must have ended, nobody can say more."""
    if not rate:
        return Progress(READING, 0, total)
    done = round(known + rate * seconds)
    if done >= total:
        return Progress(LONGER, 0)
    return Progress(_words(total - done, rate), done, total)


def _words(left: int, rate: float) -> str:
    """What is going on, and about how long it will take; `left` in tokens, `rate` in tokens per second."""
    if rate <= 0 or left <= 0:
        return READING
    seconds = left / rate
    return f"{READING}, about {_time(seconds)} left" if seconds >= 1 else READING


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
