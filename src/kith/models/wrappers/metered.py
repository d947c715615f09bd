"""A model whose every call is timed and told as one event, failures and interruptions included."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from kith.core.events import Called, Delta, Event, Notice
from kith.core.model import Emit, Model, Prompt
from kith.core.values import Reply, Timing
from kith.models.wrappers.foreseen import Foresight
from kith.models.wrappers.meter import Meter


@dataclass(frozen=True, slots=True)
class Metered:
    """`model`, with one Called event for each call. What the server measured itself is kept as it is.

    `window` is what the model may hold, in tokens; `meter` remembers what its server was sent, and belongs
    to all the models of that server. `tells`: what it finds lost, or slow, is said, as a Notice. `foresight`
    knows how long calls take (None: nobody does).
    """

    model: Model
    clock: Callable[[], float] = time.monotonic
    window: int = 0
    meter: Meter = field(default_factory=Meter, compare=False)
    tells: bool = True
    foresight: Foresight | None = None

    @property
    def name(self) -> str:
        return self.model.name

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        """Ask once; the reply's timing has a first token and a total. Raises what the model raises."""
        forecast = self.foresight.expect(prompt) if self.foresight else None
        began, first_token, recounted = self.clock(), 0.0, False

        def listen(event: Event) -> None:
            nonlocal first_token, recounted
            recounted = recounted or isinstance(event, Called)  # only a count is told from within a call
            if isinstance(event, Delta) and not first_token:
                first_token = self.clock() - began
            emit(event)

        expected = round(forecast.mid_s, 3) if forecast else 0.0
        called = Called(self.name, prompt.purpose, prompt.attempt, window=self.window, expected_s=expected)
        try:
            reply = await self.model(prompt, listen)
        except BaseException as error:
            timing = Timing(first_token_s=first_token, total_s=self.clock() - began)
            words = "cancelled" if isinstance(error, asyncio.CancelledError) else str(error) or repr(error)
            emit(replace(called, timing=timing, stop="error", error=words))
            raise
        timing = replace(
            reply.timing,
            first_token_s=reply.timing.first_token_s or first_token,
            total_s=reply.timing.total_s or self.clock() - began,
        )
        use = self.meter.take(prompt, reply, self.window)
        self.meter.recounted = recounted
        called = replace(
            called, model=reply.model, usage=reply.usage, timing=timing, stop=reply.stop, cache=use
        )
        called, slow = self.foresight.take(prompt, called, forecast) if self.foresight else (called, "")
        emit(called)
        for words in filter(None, (self.meter.tell(use, timing.load_s), slow) if self.tells else ()):
            emit(Notice(words, "warning"))
        return replace(reply, timing=timing)
