"""A model that says how far it is while it reads a prompt, also where its server says nothing."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from msgspec import Struct
from msgspec.structs import replace

from kith.core.events import Delta, Event, Progress
from kith.core.model import Emit, Prompt, Wrapped
from kith.core.numbers import time_text
from kith.core.values import Reply
from kith.models.forecasts import Forecast
from kith.models.providers.facts import LOADING, QUEUED, READING

EVERY_S = 0.5
LONGER = f"{READING}, longer than expected"


def know_nothing(prompt: Prompt) -> Forecast | None:
    """The foresight of those who have none."""
    return None


class _Now(Struct):
    """One call. `began` is when the server took it, None while it waits for a slot or a load."""

    began: float | None
    forecast: Forecast | None
    told: bool = False  # the server itself said something
    first: tuple[float, int] | None = None  # when the server's first count came, and what it was


class Patient(Wrapped, frozen=True):
    """`model`, with a Progress about every half second while nothing else arrives.

    `estimate` gives a prompt's tokens. `expect` forecasts a call, if possible; cached tokens count as already
    read. The server's own counts get the time that is left, and silence the estimate.
    """

    estimate: Callable[[Prompt], int]
    expect: Callable[[Prompt], Forecast | None] = know_nothing
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once. Raises what the model raises."""
        now = _Now(self.clock(), self.expect(prompt))
        ticking = asyncio.create_task(self._tick(prompt, now, emit))
        try:
            return await self.model(prompt, lambda event: emit(self._listen(event, now)))
        finally:
            ticking.cancel()

    def _listen(self, event: Event, now: _Now) -> Event:
        """Note what the event says of the call; the server's own progress gets the time that is left."""
        match event:
            case Progress(what=waits) if waits in (QUEUED, LOADING):
                now.began = None
            case Progress(what=reading, done=done, total=total) if reading == READING and total:
                now.told = True
                now.first = now.first or (self.clock(), done)
                pace = self._pace(now, done) or _rate(now.forecast)
                return replace(event, what=_words((total - done) / pace) if pace else READING)
            case Delta():
                now.told = True
            case Progress():  # a wait is over, or it is asked again
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
        total = self.estimate(prompt)
        while not now.told:
            if now.began is not None:
                emit(_guess(now.forecast, total, self.clock() - now.began))
            await self.sleep(EVERY_S)


def _guess(forecast: Forecast | None, total: int, seconds: float) -> Progress:
    """Estimate the reading progress after so many seconds; none once it should have ended."""
    if forecast is None or forecast.read_s <= 0:
        return Progress(READING, 0, total)
    total = forecast.cached + forecast.new
    done = forecast.cached + round(forecast.new * seconds / forecast.read_s)
    if done >= total:
        return Progress(LONGER, 0)
    return Progress(_words(forecast.read_s - seconds), done, total)


def _rate(forecast: Forecast | None) -> float:
    """Tokens read per second, as foreseen; 0 while nobody can say."""
    return forecast.new / forecast.read_s if forecast and forecast.read_s > 0 else 0.0


def _words(left: float) -> str:
    """Word the activity, and about how many seconds are left."""
    return f"{READING}, about {time_text(left)} left" if left >= 1 else READING
